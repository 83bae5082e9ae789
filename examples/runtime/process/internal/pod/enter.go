//go:build linux

package pod

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The numbers of further files that the process has which runs a command in a container: where it reads what to run, and
// what is closed when nobody waits for it any more.
const (
	enterFile = 4
	lifeFile  = 5
)

// RunEnter runs a command in a container and returns its exit code. It tells the other side of failureFile why it could
// not, and closes that when the command runs.
func RunEnter() int {
	runtime.LockOSThread()
	failure := os.NewFile(failureFile, "failure")
	pid, err := startEntered()
	if err != nil {
		_, _ = failure.WriteString(err.Error())
		return 1
	}
	failure.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(io.Discard, os.NewFile(lifeFile, "life"))
		_ = unix.Kill(-pid, unix.SIGKILL)
	})
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 1
		case status.Signaled():
			return SignalBase + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}

func startEntered() (int, error) {
	for _, fd := range []int{failureFile, enterFile, lifeFile} {
		unix.CloseOnExec(fd)
	}
	file := os.NewFile(enterFile, "enter")
	defer file.Close()
	var e Enter
	if err := json.NewDecoder(file).Decode(&e); err != nil {
		return 0, err
	}
	groups, err := openGroups(e.Cgroups)
	if err != nil {
		return 0, err
	}
	if err := enterNamespaces(e); err != nil {
		return 0, err
	}
	program, err := find(e.Args, e.Env, e.WorkingDir)
	if err != nil {
		return 0, err
	}
	if err := join(groups); err != nil {
		return 0, err
	}
	pid, err := syscall.ForkExec(program, e.Args, &syscall.ProcAttr{
		Env:   e.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: e.TTY},
	})
	if err != nil {
		return 0, fmt.Errorf("exec %s: %w", program, err)
	}
	return pid, nil
}

// enterNamespaces moves this thread, and the processes that it starts, to where a container is.
func enterNamespaces(e Enter) error {
	paths := e.Namespaces
	if e.Mount != "" {
		paths = append(paths, e.Mount) // after this the others' paths lead elsewhere
	}
	files := make([]int, len(paths))
	for i, path := range paths {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("enter %s: %w", path, err)
		}
		files[i] = fd
	}
	if e.Mount != "" {
		// A thread that shares its root with others can't change it.
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
	}
	var errs []error
	for i, fd := range files {
		if err := unix.Setns(fd, 0); err != nil {
			errs = append(errs, fmt.Errorf("enter %s: %w", paths[i], err))
		}
		unix.Close(fd)
	}
	return errors.Join(errs...)
}
