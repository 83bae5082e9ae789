//go:build linux

package process_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
	"github.com/seed3bce33ad/listwatch/examples/runtime/runtimetest"
)

func TestMain(m *testing.M) {
	dropRights()
	beKubelet()
	runtimetest.Main(m)
}

// both runs a test with all rights that there are, and with none.
func both(t *testing.T, test func(t *testing.T, o process.Options)) {
	t.Run("Full", func(t *testing.T) { test(t, process.Options{Dir: t.TempDir()}) })
	t.Run("Plain", func(t *testing.T) { test(t, process.Options{Dir: t.TempDir(), Plain: true}) })
}

// node is a runtime with a pod.
type node struct {
	*process.Runtime
	t       *testing.T
	dir     string
	sandbox string
	logs    string
	shared  string // seen by containers under the same path
}

// open returns a runtime that is emptied at the end, unless it was closed.
func open(t *testing.T, o process.Options) *process.Runtime {
	t.Helper()
	r, err := process.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { empty(t, r, o.Dir) })
	return r
}

func empty(t *testing.T, r *process.Runtime, dir string) {
	logs, err := filepath.Glob(filepath.Join(dir, "sandboxes", "*", "pause.log"))
	require.NoError(t, err)
	for _, path := range logs {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Empty(t, string(text), "what pause processes say is faults, such as data races")
	}
	err = runtime.RemoveAll(context.Background(), r)
	if err != nil && strings.Contains(err.Error(), "closed") {
		return
	}
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

func newNode(t *testing.T, o process.Options) *node {
	t.Helper()
	n := &node{Runtime: open(t, o), t: t, dir: o.Dir, logs: t.TempDir(), shared: t.TempDir()}
	n.sandbox = n.pod("web")
	return n
}

func (n *node) pod(name string) string {
	n.t.Helper()
	id, err := n.RunPodSandbox(n.t.Context(), runtime.SandboxConfig{Namespace: "default", Name: name, UID: "uid-" + name,
		LogDirectory: n.logs})
	require.NoError(n.t, err)
	return id
}

func (n *node) ip(sandbox string) string {
	n.t.Helper()
	all, err := n.ListPodSandboxes(n.t.Context())
	require.NoError(n.t, err)
	for _, s := range all {
		if s.ID == sandbox {
			return s.IP
		}
	}
	require.FailNow(n.t, "no sandbox")
	return ""
}

// start makes a container and starts it.
func (n *node) start(c runtime.ContainerConfig) string {
	n.t.Helper()
	if c.Image == "" {
		c.Image = "builtin"
	}
	if n.shared != "" {
		c.Mounts = append(c.Mounts, runtime.Mount{ContainerPath: n.shared, HostPath: n.shared})
	}
	id, err := n.CreateContainer(n.t.Context(), n.sandbox, c)
	require.NoError(n.t, err)
	require.NoError(n.t, n.StartContainer(n.t.Context(), id))
	return id
}

// shell starts a container that runs a script and logs to the file that is named.
func (n *node) shell(script string) string {
	n.t.Helper()
	return n.start(runtime.ContainerConfig{Name: "shell", Command: []string{"/bin/sh", "-c", script}, LogPath: "shell.log"})
}

// exec returns what a command in a container writes.
func (n *node) exec(id string, command ...string) string {
	n.t.Helper()
	var out, errs bytes.Buffer
	code, err := n.Exec(n.t.Context(), id, runtime.Exec{Command: command, Stdout: &out, Stderr: &errs})
	require.NoError(n.t, err)
	require.Zero(n.t, code, errs.String())
	return out.String()
}

func (n *node) container(id string) runtime.Container {
	n.t.Helper()
	all, err := n.ListContainers(n.t.Context())
	require.NoError(n.t, err)
	for _, c := range all {
		if c.ID == id {
			return c
		}
	}
	require.FailNow(n.t, "no container")
	return runtime.Container{}
}

// until returns when something is true that an event tells of.
func until(t *testing.T, r runtime.Service, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = r.ContainerEvents(ctx, func(runtime.Event) {
			if done() {
				cancel()
			}
		})
	})
	wg.Wait()
	require.NoError(t, t.Context().Err())
}

// ended returns a container when it has ended.
func (n *node) ended(id string) runtime.Container {
	n.t.Helper()
	until(n.t, n, func() bool { return n.container(id).State == runtime.Exited })
	return n.container(id)
}

func (n *node) log() string {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.logs, "shell.log"))
	require.NoError(n.t, err)
	return string(text)
}

// fifo makes a file at which a script can tell a line, and a function that waits for that.
func (n *node) fifo() (path string, hear func() string) {
	n.t.Helper()
	path = filepath.Join(n.shared, "fifo")
	require.NoError(n.t, mkfifo(path))
	return path, func() string {
		text, err := os.ReadFile(path)
		require.NoError(n.t, err)
		return string(bytes.TrimSpace(text))
	}
}
