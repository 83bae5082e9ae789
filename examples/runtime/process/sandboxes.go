//go:build linux

package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/rpc"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/cgroup"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/pod"
)

// What is where in the directory of a runtime.
const (
	sandboxesDir = "sandboxes"
	sandboxFile  = "sandbox.json"
	controlFile  = "control.sock"
	pauseLogFile = "pause.log"
)

// sandbox is a sandbox, and record what is kept of it.
type sandbox struct {
	record
	dir      string
	pause    *rpc.Client   // of the pause process; nil when there is none
	stopping bool          // no containers are made in it any more
	ended    chan struct{} // closed when nothing of it is left but its files, or what left says
	returned bool          // its address was given back
	left     error         // what could not be removed; read when ended is closed, under the runtime's lock
}

type record struct {
	Sandbox runtime.Sandbox
	// Spec is what the pause process was told, Network whether the pod has a network of its own.
	Spec    pod.Sandbox
	Network bool
	IPC     bool
	// PID and Start name the pause process.
	PID     int
	Start   int64
	Cgroups cgroup.Group
}

// link is the name of the node's end of the pod's link. Names of links have at most 15 characters.
func (s *sandbox) link() string { return "pod" + s.Sandbox.ID[:12] }

func (s *sandbox) save() error { return save(filepath.Join(s.dir, sandboxFile), s.record) }

// RunPodSandbox starts a pause process with the namespaces that are allowed. See runtime.Sandboxes.
func (r *Runtime) RunPodSandbox(ctx context.Context, config runtime.SandboxConfig) (string, error) {
	config = config.WithDefaults()
	id := newID()
	s := &sandbox{dir: filepath.Join(r.o.Dir, sandboxesDir, id), ended: make(chan struct{})}
	s.Sandbox = runtime.Sandbox{ID: id, Config: config, Created: time.Now(), Missing: r.rights.missing}
	s.Network, s.IPC = r.rights.network && !config.HostNetwork, r.rights.ipc
	s.Spec = pod.Sandbox{ID: id, Hostname: config.Hostname, UTS: r.rights.uts && !config.HostNetwork,
		PID: r.rights.pid, Mount: r.rights.mount}
	if err := r.run(ctx, s); err != nil {
		err = fmt.Errorf("process: sandbox of %s/%s: %w", config.Namespace, config.Name, err)
		return "", errors.Join(err, r.cleanUp(s), discard(s.dir, sandboxFile))
	}
	r.mu.Lock()
	s.Sandbox.Ready = true
	r.sandboxes[id] = s
	r.publish(s)
	closed := r.closed
	if !closed {
		r.wg.Go(func() { r.watch(s) })
	}
	r.mu.Unlock()
	if closed {
		s.pause.Close()
	}
	return id, nil
}

// run makes all that belongs to a sandbox. What it has made when it fails is removed by cleanUp.
func (r *Runtime) run(ctx context.Context, s *sandbox) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := os.MkdirAll(filepath.Join(s.dir, containersDir), 0o755); err != nil {
		return err
	}
	if !s.Sandbox.Config.HostNetwork {
		r.mu.Lock()
		address, err := r.pool.Take()
		r.mu.Unlock()
		if err != nil {
			return err
		}
		s.Sandbox.IP = address.String()
	}
	// From here on what is made is found by the record, should this process end.
	if err := s.save(); err != nil {
		return err
	}
	var err error
	if s.Cgroups, err = r.cgroups.Inner(s.Sandbox.ID, s.Sandbox.Config.Limits); err != nil {
		return err
	}
	if err := s.startPause(); err != nil {
		return err
	}
	if s.Network {
		if err := r.bridge.Attach(s.link(), s.PID); err != nil {
			return err
		}
		address := netip.MustParseAddr(s.Sandbox.IP)
		err := s.pause.Call("Pause.SetUp", r.network(address), &pod.Nothing{})
		if err != nil {
			return err
		}
	}
	if err := s.save(); err != nil {
		return err
	}
	return s.keep()
}

