//go:build linux

package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/rpc"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/cgroup"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/pod"
)

// What is where in the directory of a sandbox.
const (
	containersDir = "containers"
	containerFile = "container.json"
)

// container is a container, and containerRecord what is kept of it besides the pod.State that its pause process writes.
type container struct {
	containerRecord
	dir     string
	pid     int           // in the pod's PID namespace
	exited  chan struct{} // closed when it has ended, or is removed
	removed bool

	starting sync.Mutex // held while it is started or removed; taken before the runtime's
}

type containerRecord struct {
	runtime.Container
	PodUID     string
	StopSignal int
	Log        string
	Cgroups    cgroup.Group
	Spec       pod.Container
}

func newContainer(dir string) *container { return &container{dir: dir, exited: make(chan struct{})} }

// CreateContainer writes down what is to run. See runtime.Containers.
func (r *Runtime) CreateContainer(_ context.Context, sandbox string, config runtime.ContainerConfig) (string, error) {
	image, err := r.find(config.Image)
	if err != nil {
		return "", fmt.Errorf("process: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[sandbox]
	if s == nil {
		return "", fmt.Errorf("sandbox %s: %w", sandbox, runtime.ErrNotFound)
	}
	if !s.Sandbox.Ready || s.stopping {
		return "", fmt.Errorf("sandbox %s: %w", sandbox, runtime.ErrNotReady)
	}
	id := newID()
	c := newContainer(filepath.Join(s.dir, containersDir, id))
	c.Container = runtime.Container{ID: id, Sandbox: sandbox, Config: config, Created: time.Now()}
	c.PodUID, c.StopSignal = s.Sandbox.Config.UID, image.signal()
	if config.LogPath != "" {
		c.Log = filepath.Join(s.Sandbox.Config.LogDirectory, config.LogPath)
	}
	if err := os.MkdirAll(filepath.Join(c.dir, pod.RootDir), 0o755); err != nil {
		return "", err
	}
	c.Cgroups, err = s.Cgroups.Child(id, config.Limits)
	if err == nil && !r.rights.mount {
		err = linkMounts(filepath.Join(c.dir, pod.RootDir), config.Mounts)
	}
	if err == nil {
		c.Spec = r.spec(s, c, image)
		err = save(filepath.Join(c.dir, containerFile), c.containerRecord)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("process: container %s: %w", config.Name, err), c.Cgroups.Remove(), discard(c.dir, containerFile))
	}
	r.containers[id] = c
	r.tell(c)
	return id, nil
}

// StartContainer lets the pause process start a container. See runtime.Containers.
func (r *Runtime) StartContainer(ctx context.Context, id string) error {
	r.mu.Lock()
	c := r.containers[id]
	r.mu.Unlock()
	if c == nil {
		return fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	r.mu.Lock()
	s, state, removed := r.sandboxes[c.Sandbox], c.State, c.removed
	ready := s != nil && s.Sandbox.Ready && !s.stopping
	r.mu.Unlock()
	switch {
	case removed:
		return fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	case state != runtime.Created:
		return nil
	case !ready:
		return r.failed(s, c, fmt.Errorf("sandbox %s: %w", c.Sandbox, runtime.ErrNotReady))
	}
	call := s.pause.Go("Pause.Start", c.Spec, &pod.Nothing{}, make(chan *rpc.Call, 1))
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-call.Done:
	}
	var refusal rpc.ServerError
	if errors.As(call.Error, &refusal) {
		r.refresh(s)
		return fmt.Errorf("container %s: %w", c.Config.Name, refusal)
	}
	if call.Error != nil {
		return r.failed(s, c, fmt.Errorf("sandbox %s: %w: %w", c.Sandbox, runtime.ErrNotReady, call.Error))
	}
	r.refresh(s)
	return nil
}

// failed lets a container have ended since it could not be started.
func (r *Runtime) failed(s *sandbox, c *container, err error) error {
	err = errors.Join(err, pod.Failed(c.dir, err.Error(), time.Now()))
	r.refresh(s)
	return err
}

// StopContainer sends the signal of the image, and SIGKILL after grace. See runtime.Containers.
func (r *Runtime) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	if grace > 0 {
		if done, err := r.signal(ctx, id, 0, grace); done || err != nil {
			return err
		}
	}
	_, err := r.signal(ctx, id, int(unix.SIGKILL), killTime)
	return err
}

// signal sends a signal, or the one that asks it to end, to a container, and tells whether that has ended in time.
func (r *Runtime) signal(ctx context.Context, id string, number int, patience time.Duration) (bool, error) {
	r.mu.Lock()
	c := r.containers[id]
	if c == nil || c.State != runtime.Running {
		r.mu.Unlock()
		return true, nil
	}
	s := r.sandboxes[c.Sandbox]
	r.mu.Unlock()
	if number == 0 {
		number = c.StopSignal
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	err := s.pause.Call("Pause.Kill", pod.Signal{Container: id, Signal: number}, &pod.Nothing{})
	var refusal rpc.ServerError
	if errors.As(err, &refusal) {
		return false, fmt.Errorf("container %s: %w", id, err)
	}
	// Without a pause process the container ends too.
	select {
	case <-c.exited:
		return true, nil
	case <-r.closing:
		return false, errClosed
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-timer.C:
		return false, nil
	}
}

// RemoveContainer kills a container and removes its files, its log too. See runtime.Containers.
func (r *Runtime) RemoveContainer(ctx context.Context, id string) error {
	r.mu.Lock()
	c := r.containers[id]
	r.mu.Unlock()
	if c == nil {
		return nil
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if err := r.StopContainer(ctx, id, 0); err != nil {
		return err
	}
	r.mu.Lock()
	state, removed := c.State, c.removed
	r.mu.Unlock()
	if removed {
		return nil
	}
	if state == runtime.Running {
		return fmt.Errorf("container %s: it does not end", id)
	}
	if c.Log != "" {
		if err := os.Remove(c.Log); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if err := errors.Join(c.Cgroups.Remove(), discard(c.dir, containerFile)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.removed = true
	if c.State != runtime.Exited {
		close(c.exited)
	}
	delete(r.containers, id)
	r.tell(c)
	return nil
}

// ListContainers returns all containers, the oldest first. See runtime.Containers.
func (r *Runtime) ListContainers(context.Context) ([]runtime.Container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	all := make([]runtime.Container, 0, len(r.containers))
	for _, c := range r.containers {
		all = append(all, c.Container)
	}
	slices.SortFunc(all, func(a, b runtime.Container) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// refresh reads anew what the containers of a sandbox do, and tells what has changed.
func (r *Runtime) refresh(s *sandbox) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.containers {
		if c.Sandbox != s.Sandbox.ID || c.State == runtime.Exited {
			continue
		}
		state, err := pod.ReadState(c.dir)
		if err != nil || state.PID == 0 {
			continue
		}
		before := c.State
		c.State, c.pid, c.Started = runtime.Running, state.PID, state.Started
		if state.Exited {
			c.State, c.ExitCode, c.Finished = runtime.Exited, state.ExitCode, state.Finished
			c.Reason, c.Message = state.Reason, state.Message
			close(c.exited)
		}
		if c.State != before {
			r.tell(c)
		}
	}
}

func (r *Runtime) tell(c *container) {
	r.feed.Publish(runtime.Event{Container: c.ID, Sandbox: c.Sandbox, PodUID: c.PodUID})
}
