//go:build linux

package pod

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// pids returns the processes that /proc shows.
func pids() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// Places in /proc/PID/stat, counted from the one after the name.
const (
	statState   = 0
	statParent  = 1
	statSession = 3
	statUser    = 11 // and the three after it: system, and those of children
	statStart   = 19
	statRSS     = 21
)

// stat returns what /proc/PID/stat says after the name, or nil when there is no such process.
func stat(pid int) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= statRSS {
		return nil
	}
	return fields
}

func statNumber(pid, place int) int64 {
	fields := stat(pid)
	if fields == nil {
		return 0
	}
	n, _ := strconv.ParseInt(fields[place], 10, 64)
	return n
}

// StartTime returns when a process was started, in ticks since the machine was, and 0 when there is no such process or
// it has ended. With its number it names a process for ever.
func StartTime(pid int) int64 {
	if gone(pid) {
		return 0
	}
	return statNumber(pid, statStart)
}

func session(pid int) int { return int(statNumber(pid, statSession)) }

// gone tells whether there is no such process, or it has ended and nobody has waited for it.
func gone(pid int) bool {
	fields := stat(pid)
	return fields == nil || fields[statState] == "Z" || fields[statState] == "X"
}

// descends tells whether a process was started by another, or by one that was, and so on.
func descends(pid, ancestor int) bool {
	for pid > 1 {
		pid = int(statNumber(pid, statParent))
		if pid == ancestor {
			return true
		}
	}
	return false
}

// marked tells whether a process was started with a variable in its environment.
func marked(pid int, name, value string) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	mark := []byte(name + "=" + value + "\x00")
	return bytes.HasPrefix(environ, mark) || bytes.Contains(environ, append([]byte{0}, mark...))
}

// grouped tells whether a process is in a cgroup with a name.
func grouped(pid int, name string) bool {
	groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return err == nil && bytes.Contains(groups, []byte("/"+name+"\n"))
}

// ticks is how many there are in a second, for every architecture that Go knows.
const ticks = 100

func usage(pid int) Usage {
	fields := stat(pid)
	if fields == nil {
		return Usage{}
	}
	var sum int64
	for _, f := range fields[statUser : statUser+4] {
		n, _ := strconv.ParseInt(f, 10, 64)
		sum += n
	}
	pages, _ := strconv.ParseInt(fields[statRSS], 10, 64)
	return Usage{CPU: time.Duration(sum) * time.Second / ticks, MemoryBytes: pages * int64(os.Getpagesize())}
}

// killTime is how long a process may take to be gone after it was killed.
const killTime = 5 * time.Second

// killAll kills the processes that match until there are none, or until one does not go.
func killAll(match func(pid int) bool) {
	for {
		found, stuck := false, false
		for _, pid := range pids() {
			if !gone(pid) && match(pid) {
				found = true
				stuck = !Kill(pid, func() bool { return match(pid) }) || stuck
			}
		}
		if !found || stuck {
			return
		}
	}
}

// Kill kills a process if, once it can't be confused with another, it is the one that is meant. It returns when that is
// gone, with true, or when it does not go.
func Kill(pid int, meant func() bool) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err == unix.ESRCH
	}
	defer unix.Close(fd)
	if !meant() {
		return true
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
		return err == unix.ESRCH
	}
	deadline := time.Now().Add(killTime)
	for {
		left := time.Until(deadline)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(left, 0).Milliseconds()))
		if n > 0 {
			return true
		}
		if err != unix.EINTR {
			return false
		}
	}
}

// Reap waits for a process that was started at a time, if it is a child of this one.
func Reap(pid int, start int64) {
	if statNumber(pid, statStart) != start || int(statNumber(pid, statParent)) != os.Getpid() {
		return
	}
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// KillSandbox kills the processes that a sandbox without a PID namespace has left behind.
func KillSandbox(id string) {
	me := os.Getpid()
	killAll(func(pid int) bool { return pid != me && marked(pid, SandboxMarker, id) })
}

// oomKills tells whether a file that counts processes killed for their memory counts some.
func oomKills(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if n, found := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); found {
			return n != "0"
		}
	}
	return false
}
