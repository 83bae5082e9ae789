//go:build linux

package process

import (
	"context"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/pod"
)

// Stats returns what cgroups tell, or else what the pause processes read from /proc. See runtime.Streams.
func (r *Runtime) Stats(ctx context.Context) ([]runtime.Stats, error) {
	containers, err := r.ListContainers(ctx)
	if err != nil {
		return nil, err
	}
	usages := map[string]map[string]pod.Usage{} // by sandbox and container
	var all []runtime.Stats
	for _, told := range containers {
		if told.State != runtime.Running {
			continue
		}
		r.mu.Lock()
		c, s := r.containers[told.ID], r.sandboxes[told.Sandbox]
		r.mu.Unlock()
		if c == nil || s == nil {
			continue
		}
		stats := runtime.Stats{Container: told.ID, Sandbox: told.Sandbox, At: time.Now()}
		var ok bool
		if stats.CPU, stats.MemoryBytes, ok = c.Cgroups.Usage(); !ok {
			if usages[told.Sandbox] == nil {
				use := map[string]pod.Usage{}
				if err := s.pause.Call("Pause.Stats", pod.Nothing{}, &use); err != nil {
					continue // the sandbox has just ended
				}
				usages[told.Sandbox] = use
			}
			u, running := usages[told.Sandbox][told.ID]
			if !running {
				continue
			}
			stats.CPU, stats.MemoryBytes = u.CPU, u.MemoryBytes
		}
		all = append(all, stats)
	}
	return all, nil
}
