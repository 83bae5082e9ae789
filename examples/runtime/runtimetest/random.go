package runtimetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// Random does what comes by chance, and compares what a runtime tells with what a model says. Open returns a new, empty
// runtime. Restart ends one without ending its containers and returns the next; nil for one that can't. The same seed does
// the same.
func Random(t *testing.T, seed uint64, steps int, open func(*testing.T) Runtime, restart func(*testing.T, Runtime) Runtime) {
	t.Logf("-seed %d", seed)
	m := &model{rig: newRig(t, open(t)), random: rand.New(rand.NewPCG(seed, 0)), sandboxes: map[string]bool{},
		containers: map[string]*modelled{}}
	for range steps {
		m.step(restart)
		m.compare()
	}
	require.NoError(t, runtime.RemoveAll(t.Context(), m))
	require.Empty(t, m.rig.sandboxes())
	require.Empty(t, m.rig.containers())
}

// model is what ought to be there.
type model struct {
	*rig
	random     *rand.Rand
	made       []string             // ids of sandboxes, those that were removed too
	started    []string             // likewise of containers
	sandboxes  map[string]bool      // by id, whether it is ready
	containers map[string]*modelled // by id
	story      []string
}

type modelled struct {
	sandbox, does string
	state         runtime.State
	code          int
	reason        string
}

func (m *modelled) end(code int, reason string) {
	m.state, m.code, m.reason = runtime.Exited, code, reason
}

// kill is what happens to a container that runs when its sandbox or it itself is killed.
func (m *modelled) kill() {
	if m.state == runtime.Running {
		m.end(137, "Error")
	}
}

// commands are what containers do.
var commands = map[string][]string{"run": {"sleep", "1h"}, "end": {"exit", "0"}, "fail": {"exit", "3"}, "missing": {MissingCommand}}

func (m *model) step(restart func(*testing.T, Runtime) Runtime) {
	sandbox, container := m.pick(m.made), m.pick(m.started)
	switch m.random.IntN(12) {
	case 0, 1:
		m.runSandbox()
	case 2:
		m.tell("stop sandbox", sandbox)
		require.NoError(m.t, m.StopPodSandbox(m.t.Context(), sandbox))
		m.killAll(sandbox)
	case 3:
		m.tell("remove sandbox", sandbox)
		require.NoError(m.t, m.RemovePodSandbox(m.t.Context(), sandbox))
		for id, c := range m.containers {
			if c.sandbox == sandbox {
				delete(m.containers, id)
			}
		}
		delete(m.sandboxes, sandbox)
	case 4, 5, 6:
		m.createContainer(sandbox)
	case 7, 8, 9:
		m.startContainer(container)
	case 10:
		m.stopContainer(container)
	case 11:
		if restart != nil && m.random.IntN(2) == 0 {
			m.tell("restart", "")
			m.rig = newRig(m.t, restart(m.t, m.Runtime))
			return
		}
		m.tell("remove container", container)
		require.NoError(m.t, m.RemoveContainer(m.t.Context(), container))
		delete(m.containers, container)
	}
}

func (m *model) pick(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return ids[max(0, len(ids)-1-m.random.IntN(5))]
}

func (m *model) tell(what, id string) { m.story = append(m.story, what+" "+id) }

func (m *model) runSandbox() {
	id := m.run(runtime.SandboxConfig{Namespace: "default", Name: fmt.Sprint("pod-", len(m.made)), UID: fmt.Sprint(len(m.made))})
	m.tell("run sandbox", id)
	m.made, m.sandboxes[id] = append(m.made, id), true
}

func (m *model) killAll(sandbox string) {
	if _, found := m.sandboxes[sandbox]; !found {
		return
	}
	m.sandboxes[sandbox] = false
	for _, c := range m.containers {
		if c.sandbox == sandbox {
			c.kill()
		}
	}
}

func (m *model) createContainer(sandbox string) {
	does := []string{"run", "run", "end", "fail", "missing"}[m.random.IntN(5)]
	id, err := m.CreateContainer(m.t.Context(), sandbox, runtime.ContainerConfig{Name: does, Image: Image, Command: commands[does]})
	m.tell("create container in "+sandbox+" to "+does, id)
	ready, found := m.sandboxes[sandbox]
	switch {
	case !found:
		require.ErrorIs(m.t, err, runtime.ErrNotFound, m.story)
	case !ready:
		require.ErrorIs(m.t, err, runtime.ErrNotReady, m.story)
	default:
		require.NoError(m.t, err, m.story)
		m.containers[id] = &modelled{sandbox: sandbox, does: does}
		m.started = append(m.started, id)
	}
}

