package runtimetest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// rig is a runtime under test, whose events are counted.
type rig struct {
	Runtime
	t *testing.T

	mu      sync.Mutex
	events  map[runtime.Event]int // guarded by mu; those that nobody has waited for yet
	arrived *sync.Cond            // tells of events
}

func newRig(t *testing.T, r Runtime) *rig {
	t.Helper()
	_, err := r.PullImage(t.Context(), Image)
	require.NoError(t, err)
	g := &rig{Runtime: r, t: t, events: map[runtime.Event]int{}}
	g.arrived = sync.NewCond(&g.mu)
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = r.ContainerEvents(ctx, func(e runtime.Event) {
			if e == (runtime.Event{}) {
				close(ready)
				return
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			g.events[e]++
			g.arrived.Broadcast()
		})
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	<-ready
	return g
}

// waitFor returns when an event has come that was not waited for.
func (g *rig) waitFor(e runtime.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.events[e] == 0 {
		g.arrived.Wait()
	}
	g.events[e] = 0
}

func (g *rig) run(c runtime.SandboxConfig) string {
	g.t.Helper()
	id, err := g.RunPodSandbox(g.t.Context(), c)
	require.NoError(g.t, err)
	return id
}

func (g *rig) create(sandbox string, c runtime.ContainerConfig) string {
	g.t.Helper()
	id, err := g.CreateContainer(g.t.Context(), sandbox, c)
	require.NoError(g.t, err)
	return id
}

// command makes a container that runs a command.
func (g *rig) command(sandbox string, command ...string) string {
	g.t.Helper()
	return g.create(sandbox, runtime.ContainerConfig{Name: "main", Image: Image, Command: command})
}

func (g *rig) start(id string) {
	g.t.Helper()
	require.NoError(g.t, g.StartContainer(g.t.Context(), id))
}

// ended returns a container when it has ended.
func (g *rig) ended(id string) runtime.Container {
	g.t.Helper()
	for {
		c := g.container(id)
		if c.State == runtime.Exited {
			return c
		}
		g.waitFor(runtime.Event{Container: id, Sandbox: c.Sandbox, PodUID: g.sandbox(c.Sandbox).Config.UID})
	}
}

func (g *rig) containers() []runtime.Container {
	g.t.Helper()
	all, err := g.ListContainers(g.t.Context())
	require.NoError(g.t, err)
	return all
}

func (g *rig) sandboxes() []runtime.Sandbox {
	g.t.Helper()
	all, err := g.ListPodSandboxes(g.t.Context())
	require.NoError(g.t, err)
	return all
}

func (g *rig) stats() []runtime.Stats {
	g.t.Helper()
	all, err := g.Stats(g.t.Context())
	require.NoError(g.t, err)
	return all
}

func (g *rig) container(id string) runtime.Container {
	g.t.Helper()
	for _, c := range g.containers() {
		if c.ID == id {
			return c
		}
	}
	require.FailNow(g.t, "no container "+id)
	return runtime.Container{}
}

func (g *rig) sandbox(id string) runtime.Sandbox {
	g.t.Helper()
	for _, s := range g.sandboxes() {
		if s.ID == id {
			return s
		}
	}
	require.FailNow(g.t, "no sandbox "+id)
	return runtime.Sandbox{}
}
