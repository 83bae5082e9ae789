package runtimetest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
)

// isolated is set in the environment of a test that has its network namespace.
const isolated = "RUNTIMETEST_ISOLATED"

// isolate starts this program anew in a network namespace of its own, and ends with it. It returns in that, and where
// the rights are missing.
func isolate() error {
	if os.Getenv(isolated) != "" {
		return process.SetUpLoopback()
	}
	if os.Geteuid() != 0 {
		return nil
	}
	runtime.LockOSThread() // Pdeathsig follows the thread
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), isolated+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(exit.ExitCode(), 1))
	case errors.Is(err, syscall.EPERM): // root, but not allowed
		return nil
	case err == nil:
		os.Exit(0)
	}
	return err
}