func (m *model) startContainer(id string) {
	m.tell("start container", id)
	err := m.StartContainer(m.t.Context(), id)
	c := m.containers[id]
	switch {
	case c == nil:
		require.ErrorIs(m.t, err, runtime.ErrNotFound, m.story)
	case c.state != runtime.Created:
		require.NoError(m.t, err, m.story)
	case !m.sandboxes[c.sandbox]:
		require.ErrorIs(m.t, err, runtime.ErrNotReady, m.story)
		c.end(128, "StartError")
	case c.does == "missing":
		require.Error(m.t, err, m.story)
		c.end(128, "StartError")
	default:
		require.NoError(m.t, err, m.story)
		c.state = runtime.Running
		if c.does != "run" {
			m.ended(id)
			c.end(map[string]int{"end": 0, "fail": 3}[c.does], map[string]string{"end": "Completed", "fail": "Error"}[c.does])
		}
	}
}

func (m *model) stopContainer(id string) {
	m.tell("stop container", id)
	require.NoError(m.t, m.StopContainer(m.t.Context(), id, time.Minute))
	if c := m.containers[id]; c != nil && c.state == runtime.Running {
		c.end(143, "Error")
	}
}

// compare compares all there is with the model.
func (m *model) compare() {
	m.t.Helper()
	sandboxes := map[string]bool{}
	for _, s := range m.rig.sandboxes() {
		sandboxes[s.ID] = s.Ready
	}
	require.Equal(m.t, m.sandboxes, sandboxes, m.story)
	containers := map[string]*modelled{}
	running := 0
	for _, c := range m.rig.containers() {
		containers[c.ID] = &modelled{c.Sandbox, c.Config.Name, c.State, c.ExitCode, c.Reason}
		if c.State == runtime.Running {
			running++
		}
	}
	require.Equal(m.t, m.containers, containers, m.story)
	require.Len(m.t, m.stats(), running, m.story)
}

// Together does things with the same sandboxes and containers from several goroutines, and checks that each has its place
// in the end.
func Together(t *testing.T, seed uint64, steps int, open func(*testing.T) Runtime) {
	t.Logf("-seed %d", seed)
	g := newRig(t, open(t))
	var sandboxes, containers []string
	for i := range 2 {
		s := g.run(runtime.SandboxConfig{Namespace: "default", Name: fmt.Sprint("pod-", i), UID: fmt.Sprint(i)})
		sandboxes = append(sandboxes, s)
		for range 3 {
			containers = append(containers, g.command(s, "sleep", "1h"))
		}
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(worker)))
			for range steps {
				// What is refused is one of the errors that there are words for, but nothing is said of which.
				switch c, s := containers[random.IntN(len(containers))], sandboxes[random.IntN(len(sandboxes))]; random.IntN(9) {
				case 0, 1:
					_ = g.StartContainer(t.Context(), c)
				case 2:
					_, _ = g.Exec(t.Context(), c, runtime.Exec{Command: []string{"echo", "x"}, Stdout: &bytes.Buffer{}})
				case 3:
					_, _ = g.Stats(t.Context())
				case 4:
					_ = g.StopContainer(t.Context(), c, time.Minute)
				case 5:
					_ = g.RemoveContainer(t.Context(), c)
				case 6:
					_, _ = g.CreateContainer(t.Context(), s, runtime.ContainerConfig{Name: "more", Image: Image, Command: commands["run"]})
				case 7:
					if _, err := g.RunPodSandbox(t.Context(), runtime.SandboxConfig{Namespace: "default", Name: "more"}); err != nil {
						t.Error(err)
					}
				case 8:
					switch random.IntN(steps) {
					case 0:
						_ = g.StopPodSandbox(t.Context(), s)
					case 1:
						_ = g.RemovePodSandbox(t.Context(), s)
					}
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, runtime.RemoveAll(t.Context(), g))
	require.Empty(t, g.sandboxes())
	require.Empty(t, g.containers())
}
