//go:build linux

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/pod"
)

// Exec runs a command where a container is. Stdin is read in the background, possibly until a Read returns that was
// begun before the command has ended. See runtime.Streams.
func (r *Runtime) Exec(ctx context.Context, id string, e runtime.Exec) (int, error) {
	if len(e.Command) == 0 {
		return 0, errors.New("process: exec: no command given")
	}
	enter, err := r.enter(id, e)
	if err != nil {
		return 0, err
	}
	x, err := startExec(ctx, enter)
	if err != nil {
		return 0, fmt.Errorf("process: exec in container %s: %w", id, err)
	}
	defer x.close()
	if e.TTY {
		err = x.terminal(e)
	} else {
		err = x.pipes(e)
	}
	if err != nil {
		return 0, fmt.Errorf("process: exec in container %s: %w", id, err)
	}
	return x.wait(ctx, id)
}

// enter says how to come to a container.
func (r *Runtime) enter(id string, e runtime.Exec) (pod.Enter, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[id]
	if c == nil {
		return pod.Enter{}, fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	}
	if c.State != runtime.Running {
		return pod.Enter{}, fmt.Errorf("container %s: %w", id, runtime.ErrNotRunning)
	}
	s := r.sandboxes[c.Sandbox]
	enter := pod.Enter{Args: e.Command, Env: c.Spec.Env, WorkingDir: c.Spec.WorkingDir, Cgroups: c.Spec.Cgroups, TTY: e.TTY}
	if e.TTY {
		enter.Env = lastOfEach(append([]string{"TERM=xterm"}, enter.Env...))
	}
	for _, n := range []struct {
		name string
		have bool
	}{{"net", s.Network}, {"ipc", s.IPC}, {"uts", s.Spec.UTS}, {"pid", s.Spec.PID}} {
		if n.have {
			enter.Namespaces = append(enter.Namespaces, fmt.Sprintf("/proc/%d/ns/%s", s.PID, n.name))
		}
	}
	if s.Spec.Mount {
		// The container's number means something in what the pause process sees as /proc.
		enter.Mount = fmt.Sprintf("/proc/%d/root/proc/%d/ns/mnt", s.PID, c.pid)
	}
	return enter, nil
}

// execution is a command that is run in a container by a process of its own, which enters that first.
type execution struct {
	cmd     *exec.Cmd
	spec    []byte
	mine    []*os.File // closed at the end
	theirs  []*os.File // closed when the process has them
	life    *os.File   // the command is killed when this is closed
	specs   *os.File   // where the process reads what to run
	failure *os.File   // where it tells why it could not
	wg      sync.WaitGroup
	done    chan struct{}
}

func startExec(ctx context.Context, enter pod.Enter) (*execution, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	x := &execution{cmd: exec.Command(pod.Self), done: make(chan struct{})}
	x.cmd.Args = []string{pod.EnterName}
	x.cmd.Env = []string{}
	x.cmd.WaitDelay = time.Second // for what the command has left behind, which may hold its output
	var err error
	if x.spec, err = json.Marshal(enter); err != nil {
		return nil, err
	}
	pipe := func(reads bool) *os.File {
		r, w, e := os.Pipe()
		if e != nil {
			err = e
			return nil
		}
		if reads {
			r, w = w, r
		}
		x.mine, x.theirs = append(x.mine, r), append(x.theirs, w)
		x.cmd.ExtraFiles = append(x.cmd.ExtraFiles, w)
		return r
	}
	x.failure, x.specs, x.life = pipe(false), pipe(true), pipe(true) // in the order of their numbers
	if err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// close gives back what is left, after the process has ended or did not start.
func (x *execution) close() {
	for _, f := range append(x.mine, x.theirs...) {
		f.Close()
	}
}

// pipes starts the process with the streams as they are.
func (x *execution) pipes(e runtime.Exec) error {
	x.cmd.Stdout, x.cmd.Stderr = e.Stdout, e.Stderr
	if e.Stdin == nil {
		return x.cmd.Start()
	}
	in, err := x.cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := x.cmd.Start(); err != nil {
		return err
	}
	supply(in, e.Stdin)
	return nil
}

// supply copies input in the background. Nobody waits for it, since a Read may take for ever.
func supply(to io.WriteCloser, from io.Reader) {
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(to, from)
		to.Close()
	})
}

// terminal starts the process with a terminal as its streams.
func (x *execution) terminal(e runtime.Exec) error {
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	x.mine, x.theirs = append(x.mine, master), append(x.theirs, slave)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	if err := x.cmd.Start(); err != nil {
		return err
	}
	if e.Stdin != nil {
		supply(keepOpen{master}, e.Stdin)
	}
	if e.Stdout != nil {
		x.wg.Go(func() { _, _ = io.Copy(e.Stdout, master) }) // ends when nobody has the other side
	}
	if e.Resize != nil {
		x.wg.Go(func() {
			for {
				select {
				case size, more := <-e.Resize:
					if !more {
						return
					}
					_ = pty.Setsize(master, &pty.Winsize{Rows: size.Height, Cols: size.Width})
				case <-x.done:
					return
				}
			}
		})
	}
	return nil
}

// keepOpen is a terminal whose input may end while its output goes on: the command reads the character for that.
type keepOpen struct{ *os.File }

func (k keepOpen) Close() error {
	const endOfInput = 4
	_, err := k.Write([]byte{endOfInput})
	return err
}

// wait waits for the command and returns its exit code.
func (x *execution) wait(ctx context.Context, id string) (int, error) {
	for _, f := range x.theirs {
		f.Close()
	}
	x.theirs = nil
	stop := context.AfterFunc(ctx, func() { x.life.Close() })
	defer stop()
	_, err := x.specs.Write(x.spec)
	x.specs.Close()
	reason, readErr := io.ReadAll(x.failure)
	waited := x.cmd.Wait()
	close(x.done)
	if x.cmd.ProcessState != nil {
		x.hangUp()
	}
	x.wg.Wait()
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case len(reason) > 0:
		return 0, fmt.Errorf("process: exec in container %s: %s", id, reason)
	case x.cmd.ProcessState == nil:
		return 0, fmt.Errorf("process: exec in container %s: %w", id, errors.Join(err, readErr, waited))
	}
	if status := x.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return pod.SignalBase + int(status.Signal()), nil
	}
	return x.cmd.ProcessState.ExitCode(), nil
}

// hangUp ends the copying of a terminal's output which something holds that the command has left behind.
func (x *execution) hangUp() {
	for _, f := range x.mine {
		_ = f.SetReadDeadline(time.Now().Add(x.cmd.WaitDelay))
	}
}
