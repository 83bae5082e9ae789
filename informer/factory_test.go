package informer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
)

func runFactory(t *testing.T, f *informer.Factory) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	run := make(chan error, 1)
	go func() { run <- f.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-run
	}
}

// Scenario 71.
func TestFactoryStartsWhatIsAddedLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &informer.Factory{Options: quiet(informer.Options{})}
		a := newServer(fakes.Options[*object]{})
		b := newServer(fakes.Options[*object]{})
		first, err := informer.Of[*object](f, "a", a)
		require.NoError(t, err)
		stop := runFactory(t, f)
		second, err := informer.Of[*object](f, "b", b)
		require.NoError(t, err)
		again, err := informer.Of[*object](f, "b", nil)
		require.NoError(t, err)
		require.Same(t, second, again)
		require.NoError(t, f.WaitForSync(t.Context()))
		require.ErrorIs(t, f.Run(t.Context()), listwatch.ErrRunning)
		synctest.Wait()
		require.Equal(t, 1, a.Watches())
		require.Equal(t, 1, b.Watches())
		require.Equal(t, []string{"a", "b"}, []string{f.Health()[0].Name, f.Health()[1].Name})

		_, err = informer.Of(f, "a", listwatch.Funcs[listwatch.Meta]{})
		require.ErrorContains(t, err, "informer a is a")

		stopped, err := f.Stop("a")
		require.True(t, stopped)
		require.NoError(t, err)
		require.False(t, first.Health().Running)
		require.Zero(t, a.Watches())
		stopped, _ = f.Stop("a")
		require.False(t, stopped)
		renewed, err := informer.Of[*object](f, "a", a)
		require.NoError(t, err)
		require.NoError(t, renewed.WaitForSync(t.Context()))

		require.NoError(t, stop())
		require.False(t, second.Health().Running)
		require.ErrorIs(t, f.Run(t.Context()), listwatch.ErrStopped)
		_, err = informer.Of[*object](f, "c", a)
		require.ErrorIs(t, err, listwatch.ErrStopped)
	})
}

// Scenario 26.
func TestFactoryNamesWhatLags(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var heard int
		o := quiet(informer.Options{OnError: func(error) { heard++ }})
		f := &informer.Factory{Options: o}
		healthy := newServer(fakes.Options[*object]{})
		missing := newServer(fakes.Options[*object]{NoInitialEvents: true})
		for range 5 {
			missing.Fail(fakes.VerbList, fakes.Status(404, "the server could not find the requested resource"))
		}
		good, err := informer.Of[*object](f, "healthy", healthy)
		require.NoError(t, err)
		late, err := informer.Of[*object](f, "missing", missing)
		require.NoError(t, err)
		stop := runFactory(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = f.WaitForSync(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, listwatch.ErrNotFound)
		require.ErrorContains(t, err, "informer missing is not synced")
		require.NotContains(t, err.Error(), "healthy")
		require.True(t, good.Synced().Fired())
		require.NoError(t, f.WaitForSync(t.Context()), "it syncs once the resource is there")
		require.True(t, late.Synced().Fired())
		require.Equal(t, 5, heard)
		require.NoError(t, stop())
	})
}

// Scenario 72, in memory: a selection reaches both list and watch.
func TestFactoryKeepsToTheSelection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &informer.Factory{Options: quiet(informer.Options{})}
		s := newServer(fakes.Options[*object]{})
		for n := range 4 {
			_, err := s.Put(named(fmt.Sprint("a", n), fmt.Sprint(n%2)))
			require.NoError(t, err)
		}
		odd, err := informer.Of(f, "odd", s.Select(func(o *object) bool { return o.Value == "1" }))
		require.NoError(t, err)
		stop := runFactory(t, f)
		require.NoError(t, f.WaitForSync(t.Context()))
		_, err = s.Put(named("a0", "1"))
		require.NoError(t, err)
		_, err = s.Put(named("a1", "0"))
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, odd.Indexer().List(), 2)
		for _, o := range odd.Indexer().All() {
			require.Equal(t, "1", o.Value)
		}
		require.NoError(t, stop())
	})
}

func TestFactoryStopBeforeRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f informer.Factory
		i, err := informer.Of[*object](&f, "a", newServer(fakes.Options[*object]{}))
		require.NoError(t, err)
		stopped, err := f.Stop("a")
		require.True(t, stopped)
		require.NoError(t, err)
		require.ErrorIs(t, i.Run(t.Context()), listwatch.ErrStopped)
		require.Empty(t, f.Health())
	})
}
