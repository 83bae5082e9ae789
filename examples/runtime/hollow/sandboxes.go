package hollow

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// RunPodSandbox makes a sandbox. See runtime.Sandboxes.
func (r *Runtime) RunPodSandbox(_ context.Context, config runtime.SandboxConfig) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return "", errClosed
	}
	s := &sandbox{number: r.made + 1,
		Sandbox: runtime.Sandbox{Config: config.WithDefaults(), Ready: true, Created: r.o.Clock.Now()}}
	if !config.HostNetwork {
		address, err := r.pool.Take()
		if err != nil {
			return "", fmt.Errorf("hollow: sandbox of %s/%s: %w", config.Namespace, config.Name, err)
		}
		s.IP = address.String()
	}
	r.made++
	s.ID = fmt.Sprintf("sandbox-%d", s.number)
	r.sandboxes[s.ID] = s
	r.publish(s)
	return s.ID, nil
}

// StopPodSandbox ends the containers of a sandbox at once. See runtime.Sandboxes.
func (r *Runtime) StopPodSandbox(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandboxes[id]; s != nil {
		r.stopSandboxLocked(s)
	}
	return nil
}

// RemovePodSandbox ends and forgets the containers of a sandbox, and the sandbox. See runtime.Sandboxes.
func (r *Runtime) RemovePodSandbox(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[id]
	if s == nil {
		return nil
	}
	r.stopSandboxLocked(s)
	for _, c := range r.sortedLocked() {
		if c.Sandbox == id {
			r.removeLocked(c)
		}
	}
	delete(r.sandboxes, id)
	r.publish(s)
	return nil
}

// ListPodSandboxes returns all sandboxes, the oldest first. See runtime.Sandboxes.
func (r *Runtime) ListPodSandboxes(context.Context) ([]runtime.Sandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*sandbox, 0, len(r.sandboxes))
	for _, s := range r.sandboxes {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *sandbox) int { return cmp.Compare(a.number, b.number) })
	told := make([]runtime.Sandbox, len(all))
	for i, s := range all {
		told[i] = s.Sandbox
	}
	return told, nil
}

// FailSandbox lets a sandbox stop as if its pause process had died, and its containers with it. It returns
// runtime.ErrNotFound.
func (r *Runtime) FailSandbox(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[id]
	if s == nil {
		return fmt.Errorf("sandbox %s: %w", id, runtime.ErrNotFound)
	}
	r.stopSandboxLocked(s)
	return nil
}

func (r *Runtime) stopSandboxLocked(s *sandbox) {
	for _, c := range r.sortedLocked() {
		if c.Sandbox == s.ID {
			r.exitLocked(c, killed)
		}
	}
	if !s.Ready {
		return
	}
	s.Ready = false
	if s.IP != "" {
		r.pool.Give(netip.MustParseAddr(s.IP))
	}
	r.publish(s)
}

func (r *Runtime) publish(s *sandbox) {
	r.feed.Publish(runtime.Event{Sandbox: s.ID, PodUID: s.Config.UID})
}
