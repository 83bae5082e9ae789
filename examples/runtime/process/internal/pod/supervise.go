//go:build linux

package pod

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// container is a container that was started.
type container struct {
	spec   Container
	state  State
	pid    int
	status unix.WaitStatus // valid when ended is closed
	ended  chan struct{}   // closed when its first process was waited for
	done   chan struct{}   // closed when its end is written
	copies sync.WaitGroup  // what copies its output
	out    [2]*os.File     // where its output is read
	log    *logFile
}

// SpecFile is the name of the file with the Container that is to be run, in its directory.
const SpecFile = "spec.json"

// Start starts a container. An error says why it could not run, and is its end.
func (p *Pause) Start(spec Container, _ *Nothing) error {
	c := &container{spec: spec, ended: make(chan struct{}), done: make(chan struct{})}
	p.mu.Lock()
	if p.containers[spec.ID] != nil {
		p.mu.Unlock()
		return nil
	}
	p.containers[spec.ID] = c
	p.mu.Unlock()
	defer p.change()
	err := p.run(c)
	if err == nil {
		return nil
	}
	close(c.done)
	return errors.Join(err, Failed(spec.Dir, err.Error(), time.Now()))
}

func (p *Pause) run(c *container) error {
	text, err := json.Marshal(c.spec)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.spec.Dir, SpecFile), text, 0o600); err != nil {
		return err
	}
	if c.log, err = openLog(c.spec.Log); err != nil {
		return err
	}
	failure, err := p.fork(c)
	if err != nil {
		c.log.Close()
		return err
	}
	for i, stream := range []string{"stdout", "stderr"} {
		c.copies.Go(func() { c.log.copy(stream, c.out[i]) })
	}
	reason, err := io.ReadAll(failure)
	failure.Close()
	if err == nil && len(reason) > 0 {
		err = errors.New(string(reason))
	}
	if err != nil {
		p.signal(c, unix.SIGKILL)
		<-c.ended
		p.drain(c)
		return err
	}
	c.state = State{PID: c.pid, Started: time.Now()}
	if err := c.state.write(c.spec.Dir); err != nil {
		p.signal(c, unix.SIGKILL)
		<-c.ended
		p.drain(c)
		return err
	}
	p.wg.Go(func() { p.finish(c) })
	return nil
}

// fork starts the first step of a container. What can be read from failure is why it did not get to the second.
func (p *Pause) fork(c *container) (failure *os.File, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	var reads []*os.File
	opened := []*os.File{null}
	defer func() {
		if err != nil {
			opened = append(opened, reads...)
		}
		for _, f := range opened {
			f.Close()
		}
	}()
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		reads, opened = append(reads, r), append(opened, w)
	}
	attributes := &syscall.ProcAttr{
		Env:   append(os.Environ(), Marker+"="+c.spec.ID, SandboxMarker+"="+p.sandbox.ID),
		Files: []uintptr{null.Fd(), opened[1].Fd(), opened[2].Fd(), opened[3].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if c.spec.Mount {
		attributes.Sys.Cloneflags = unix.CLONE_NEWNS
	}
	p.mu.Lock()
	pid, err := syscall.ForkExec(Self, []string{ContainerName, filepath.Join(c.spec.Dir, SpecFile)}, attributes)
	if err == nil {
		c.pid = pid
		p.children[pid] = c
	}
	p.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("fork: %w", err)
	}
	c.out = [2]*os.File{reads[0], reads[1]}
	return reads[2], nil
}

// finish waits for the end of a container that runs, and of all that it has started, and writes it down.
func (p *Pause) finish(c *container) {
	<-c.ended
	p.drain(c)
	c.state.Exited, c.state.Finished, c.state.ExitCode = true, time.Now(), c.status.ExitStatus()
	if c.status.Signaled() {
		c.state.ExitCode = SignalBase + int(c.status.Signal())
	}
	c.state.Reason = "Completed"
	if c.state.ExitCode != 0 {
		c.state.Reason = "Error"
	}
	if c.status.Signaled() && c.status.Signal() == unix.SIGKILL && oomKills(c.spec.OOM) {
		c.state.Reason, c.state.Message = "OOMKilled", "used more memory than its limit"
	}
	if err := c.state.write(c.spec.Dir); err != nil {
		fmt.Fprintln(os.Stderr, err) // goes to the sandbox's own log
	}
	close(c.done)
	p.change()
}

// drainTime is how long output of a container is read on when all its known processes have ended.
const drainTime = time.Second

// drain kills what a container has left behind and reads the rest of its output.
func (p *Pause) drain(c *container) {
	killAll(func(pid int) bool { return p.belongs(pid, c) })
	for _, f := range c.out {
		f.SetReadDeadline(time.Now().Add(drainTime))
	}
	c.copies.Wait()
	for _, f := range c.out {
		f.Close()
	}
	c.log.Close()
}

// Kill sends a signal to the first process of a container, if it runs. What else the container has started is killed
// when that has ended.
func (p *Pause) Kill(s Signal, _ *Nothing) error {
	p.mu.Lock()
	c := p.containers[s.Container]
	p.mu.Unlock()
	if c == nil {
		return nil
	}
	return p.signal(c, unix.Signal(s.Signal))
}

func (p *Pause) signal(c *container, s unix.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.children[c.pid] != c {
		return nil
	}
	return unix.Kill(c.pid, s)
}

// KillAll kills everything in the pod but this process, and returns when the ends of all containers are written.
func (p *Pause) KillAll(Nothing, *Nothing) error {
	p.mu.Lock()
	var all []*container
	for _, c := range p.containers {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all {
		if err := p.signal(c, unix.SIGKILL); err != nil {
			return err
		}
	}
	for _, c := range all {
		<-c.done
	}
	me := os.Getpid()
	if p.sandbox.PID {
		killAll(func(pid int) bool { return pid != me })
		return nil
	}
	killAll(func(pid int) bool { return descends(pid, me) || marked(pid, SandboxMarker, p.sandbox.ID) && pid != me })
	return nil
}

// belongs tells whether a process is of a container: it has the container's mark from whom has started it, is in its
// cgroup, or of its session. On the node itself the number of a session that has ended may be somebody else's by now.
func (p *Pause) belongs(pid int, c *container) bool {
	return marked(pid, Marker, c.spec.ID) || grouped(pid, c.spec.ID) || p.sandbox.PID && session(pid) == c.pid
}

// Stats returns what each container that runs uses, as far as /proc tells: processes that have ended are counted when
// their parents have waited for them.
func (p *Pause) Stats(_ Nothing, all *map[string]Usage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	*all = map[string]Usage{}
	for _, c := range p.children {
		var sum Usage
		for _, pid := range pids() {
			if p.belongs(pid, c) {
				u := usage(pid)
				sum.CPU += u.CPU
				sum.MemoryBytes += u.MemoryBytes
			}
		}
		(*all)[c.spec.ID] = sum
	}
	return nil
}
