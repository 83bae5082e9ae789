package hollow

import (
	"context"
	"fmt"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// What shells tell of a process that a signal has ended.
const (
	killed     = 128 + 9
	terminated = 128 + 15
)

// startFailed is the exit code of a container that could not be started.
const startFailed = 128

// CreateContainer makes a container. See runtime.Containers.
func (r *Runtime) CreateContainer(_ context.Context, sandbox string, config runtime.ContainerConfig) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[sandbox]
	if s == nil {
		return "", fmt.Errorf("sandbox %s: %w", sandbox, runtime.ErrNotFound)
	}
	if !s.Ready {
		return "", fmt.Errorf("sandbox %s: %w", sandbox, runtime.ErrNotReady)
	}
	if !r.images[config.Image] {
		return "", fmt.Errorf("image %q: %w", config.Image, runtime.ErrNotFound)
	}
	r.made++
	c := &container{number: r.made, podUID: s.Config.UID, Container: runtime.Container{
		ID: fmt.Sprintf("container-%d", r.made), Sandbox: sandbox, Config: config, Created: r.o.Clock.Now()}}
	r.containers[c.ID] = c
	r.tell(c)
	return c.ID, nil
}

// StartContainer lets a container run, after Behaviour.StartDelay. See runtime.Containers.
func (r *Runtime) StartContainer(ctx context.Context, id string) error {
	r.mu.Lock()
	c := r.containers[id]
	if c == nil {
		r.mu.Unlock()
		return fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	}
	pod, config := r.sandboxes[c.Sandbox].Config, c.Config
	state := c.State
	r.mu.Unlock()
	if state != runtime.Created {
		return nil
	}
	b := r.o.Behave(pod, config)
	if b.StartDelay > 0 {
		timer := r.o.Clock.Timer(b.StartDelay)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.startLocked(id, b)
}

func (r *Runtime) startLocked(id string, b Behaviour) error {
	c := r.containers[id]
	if c == nil {
		return fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	}
	if c.State != runtime.Created {
		return nil
	}
	err := b.FailStart
	if !r.sandboxes[c.Sandbox].Ready {
		err = fmt.Errorf("sandbox %s: %w", c.Sandbox, runtime.ErrNotReady)
	}
	now := r.o.Clock.Now()
	if err != nil {
		c.State, c.ExitCode, c.Reason, c.Message = runtime.Exited, startFailed, "StartError", err.Error()
		c.Finished = now
		r.tell(c)
		return err
	}
	c.State, c.Started, c.behaviour = runtime.Running, now, b
	if b.ExitAfter > 0 {
		c.exit = r.o.Clock.AfterFunc(b.ExitAfter, func() { r.exit(c, b.ExitCode) })
	}
	r.tell(c)
	return nil
}

// StopContainer asks a container to end, and kills it after grace. See runtime.Containers.
func (r *Runtime) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	r.mu.Lock()
	c := r.containers[id]
	if c == nil || c.State != runtime.Running {
		r.mu.Unlock()
		return nil
	}
	after := c.behaviour.StopAfter
	if after == 0 || grace <= 0 {
		code := terminated
		if after != 0 {
			code = killed
		}
		r.exitLocked(c, code)
		r.mu.Unlock()
		return nil
	}
	if !c.stopping && after > 0 {
		c.asked = r.o.Clock.AfterFunc(after, func() { r.exit(c, terminated) })
	}
	c.stopping = true
	if c.done == nil {
		c.done = make(chan struct{})
	}
	done := c.done
	r.mu.Unlock()
	timer := r.o.Clock.Timer(grace)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-done:
	case <-timer.C:
		r.exit(c, killed)
	}
	return nil
}

// RemoveContainer ends and forgets a container. See runtime.Containers.
func (r *Runtime) RemoveContainer(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.containers[id]; c != nil {
		r.exitLocked(c, killed)
		r.removeLocked(c)
	}
	return nil
}

// ListContainers returns all containers, the oldest first. See runtime.Containers.
func (r *Runtime) ListContainers(context.Context) ([]runtime.Container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.sortedLocked()
	told := make([]runtime.Container, len(all))
	for i, c := range all {
		told[i] = c.Container
	}
	return told, nil
}

func (r *Runtime) exit(c *container, code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exitLocked(c, code)
}

// exitLocked ends a container if it runs.
func (r *Runtime) exitLocked(c *container, code int) {
	if c.State != runtime.Running {
		return
	}
	c.State, c.ExitCode, c.Reason, c.Finished = runtime.Exited, code, "Completed", r.o.Clock.Now()
	if code != 0 {
		c.Reason = "Error"
	}
	if c.exit != nil {
		c.exit.Stop()
	}
	if c.asked != nil {
		c.asked.Stop()
	}
	if c.done != nil {
		close(c.done)
	}
	r.tell(c)
}

func (r *Runtime) removeLocked(c *container) {
	delete(r.containers, c.ID)
	r.tell(c)
}

func (r *Runtime) tell(c *container) {
	r.feed.Publish(runtime.Event{Container: c.ID, Sandbox: c.Sandbox, PodUID: c.podUID})
}
