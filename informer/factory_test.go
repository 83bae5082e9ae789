package informer_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
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

// Scenario 122: the watches of ninety kinds are denied at first, callbacks take a lock that is also held while the
// factory is asked, one callback does not return, and one kind goes on failing.
func TestFactoryOfManyKinds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const kinds = 90
		f := &informer.Factory{Options: quiet(informer.Options{})}
		var mu sync.Mutex
		heard, lists := 0, [kinds]int{} // guarded by mu
		release := make(chan struct{})
		var servers [kinds]*server
		denied := fakes.Status(401, "Unauthorized")
		for n := range kinds {
			s := newServer(fakes.Options[*object]{NoInitialEvents: true})
			_, err := s.Put(named("a", "1"))
			require.NoError(t, err)
			s.Fail(fakes.VerbWatch, denied, denied, denied)
			servers[n] = s
			i, err := informer.Of[*object](f, fmt.Sprint(n), listwatch.Funcs[*object]{WatchFunc: s.Watch, ListFunc: func(
				ctx context.Context, o listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
				mu.Lock()
				lists[n]++
				mu.Unlock()
				return s.List(ctx, o, each)
			}})
			require.NoError(t, err)
			_, err = i.AddHandler(t.Context(), func(context.Context, informer.Change[*object]) {
				mu.Lock()
				heard++
				mu.Unlock()
				if n == 1 {
					<-release
				}
			}, informer.HandlerOptions{})
			require.NoError(t, err)
		}
		stop := runFactory(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		mu.Lock() // callbacks wait for who asks here
		require.Len(t, f.Health(), kinds)
		mu.Unlock()
		require.NoError(t, f.WaitForSync(ctx))
		time.Sleep(time.Minute) // until all watches have begun
		mu.Lock()
		before := lists
		mu.Unlock()
		for range 100 {
			servers[0].Fail(fakes.VerbWatch, denied)
			servers[0].Fail(fakes.VerbList, denied)
		}
		servers[0].Cut(denied)
		for n := range kinds {
			_, err := servers[n].Put(named("b", "1"))
			require.NoError(t, err)
		}
		time.Sleep(time.Minute)
		mu.Lock()
		require.Equal(t, before[1:], lists[1:], "nobody lists because of another")
		require.Equal(t, 2*(kinds-1), heard, "all have heard of both objects but the one that hangs and the one that fails")
		mu.Unlock()
		close(release)
		synctest.Wait()
		mu.Lock()
		require.Equal(t, 2*kinds-1, heard)
		mu.Unlock()
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
		elsewhere := named("a1", "1")
		elsewhere.Namespace = "other"
		_, err := s.Put(elsewhere)
		require.NoError(t, err)
		odd, err := informer.Of(f, "odd", s.Select(func(o *object) bool { return o.Namespace == "ns" && o.Value == "1" }))
		require.NoError(t, err)
		stop := runFactory(t, f)
		require.NoError(t, f.WaitForSync(t.Context()))
		_, err = s.Put(named("a0", "1"))
		require.NoError(t, err)
		_, err = s.Put(named("a1", "0"))
		require.NoError(t, err)
		elsewhere.Name = "a9"
		_, err = s.Put(elsewhere)
		require.NoError(t, err)
		synctest.Wait()
		held := byKey(odd.Indexer().List())
		require.Len(t, held, 2)
		require.Contains(t, held, key("a0"))
		require.Contains(t, held, key("a3"))
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

func TestFactorySurvivesGoexit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &informer.Factory{Options: quiet(informer.Options{})}
		var informers []*pods
		for _, name := range []string{"a", "b", "c"} {
			i, err := informer.Of[*object](f, name, newServer(fakes.Options[*object]{}))
			require.NoError(t, err)
			informers = append(informers, i)
		}
		informers[0].Synced().AfterFunc(runtime.Goexit)
		informers[1].Synced().AfterFunc(runtime.Goexit)
		end := runFactory(t, f)
		require.NoError(t, informers[2].WaitForSync(t.Context()))
		stopped, err := f.Stop("a")
		require.True(t, stopped)
		require.ErrorContains(t, err, "ended the goroutine of Run")
		require.ErrorContains(t, end(), "ended the goroutine of Run")
	})
}

// Everything at the same time; each informer ends, and each name has at most one watch.
func TestFactoryUnderRace(t *testing.T) {
	t.Parallel()
	for range 50 {
		f := &informer.Factory{Options: quiet(informer.Options{})}
		servers := []*server{newServer(fakes.Options[*object]{}), newServer(fakes.Options[*object]{})}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		var made []*pods
		for n := range 4 {
			all.Go(func() {
				for range 5 {
					name := fmt.Sprint(n % 2)
					i, err := informer.Of[*object](f, name, servers[n%2])
					if err != nil {
						require.ErrorIs(t, err, listwatch.ErrStopped)
						return
					}
					mu.Lock()
					made = append(made, i)
					mu.Unlock()
					_, _ = i.AddHandler(ctx, (&diary{}).handle, informer.HandlerOptions{})
					f.Health()
					if n > 1 {
						_, err = f.Stop(name)
						require.NoError(t, err)
					}
				}
			})
		}
		all.Go(func() { require.NoError(t, f.Run(ctx)) })
		all.Go(func() { _ = f.WaitForSync(ctx) })
		all.Go(func() {
			runtime.Gosched()
			cancel()
		})
		all.Wait()
		for _, i := range made {
			require.False(t, i.Health().Running)
			require.ErrorIs(t, i.Run(t.Context()), listwatch.ErrStopped)
		}
		require.Zero(t, servers[0].Watches()+servers[1].Watches())
	}
}
