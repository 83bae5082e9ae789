package crew_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/cluster/crew"
	"github.com/seed3bce33ad/listwatch/examples/cluster/parts"
)

// play is a launch whose parts only note what happens to them.
type play struct {
	mu    sync.Mutex
	lines []string
	// runs gets the name of each part that has begun, and fail ends the run of one by an error.
	runs chan string
	fail map[string]chan error
}

func newPlay(names ...string) *play {
	p := &play{runs: make(chan string, 100), fail: map[string]chan error{}}
	for _, name := range names {
		p.fail[name] = make(chan error)
	}
	return p
}

func (p *play) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
}

func (p *play) launch(ctx context.Context, name string, ready func()) error {
	p.note("+" + name)
	defer p.note("-" + name)
	p.runs <- name
	if name == parts.APIServer {
		ready()
	}
	select {
	case err := <-p.fail[name]:
		return err
	case <-ctx.Done():
		return nil
	}
}

func quiet(string) *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestCrew(t *testing.T) {
	names := []string{parts.APIServer, "a", "b"}
	p := newPlay(names...)
	c := crew.New(crew.Options{Names: names, Launch: p.launch, Logger: quiet})
	require.NoError(t, c.StartAll(t.Context()))
	for range names {
		<-p.runs
	}
	require.Error(t, c.Start(t.Context(), "a"), "it runs")
	c.Stop("a")
	c.Stop("a") // there is nothing to do
	require.NoError(t, c.Start(t.Context(), "a"))
	require.Equal(t, "a", <-p.runs)
	c.Close()
	require.Equal(t, "+"+parts.APIServer, p.lines[0])
	require.Equal(t, []string{"-a", "+a", "-b", "-a", "-" + parts.APIServer}, p.lines[3:])
	c.Close()
}

func TestStartedAgain(t *testing.T) {
	p := newPlay("a")
	mock := clock.NewMock()
	c := crew.New(crew.Options{Names: []string{"a"}, Launch: p.launch, Logger: quiet, Clock: mock})
	defer c.Close()
	require.NoError(t, c.StartAll(t.Context()))
	require.Equal(t, "a", <-p.runs)
	for range 3 {
		p.fail["a"] <- errors.New("it fails")
		next := ""
		for next == "" { // the timer may not stand yet
			mock.Add(time.Second)
			select {
			case next = <-p.runs:
			case <-time.After(time.Millisecond):
			}
		}
		require.Equal(t, "a", next)
	}
	c.Kill("a")
	require.Equal(t, "a", <-p.runs, "without a pause")
	c.Kill("nobody")
}

// The API server is waited for: its first failure is everybody's.
func TestNoAPIServer(t *testing.T) {
	bad := errors.New("the address is taken")
	c := crew.New(crew.Options{Names: []string{parts.APIServer, "a"}, Logger: quiet, Launch: func(context.Context, string, func()) error { return bad }})
	defer c.Close()
	require.ErrorIs(t, c.StartAll(t.Context()), bad)

	never := crew.New(crew.Options{Names: []string{parts.APIServer}, Logger: quiet, Launch: func(ctx context.Context, _ string, _ func()) error {
		<-ctx.Done()
		return nil
	}})
	defer never.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, never.StartAll(ctx), context.Canceled)
}

// What is done at random leaves everybody in place, and nobody after the end.
func TestAtOnce(t *testing.T) {
	names := []string{parts.APIServer, "a", "b", "c"}
	p := newPlay(names...)
	p.runs = make(chan string, 10000)
	c := crew.New(crew.Options{Names: names, Launch: p.launch, Logger: quiet})
	var all sync.WaitGroup
	for _, name := range names {
		for range 3 {
			all.Go(func() {
				for range 50 {
					_ = c.Start(t.Context(), name) // it may run already
					c.Kill(name)
					c.Stop(name)
				}
			})
		}
	}
	all.Wait()
	c.Close()
	for _, name := range names {
		count := func(line string) int {
			return len(slices.DeleteFunc(slices.Clone(p.lines), func(l string) bool { return l != line }))
		}
		require.Equal(t, count("+"+name), count("-"+name))
	}
}
