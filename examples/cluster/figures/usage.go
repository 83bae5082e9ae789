package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// used is what a process has used so far: CPU in seconds, memory now and at most in bytes.
type used struct {
	cpu          float64
	memory, most int64
}

// usage reads from /proc what the processes of parts have used. Where there is none, nothing is known.
func usage(names []string) map[string]used {
	all := map[string]used{}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, file := range files {
		line, _ := os.ReadFile(file) // a process may have ended
		name, ok := strings.CutPrefix(strings.TrimRight(string(line), "\x00"), "cluster ")
		if ok && slices.Contains(names, name) {
			all[name] = usageOf(filepath.Dir(file))
		}
	}
	return all
}

// ticks is how many units of CPU time in /proc a second has.
const ticks = 100

func usageOf(dir string) (u used) {
	stat, _ := os.ReadFile(filepath.Join(dir, "stat")) // as above
	if _, rest, ok := strings.Cut(string(stat), ") "); ok {
		var user, system float64
		fields := strings.Fields(rest)
		if len(fields) > 12 {
			fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
		}
		u.cpu = (user + system) / ticks
	}
	status, _ := os.ReadFile(filepath.Join(dir, "status"))
	for line := range strings.Lines(string(status)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); err == nil {
			u.memory = kib << 10
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			u.most = kib << 10
		}
	}
	return u
}