// StopPodSandbox kills the containers of a sandbox and its pause process. See runtime.Sandboxes.
func (r *Runtime) StopPodSandbox(ctx context.Context, id string) error {
	r.mu.Lock()
	s := r.sandboxes[id]
	if s == nil {
		r.mu.Unlock()
		return nil
	}
	s.stopping = true
	r.mu.Unlock()
	if s.pause != nil {
		call := s.pause.Go("Pause.KillAll", pod.Nothing{}, &pod.Nothing{}, make(chan *rpc.Call, 1))
		timer := time.NewTimer(killTime)
		defer timer.Stop()
		select {
		case <-call.Done:
		case <-timer.C:
		case <-s.ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		s.killPause()
	}
	select {
	case <-s.ended:
		return nil
	case <-r.closing:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// killTime is how long a pause process may take to kill its containers before it is killed itself, and they with it.
const killTime = 10 * time.Second

var errClosed = errors.New("process: closed")

// RemovePodSandbox stops a sandbox and removes all files of it, the logs too. See runtime.Sandboxes.
func (r *Runtime) RemovePodSandbox(ctx context.Context, id string) error {
	if err := r.StopPodSandbox(ctx, id); err != nil {
		return err
	}
	r.mu.Lock()
	s := r.sandboxes[id]
	var inside []string
	for _, c := range r.containers {
		if c.Sandbox == id {
			inside = append(inside, c.ID)
		}
	}
	r.mu.Unlock()
	if s == nil {
		return nil
	}
	if err := r.cleanRest(s); err != nil {
		return fmt.Errorf("process: sandbox %s: %w", id, err)
	}
	for _, c := range inside {
		if err := r.RemoveContainer(ctx, c); err != nil {
			return err
		}
	}
	if err := discard(s.dir, sandboxFile); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sandboxes[id] == s {
		delete(r.sandboxes, id)
		r.publish(s)
	}
	return nil
}

// cleanRest tries again what could not be removed when a sandbox ended.
func (r *Runtime) cleanRest(s *sandbox) error {
	r.mu.Lock()
	left := s.left
	r.mu.Unlock()
	if left == nil {
		return nil
	}
	left = r.cleanUp(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	s.left = left
	return left
}

// ListPodSandboxes returns all sandboxes, the oldest first. See runtime.Sandboxes.
func (r *Runtime) ListPodSandboxes(context.Context) ([]runtime.Sandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	all := make([]runtime.Sandbox, 0, len(r.sandboxes))
	for _, s := range r.sandboxes {
		all = append(all, s.Sandbox)
	}
	slices.SortFunc(all, func(a, b runtime.Sandbox) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// watch follows the changes that the pause process of a sandbox tells, until that ends or the runtime is closed.
func (r *Runtime) watch(s *sandbox) {
	var seen uint64
	for {
		err := s.pause.Call("Pause.Wait", seen, &seen)
		if err != nil {
			break
		}
		r.refresh(s)
	}
	select {
	case <-r.closing:
	default:
		r.end(s)
	}
}

// end cleans up after a sandbox whose pause process has ended, or is not what it was.
func (r *Runtime) end(s *sandbox) {
	left := r.cleanUp(s)
	now := time.Now()
	r.mu.Lock()
	s.Sandbox.Ready = false
	var dirs []string
	for _, c := range r.containers {
		if c.Sandbox == s.Sandbox.ID {
			dirs = append(dirs, c.dir)
		}
	}
	r.mu.Unlock()
	left = errors.Join(left, s.save())
	for _, dir := range dirs {
		left = errors.Join(left, pod.Lost(dir, now))
	}
	r.refresh(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	s.left = left
	r.publish(s)
	close(s.ended)
}

// cleanUp ends what is left of a sandbox and takes back what it had.
func (r *Runtime) cleanUp(s *sandbox) error {
	if s.pause != nil {
		s.pause.Close()
	}
	s.killPause()
	if !s.Spec.PID {
		pod.KillSandbox(s.Sandbox.ID)
	}
	var err error
	if s.Network && r.bridge != nil {
		err = r.bridge.Detach(s.link())
	}
	r.mu.Lock()
	if address, err := netip.ParseAddr(s.Sandbox.IP); err == nil && !s.returned {
		r.pool.Give(address)
		s.returned = true
	}
	r.mu.Unlock()
	return errors.Join(err, s.Cgroups.Remove())
}

func (r *Runtime) publish(s *sandbox) {
	r.feed.Publish(runtime.Event{Sandbox: s.Sandbox.ID, PodUID: s.Sandbox.Config.UID})
}
