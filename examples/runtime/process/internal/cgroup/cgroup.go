//go:build linux

// Package cgroup limits what groups of processes use, and tells what they do use, by the kernel's control groups, of
// version 2 or 1.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// The controllers that are used.
const (
	CPU     = "cpu"
	CPUAcct = "cpuacct" // a part of CPU in version 2
	Memory  = "memory"
)

// Group is a control group: the directories of each controller, which are all the same in version 2. The zero value is
// none, whose methods do nothing.
type Group struct {
	V2   bool
	Dirs map[string]string
}

// Root returns the group that this process is in, with those controllers that groups below it may have. What others
// there are, and why not, is in missing.
func Root() (g Group, missing []string) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err == nil {
		var mounts []byte
		if mounts, err = os.ReadFile("/proc/self/mountinfo"); err == nil {
			var top Group
			g, top = find(string(own), string(mounts))
			// In version 2 a group that has processes can't have groups with controllers, but for the one at the top.
			if g.V2 && len(g.Dirs) > 0 && g.usable(Memory, g.Dirs[Memory]) != nil {
				g = top
			}
		}
	}
	for _, controller := range []string{CPU, CPUAcct, Memory} {
		dir, found := g.Dirs[controller]
		if found {
			err = g.usable(controller, dir)
		} else if err == nil {
			err = errors.New("not mounted")
		}
		if err != nil {
			delete(g.Dirs, controller)
			missing = append(missing, fmt.Sprintf("cgroup %s (%v)", controller, err))
		}
		err = nil
	}
	return g, missing
}

// find reads what group a process is in, where that is mounted, and what is at the top of the mount. Controllers are
// either all of version 1, or of 2.
func find(own, mounts string) (g, top Group) {
	one, two := Group{Dirs: map[string]string{}}, Group{V2: true, Dirs: map[string]string{}}
	top = Group{V2: true, Dirs: map[string]string{}}
	within := map[string]string{}
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			within[controller] = parts[2]
		}
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(strings.TrimSpace(line), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 5 || len(right) < 3 {
			continue
		}
		place := func(controller string) string {
			path, err := filepath.Rel(left[3], within[controller])
			if err != nil || strings.HasPrefix(path, "..") {
				path = ""
			}
			return filepath.Join(left[4], path)
		}
		switch right[0] {
		case "cgroup":
			for option := range strings.SplitSeq(right[2], ",") {
				if option == CPU || option == CPUAcct || option == Memory {
					one.Dirs[option] = place(option)
				}
			}
		case "cgroup2":
			for _, controller := range []string{CPU, CPUAcct, Memory} {
				two.Dirs[controller], top.Dirs[controller] = place(""), left[4]
			}
		}
	}
	if len(one.Dirs) > 0 {
		return one, one
	}
	return two, top
}

// usable tries whether a controller can be used in groups below a directory.
func (g Group) usable(controller, dir string) error {
	if g.V2 && controller != CPUAcct {
		if err := enable(dir, controller); err != nil {
			return err
		}
	}
	return unix.Access(dir, unix.W_OK)
}

// enable lets groups below a directory have a controller, in version 2.
func enable(dir, controller string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
}

// Child makes a group below this one, unless it is there, and limits it.
func (g Group) Child(name string, limits runtime.Limits) (Group, error) {
	child := Group{V2: g.V2, Dirs: map[string]string{}}
	for controller, dir := range g.Dirs {
		child.Dirs[controller] = filepath.Join(dir, name)
		if err := os.MkdirAll(child.Dirs[controller], 0o755); err != nil {
			return child, err
		}
	}
	return child, child.limit(limits)
}

// Inner makes a group below this one, unless it is there, for more groups below it.
func (g Group) Inner(name string, limits runtime.Limits) (Group, error) {
	child, err := g.Child(name, limits)
	if err != nil || !g.V2 {
		return child, err
	}
	for controller, dir := range child.Dirs {
		if controller != CPUAcct {
			err = errors.Join(err, enable(dir, controller))
		}
	}
	return child, err
}

// period is the time in which CPU time is measured out.
const period = 100 * time.Millisecond

func (g Group) limit(l runtime.Limits) error {
	var errs []error
	write := func(controller, file string, value ...int64) {
		dir, found := g.Dirs[controller]
		if !found {
			return
		}
		text := strings.Trim(fmt.Sprint(value), "[]")
		errs = append(errs, os.WriteFile(filepath.Join(dir, file), []byte(text), 0))
	}
	if l.MilliCPU > 0 {
		quota := max(l.MilliCPU*period.Microseconds()/1000, 1000) // the kernel takes no less
		if g.V2 {
			write(CPU, "cpu.max", quota, period.Microseconds())
		} else {
			write(CPU, "cpu.cfs_period_us", period.Microseconds())
			write(CPU, "cpu.cfs_quota_us", quota)
		}
	}
	if l.MemoryBytes > 0 {
		if g.V2 {
			write(Memory, "memory.max", l.MemoryBytes)
		} else {
			write(Memory, "memory.limit_in_bytes", l.MemoryBytes)
		}
	}
	return errors.Join(errs...)
}

// Paths returns the directories whose cgroup.procs a process writes itself to, to be in the group.
func (g Group) Paths() []string {
	var all []string
	for _, dir := range g.Dirs {
		all = append(all, dir)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// OOMFile returns the path of the file that counts the processes that were killed for their memory.
func (g Group) OOMFile() string {
	dir, found := g.Dirs[Memory]
	switch {
	case !found:
		return ""
	case g.V2:
		return filepath.Join(dir, "memory.events")
	}
	return filepath.Join(dir, "memory.oom_control")
}

// Usage returns what the processes of a group have used, those that have ended too; ok tells whether both figures are to
// be had.
func (g Group) Usage() (cpu time.Duration, memory int64, ok bool) {
	if g.Dirs[CPUAcct] == "" || g.Dirs[Memory] == "" {
		return 0, 0, false
	}
	var held, cache int64
	if g.V2 {
		cpu = time.Duration(g.number(CPUAcct, "cpu.stat", "usage_usec")) * time.Microsecond
		held, cache = g.number(Memory, "memory.current", ""), g.number(Memory, "memory.stat", "inactive_file")
	} else {
		cpu = time.Duration(g.number(CPUAcct, "cpuacct.usage", ""))
		held, cache = g.number(Memory, "memory.usage_in_bytes", ""), g.number(Memory, "memory.stat", "total_inactive_file")
	}
	return cpu, max(held-cache, 0), true
}

// number reads a number from a file, of the line with a name or, without one, of the only line.
func (g Group) number(controller, file, name string) int64 {
	text, err := os.ReadFile(filepath.Join(g.Dirs[controller], file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if name == "" || len(fields) == 2 && fields[0] == name {
			n, _ := strconv.ParseInt(fields[len(fields)-1], 10, 64)
			return n
		}
	}
	return 0
}

// removeTime is how long processes that have ended may keep a group busy.
const removeTime = 5 * time.Second

// Remove removes a group and those below it. Its processes must have ended.
func (g Group) Remove() error {
	var errs []error
	for _, dir := range g.Paths() {
		errs = append(errs, remove(dir))
	}
	return errors.Join(errs...)
}

func remove(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	for deadline := time.Now().Add(removeTime); ; {
		err := unix.Rmdir(dir)
		if err == nil || err == unix.ENOENT {
			return nil
		}
		if err != unix.EBUSY || time.Now().After(deadline) {
			return fmt.Errorf("remove cgroup %s: %w", dir, err)
		}
		time.Sleep(time.Millisecond) // nothing tells when the kernel is done with it
	}
}
