// Package measure reads what a process has used so far.
package measure

import (
	"fmt"
	"math"
	"runtime"
	"syscall"
	"time"
)

// Heap returns the bytes of live objects and of goroutines' stacks: the least of three looks after
// a collection, since the runtime frees some things late.
func Heap() float64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc+m.StackInuse)
	}
	return float64(least)
}

// Usage is what was used by all goroutines up to one moment, or between two.
type Usage struct {
	// Wall is the time on the clock, CPU that of all processors together.
	Wall, CPU time.Duration
	// Allocs and Bytes count what was allocated, the freed as well.
	Allocs, Bytes uint64

	at time.Time
}

// Now returns the usage since the process began; its Wall is of no use.
func Now() (Usage, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return Usage{}, fmt.Errorf("getrusage: %w", err)
	}
	return Usage{
		CPU:    time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		Allocs: m.Mallocs, Bytes: m.TotalAlloc,
		at: time.Now(),
	}, nil
}

// Add adds to u what was used since start.
func (u *Usage) Add(start Usage) error {
	wall := time.Since(start.at)
	end, err := Now()
	if err != nil {
		return err
	}
	u.Wall += wall
	u.CPU += end.CPU - start.CPU
	u.Allocs += end.Allocs - start.Allocs
	u.Bytes += end.Bytes - start.Bytes
	return nil
}

// Per returns d in nanoseconds for each of n.
func Per(d time.Duration, n int) float64 { return float64(d.Nanoseconds()) / float64(n) }
