// Package meter measures what a phase of a process costs, from inside of it. It needs Linux.
package meter

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

const mib = 1 << 20

// Phase is something that is being measured.
type Phase struct {
	began  time.Time
	cpu    time.Duration
	memory runtime.MemStats
}

// Start begins a phase. The peak of the process' memory is counted from here on.
func Start() (*Phase, error) {
	p := new(Phase)
	runtime.ReadMemStats(&p.memory)
	// 5 resets the peak of the resident set.
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		return nil, err
	}
	return p, p.Restart()
}

// Restart begins time and CPU anew.
func (p *Phase) Restart() (err error) {
	p.cpu, err = CPU()
	p.began = time.Now()
	return err
}

// Stop ends the phase: "wall_s", "cpu_s", "peak_mib", "alloc_mb" and "allocs".
func (p *Phase) Stop() (work.Metrics, error) {
	wall := time.Since(p.began)
	cpu, err := CPU()
	if err != nil {
		return nil, err
	}
	peak, err := status("VmHWM")
	if err != nil {
		return nil, err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return work.Metrics{
		"wall_s": wall.Seconds(), "cpu_s": (cpu - p.cpu).Seconds(), "peak_mib": peak / mib,
		"alloc_mb": float64(memory.TotalAlloc-p.memory.TotalAlloc) / 1e6, "allocs": float64(memory.Mallocs - p.memory.Mallocs),
	}, nil
}

// CPU returns the CPU time that this process has taken.
func CPU() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// Heap returns the bytes of all objects that are still in use.
func Heap() float64 {
	runtime.GC()
	runtime.GC() // what the first one found in a sync.Pool goes with the second
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return float64(memory.HeapAlloc)
}

// Resident returns the process' memory in MiB, once everything that is not needed was given back.
func Resident() (float64, error) {
	debug.FreeOSMemory()
	resident, err := status("VmRSS")
	return resident / mib, err
}

// status returns a line of /proc/self/status, in bytes.
func status(name string) (float64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 3 && string(fields[0]) == name+":" {
			n, err := strconv.ParseFloat(string(fields[1]), 64)
			return n * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", name)
}
