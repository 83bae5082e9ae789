package hollow_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/hollow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o hollow.Options) *hollow.Runtime {
	t.Helper()
	r, err := hollow.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// pod makes a sandbox with a container for each name, none of them started.
func pod(t *testing.T, r *hollow.Runtime, names ...string) (sandbox string, containers []string) {
	t.Helper()
	_, err := r.PullImage(t.Context(), "i")
	require.NoError(t, err)
	sandbox, err = r.RunPodSandbox(t.Context(), runtime.SandboxConfig{Namespace: "default", Name: "p", UID: "u"})
	require.NoError(t, err)
	for _, name := range names {
		id, err := r.CreateContainer(t.Context(), sandbox, runtime.ContainerConfig{Name: name, Image: "i"})
		require.NoError(t, err)
		containers = append(containers, id)
	}
	return sandbox, containers
}

func find(t *testing.T, r *hollow.Runtime, id string) runtime.Container {
	t.Helper()
	all, err := r.ListContainers(t.Context())
	require.NoError(t, err)
	for _, c := range all {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no container %s", id)
	return runtime.Container{}
}

// follow returns a channel with what a container is each time an event of it comes.
func follow(t *testing.T, r *hollow.Runtime, id string) <-chan runtime.Container {
	t.Helper()
	seen, ready := make(chan runtime.Container, 100), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = r.ContainerEvents(ctx, func(e runtime.Event) {
			if e == (runtime.Event{}) {
				close(ready)
			} else if e.Container == id {
				seen <- find(t, r, id)
			}
		})
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	<-ready
	return seen
}

func TestBehaviour(t *testing.T) {
	mock := clock.NewMock()
	fails := errors.New("no such command")
	r := open(t, hollow.Options{Clock: mock, Behave: func(p runtime.SandboxConfig, c runtime.ContainerConfig) hollow.Behaviour {
		require.Equal(t, "u", p.UID)
		return map[string]hollow.Behaviour{
			"job":   {StartDelay: 2 * time.Second, ExitAfter: 5 * time.Second, ExitCode: 3, MilliCPU: 500, MemoryBytes: 7},
			"fails": {FailStart: fails},
			"done":  {ExitAfter: time.Second},
		}[c.Name]
	}})
	sandbox, ids := pod(t, r, "job", "fails", "done", "server")

	require.ErrorIs(t, r.StartContainer(t.Context(), ids[1]), fails)
	failed := find(t, r, ids[1])
	require.Equal(t, []any{runtime.Exited, 128, "StartError", fails.Error()},
		[]any{failed.State, failed.ExitCode, failed.Reason, failed.Message})
	require.NoError(t, r.StartContainer(t.Context(), ids[1]), "what was done is no error")

	done := follow(t, r, ids[2])
	require.NoError(t, r.StartContainer(t.Context(), ids[2]))
	require.Equal(t, runtime.Running, (<-done).State)
	mock.Add(time.Second)
	ended := <-done
	require.Equal(t, []any{runtime.Exited, 0, "Completed"}, []any{ended.State, ended.ExitCode, ended.Reason})
	require.Equal(t, time.Second, ended.Finished.Sub(ended.Started))

	job := follow(t, r, ids[0])
	var wg sync.WaitGroup
	wg.Go(func() { require.NoError(t, r.StartContainer(t.Context(), ids[0])) })
	begun := advance(t, mock, job, 2*time.Second)
	require.Equal(t, runtime.Running, begun.State)
	wg.Wait()
	_, err := r.Exec(t.Context(), ids[0], runtime.Exec{Command: []string{"true"}})
	require.NoError(t, err)
	mock.Add(4 * time.Second)
	require.NoError(t, r.StartContainer(t.Context(), ids[3]))
	stats, err := r.Stats(t.Context())
	require.NoError(t, err)
	require.Len(t, stats, 2)
	require.Equal(t, runtime.Stats{Container: ids[0], Sandbox: sandbox, MemoryBytes: 7, At: mock.Now(),
		CPU: mock.Since(begun.Started) / 2}, stats[0])
	mock.Add(time.Second)
	ended = <-job
	require.Equal(t, []any{runtime.Exited, 3, "Error"}, []any{ended.State, ended.ExitCode, ended.Reason})
	_, err = r.Exec(t.Context(), ids[0], runtime.Exec{})
	require.ErrorIs(t, err, runtime.ErrNotRunning)

	mock.Add(time.Hour)
	require.Equal(t, runtime.Running, find(t, r, ids[3]).State, "runs until it is stopped")
	require.NoError(t, r.Exit(ids[3], 9))
	require.Equal(t, 9, find(t, r, ids[3]).ExitCode)
	require.ErrorIs(t, r.Exit(ids[3], 9), runtime.ErrNotRunning)
	require.ErrorIs(t, r.Exit("other", 9), runtime.ErrNotFound)
}

// advance moves the clock, as often as it takes, until news come: what waits for it may not have begun to yet.
func advance(t *testing.T, mock *clock.Mock, news <-chan runtime.Container, d time.Duration) runtime.Container {
	t.Helper()
	for {
		select {
		case c := <-news:
			return c
		default:
			mock.Add(d)
		}
	}
}

func TestStop(t *testing.T) {
	mock := clock.NewMock()
	r := open(t, hollow.Options{Clock: mock, Behave: func(_ runtime.SandboxConfig, c runtime.ContainerConfig) hollow.Behaviour {
		return map[string]hollow.Behaviour{"slow": {StopAfter: 5 * time.Second}, "deaf": {StopAfter: -1}}[c.Name]
	}})
	_, ids := pod(t, r, "quick", "slow", "deaf", "slow", "deaf", "slow")
	stop := func(i int, grace time.Duration) runtime.Container {
		t.Helper()
		require.NoError(t, r.StartContainer(t.Context(), ids[i]))
		news := follow(t, r, ids[i])
		var wg sync.WaitGroup
		wg.Go(func() { require.NoError(t, r.StopContainer(t.Context(), ids[i], grace)) })
		ended := advance(t, mock, news, time.Second)
		wg.Wait()
		require.Equal(t, runtime.Exited, ended.State)
		return ended
	}
	require.NoError(t, r.StopContainer(t.Context(), ids[0], time.Second))
	require.Equal(t, runtime.Created, find(t, r, ids[0]).State)
	require.Equal(t, 143, stop(0, time.Second).ExitCode)
	require.Equal(t, 143, stop(1, time.Minute).ExitCode)
	require.Equal(t, 137, stop(2, time.Minute).ExitCode)
	require.Equal(t, 137, stop(3, 2*time.Second).ExitCode)
	require.Equal(t, 137, stop(4, 0).ExitCode)

	// Who asked may go away: the container ends all the same.
	require.NoError(t, r.StartContainer(t.Context(), ids[5]))
	news := follow(t, r, ids[5])
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("left")
	cancel(left)
	require.ErrorIs(t, r.StopContainer(ctx, ids[5], time.Minute), left)
	mock.Add(5 * time.Second)
	require.Equal(t, 143, (<-news).ExitCode)
	require.NoError(t, r.StopContainer(t.Context(), ids[5], 0))
}

func TestAddresses(t *testing.T) {
	r := open(t, hollow.Options{CIDR: netip.MustParsePrefix("10.244.9.0/29")})
	run := func(name string, host bool) (string, error) {
		return r.RunPodSandbox(t.Context(), runtime.SandboxConfig{Namespace: "default", Name: name, HostNetwork: host})
	}
	seen := map[string]bool{}
	var first string
	for i := range 5 {
		id, err := run(fmt.Sprint(i), false)
		require.NoError(t, err)
		if i == 0 {
			first = id
		}
	}
	all, err := r.ListPodSandboxes(t.Context())
	require.NoError(t, err)
	for _, s := range all {
		require.False(t, seen[s.IP])
		require.True(t, netip.MustParsePrefix("10.244.9.0/29").Contains(netip.MustParseAddr(s.IP)))
		require.True(t, s.Ready)
		require.Equal(t, s.Config.Name, s.Config.Hostname)
		seen[s.IP] = true
	}
	_, err = run("one too many", false)
	require.ErrorContains(t, err, "all addresses of 10.244.9.0/29 are taken")
	host, err := run("host", true)
	require.NoError(t, err)
	require.NoError(t, r.StopPodSandbox(t.Context(), first))
	_, err = run("again", false)
	require.NoError(t, err)
	require.NoError(t, r.RemovePodSandbox(t.Context(), first))
	all, err = r.ListPodSandboxes(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 6)
	for _, s := range all {
		require.Equal(t, s.ID == host, s.IP == "")
	}
	require.NoError(t, r.FailSandbox(host))
	require.ErrorIs(t, r.FailSandbox(first), runtime.ErrNotFound)
	all, err = r.ListPodSandboxes(t.Context())
	require.NoError(t, err)
	require.False(t, all[4].Ready)
	_, err = hollow.New(hollow.Options{CIDR: netip.MustParsePrefix("10.244.9.1/32")})
	require.Error(t, err)
}

func TestNoGoroutines(t *testing.T) {
	before := goruntime.NumGoroutine()
	r := open(t, hollow.Options{CIDR: netip.MustParsePrefix("10.244.0.0/16"),
		Behave: func(runtime.SandboxConfig, runtime.ContainerConfig) hollow.Behaviour {
			return hollow.Behaviour{ExitAfter: time.Hour}
		}})
	for range 1000 {
		_, ids := pod(t, r, "a", "b")
		for _, id := range ids {
			require.NoError(t, r.StartContainer(t.Context(), id))
		}
	}
	stats, err := r.Stats(t.Context())
	require.NoError(t, err)
	require.Len(t, stats, 2000)
	require.LessOrEqual(t, goruntime.NumGoroutine(), before)
}

func TestImages(t *testing.T) {
	r := open(t, hollow.Options{Pull: func(_ context.Context, image string) error {
		if image == "gone" {
			return runtime.ErrNotFound
		}
		return nil
	}})
	for _, image := range []string{"b", "a", "b"} {
		id, err := r.PullImage(t.Context(), image)
		require.NoError(t, err)
		require.Equal(t, image, id)
	}
	_, err := r.PullImage(t.Context(), "gone")
	require.ErrorIs(t, err, runtime.ErrNotFound)
	images, err := r.ListImages(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, images)
}
