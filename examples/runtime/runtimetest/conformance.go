package runtimetest

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// Image is an image that a Runtime under test has. Its commands are sleep TIME, which SIGTERM ends at once, exit CODE, and
// echo WORDS.
const Image = "builtin"

// MissingImage is an image that it does not have, and MissingCommand a command that can't be started.
const (
	MissingImage   = "missing"
	MissingCommand = "/missing/command"
)

// Runtime is what is tested.
type Runtime interface {
	runtime.Service
	runtime.Images
}

// Conformance checks what every runtime does. Open returns a new, empty one, and sees to its end.
func Conformance(t *testing.T, open func(t *testing.T) Runtime) {
	for _, test := range []struct {
		name string
		run  func(*rig)
	}{
		{"Life", life}, {"Exit", exits}, {"StartError", startError}, {"Stop", stops}, {"StopSandbox", stopSandbox},
		{"Images", images}, {"NotFound", notFound}, {"Exec", execs}, {"EventsEnd", eventsEnd},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newRig(t, open(t))) })
	}
}

func life(r *rig) {
	t, ctx := r.t, r.t.Context()
	config := runtime.SandboxConfig{Namespace: "default", Name: "web", UID: "uid-1", Attempt: 2, LogDirectory: t.TempDir(),
		Annotations: map[string]string{"a": "b"}}
	id := r.run(config)
	s := r.sandbox(id)
	config.Hostname = "web"
	long := strings.Repeat("a", 62) + "-" + strings.Repeat("b", 10)
	longer := r.run(runtime.SandboxConfig{Namespace: "default", Name: long, UID: "uid-2"})
	require.Equal(t, long[:62], r.sandbox(longer).Config.Hostname)
	require.NoError(t, r.RemovePodSandbox(ctx, longer))
	require.Equal(t, config, s.Config)
	require.True(t, s.Ready)
	require.NotEmpty(t, s.IP)
	require.False(t, s.Created.IsZero())

	asked := runtime.ContainerConfig{Name: "main", Attempt: 1, Image: Image, Command: []string{"sleep"}, Args: []string{"1h"},
		LogPath: "main/1.log", Annotations: map[string]string{"c": "d"}}
	c := r.create(id, asked)
	require.Equal(t, runtime.Container{ID: c, Sandbox: id, Config: asked, Created: r.container(c).Created}, r.container(c))
	r.waitFor(runtime.Event{Container: c, Sandbox: id, PodUID: "uid-1"})
	require.Empty(t, r.stats())
	require.NoError(t, r.StopContainer(ctx, c, time.Minute))
	require.Equal(t, runtime.Created, r.container(c).State, "what was not started can't be stopped")

	r.start(c)
	r.start(c)
	running := r.container(c)
	require.Equal(t, runtime.Running, running.State)
	require.False(t, running.Started.Before(running.Created))
	require.Len(t, r.stats(), 1)
	require.Equal(t, []string{c, id}, []string{r.stats()[0].Container, r.stats()[0].Sandbox})

	require.NoError(t, r.RemoveContainer(ctx, c))
	r.waitFor(runtime.Event{Container: c, Sandbox: id, PodUID: "uid-1"})
	require.Empty(t, r.containers())
	require.NoError(t, r.RemoveContainer(ctx, c))
	require.ErrorIs(t, r.StartContainer(ctx, c), runtime.ErrNotFound)
	require.NoError(t, r.RemovePodSandbox(ctx, id))
	require.NoError(t, r.RemovePodSandbox(ctx, id))
	require.Empty(t, r.sandboxes())
}

func exits(r *rig) {
	id := r.run(runtime.SandboxConfig{Namespace: "default", Name: "job", UID: "u"})
	for code, reason := range map[int]string{0: "Completed", 3: "Error"} {
		c := r.command(id, "exit", string(rune('0'+code)))
		r.start(c)
		ended := r.ended(c)
		require.Equal(r.t, []any{code, reason}, []any{ended.ExitCode, ended.Reason})
		require.False(r.t, ended.Finished.Before(ended.Started))
		require.NoError(r.t, r.StartContainer(r.t.Context(), c), "what has run is not started again")
		require.Equal(r.t, ended, r.container(c))
		require.NoError(r.t, r.StopContainer(r.t.Context(), c, time.Minute))
	}
	require.True(r.t, r.sandbox(id).Ready)
	require.Empty(r.t, r.stats())
}

func startError(r *rig) {
	id := r.run(runtime.SandboxConfig{Namespace: "default", Name: "bad", UID: "u"})
	c := r.command(id, MissingCommand)
	err := r.StartContainer(r.t.Context(), c)
	require.Error(r.t, err)
	ended := r.ended(c)
	require.Equal(r.t, []any{128, "StartError"}, []any{ended.ExitCode, ended.Reason})
	require.Contains(r.t, err.Error(), ended.Message)
	require.NotEmpty(r.t, ended.Message)
	require.True(r.t, ended.Started.IsZero())
	require.False(r.t, ended.Finished.IsZero())
	require.NoError(r.t, r.StartContainer(r.t.Context(), c))
}

