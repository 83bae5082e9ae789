package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one program of a cluster, which can be started again after it has ended. It is for
// one goroutine at a time. Get it from a [Cluster].
type Process struct {
	name  string
	path  string
	log   *os.File
	args  []string
	ready func(context.Context) error // asks the program's own health endpoint

	cmd   *exec.Cmd      // nil: does not run
	ended chan struct{}  // closed when cmd has been waited for
	wait  sync.WaitGroup // the goroutine that waits for cmd
}

// Start starts the program with further arguments behind its own, and blocks until it is ready.
func (p *Process) Start(ctx context.Context, more ...string) error {
	p.cmd = exec.Command(p.path, append(p.args[:len(p.args):len(p.args)], more...)...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return err
	}
	cmd, ended := p.cmd, make(chan struct{})
	p.ended = ended
	p.wait.Go(func() { defer close(ended); _ = cmd.Wait() })
	return p.Ready(ctx)
}

// Ready blocks until the program is ready, for two minutes at most. It asks again and again, since
// a program has no other way to say so.
func (p *Process) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		try, done := context.WithTimeout(ctx, 2*time.Second)
		err := p.ready(try)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %s", p.name, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %s", p.name, err, p.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Pid returns the number of the running process, and 0 when none runs.
func (p *Process) Pid() int {
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Term asks the program to end, and blocks until it has.
func (p *Process) Term() error { return p.end(syscall.SIGTERM) }

// Kill ends the program without asking.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL) }

// Pause stops the program where it is, until [Process.Resume].
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused program go on.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// end is a no-op for a program that does not run. One that ignores a SIGTERM is killed.
func (p *Process) end(s syscall.Signal) error {
	if p.cmd == nil {
		return nil
	}
	err := p.cmd.Process.Signal(s)
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		err = errors.Join(fmt.Errorf("%s did not end by %s", p.name, s), p.cmd.Process.Kill())
	}
	p.wait.Wait()
	p.cmd = nil
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// tail returns the last lines of the program's log.
func (p *Process) tail() string {
	b, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