func stops(r *rig) {
	id := r.run(runtime.SandboxConfig{Namespace: "default", Name: "server", UID: "u"})
	asked, killed := r.command(id, "sleep", "1h"), r.command(id, "sleep", "1h")
	r.start(asked)
	r.start(killed)
	require.NoError(r.t, r.StopContainer(r.t.Context(), asked, time.Minute))
	c := r.container(asked)
	require.Equal(r.t, []any{runtime.Exited, 143, "Error"}, []any{c.State, c.ExitCode, c.Reason})
	require.Equal(r.t, runtime.Running, r.container(killed).State)
	require.NoError(r.t, r.RemoveContainer(r.t.Context(), killed))
	require.Len(r.t, r.containers(), 1)
}

func stopSandbox(r *rig) {
	t, ctx := r.t, r.t.Context()
	id := r.run(runtime.SandboxConfig{Namespace: "default", Name: "a", UID: "u"})
	other := r.run(runtime.SandboxConfig{Namespace: "default", Name: "b", UID: "v"})
	require.NotEqual(t, r.sandbox(id).IP, r.sandbox(other).IP)
	running, created, others := r.command(id, "sleep", "1h"), r.command(id, "sleep", "1h"), r.command(other, "sleep", "1h")
	r.start(running)
	r.start(others)
	require.NoError(t, r.StopPodSandbox(ctx, id))
	require.NoError(t, r.StopPodSandbox(ctx, id))
	require.False(t, r.sandbox(id).Ready)
	r.waitFor(runtime.Event{Sandbox: id, PodUID: "u"})
	c := r.container(running)
	require.Equal(t, []any{runtime.Exited, 137, "Error"}, []any{c.State, c.ExitCode, c.Reason})
	require.Equal(t, runtime.Created, r.container(created).State)
	require.Equal(t, runtime.Running, r.container(others).State)
	_, err := r.CreateContainer(ctx, id, runtime.ContainerConfig{Name: "late", Image: Image})
	require.ErrorIs(t, err, runtime.ErrNotReady)
	require.ErrorIs(t, r.StartContainer(ctx, created), runtime.ErrNotReady)
	require.Equal(t, "StartError", r.container(created).Reason)
	require.NoError(t, r.RemovePodSandbox(ctx, id))
	require.Len(t, r.containers(), 1)
	require.Len(t, r.sandboxes(), 1)
}

func images(r *rig) {
	id, err := r.PullImage(r.t.Context(), Image)
	require.NoError(r.t, err)
	all, err := r.ListImages(r.t.Context())
	require.NoError(r.t, err)
	require.Contains(r.t, all, id)
	_, err = r.PullImage(r.t.Context(), MissingImage)
	require.ErrorIs(r.t, err, runtime.ErrNotFound)
	sandbox := r.run(runtime.SandboxConfig{Namespace: "default", Name: "a", UID: "u"})
	_, err = r.CreateContainer(r.t.Context(), sandbox, runtime.ContainerConfig{Name: "c", Image: MissingImage})
	require.ErrorIs(r.t, err, runtime.ErrNotFound)
}

func notFound(r *rig) {
	t, ctx := r.t, r.t.Context()
	require.NoError(t, r.StopPodSandbox(ctx, "none"))
	require.NoError(t, r.RemovePodSandbox(ctx, "none"))
	require.NoError(t, r.StopContainer(ctx, "none", time.Second))
	require.NoError(t, r.RemoveContainer(ctx, "none"))
	require.ErrorIs(t, r.StartContainer(ctx, "none"), runtime.ErrNotFound)
	_, err := r.CreateContainer(ctx, "none", runtime.ContainerConfig{Image: Image})
	require.ErrorIs(t, err, runtime.ErrNotFound)
	_, err = r.Exec(ctx, "none", runtime.Exec{Command: []string{"echo"}})
	require.ErrorIs(t, err, runtime.ErrNotFound)
}

func execs(r *rig) {
	t, ctx := r.t, r.t.Context()
	id := r.run(runtime.SandboxConfig{Namespace: "default", Name: "a", UID: "u"})
	c := r.command(id, "sleep", "1h")
	_, err := r.Exec(ctx, c, runtime.Exec{Command: []string{"echo"}})
	require.ErrorIs(t, err, runtime.ErrNotRunning)
	r.start(c)
	var out bytes.Buffer
	code, err := r.Exec(ctx, c, runtime.Exec{Command: []string{"echo", "one", "two"}, Stdout: &out})
	require.NoError(t, err)
	require.Equal(t, []any{0, "one two"}, []any{code, strings.TrimSpace(out.String())})
	code, err = r.Exec(ctx, c, runtime.Exec{Command: []string{"exit", "7"}})
	require.NoError(t, err)
	require.Equal(t, 7, code)
	_, err = r.Exec(ctx, c, runtime.Exec{Command: []string{MissingCommand}})
	require.Error(t, err)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = r.Exec(gone, c, runtime.Exec{Command: []string{"sleep", "1h"}})
	require.ErrorIs(t, err, context.Canceled)
}

func eventsEnd(r *rig) {
	ctx, cancel := context.WithCancelCause(r.t.Context())
	calls := 0
	err := r.ContainerEvents(ctx, func(e runtime.Event) {
		calls++
		require.Equal(r.t, runtime.Event{}, e)
		cancel(context.DeadlineExceeded)
	})
	require.ErrorIs(r.t, err, context.DeadlineExceeded)
	require.Equal(r.t, 1, calls)
}
