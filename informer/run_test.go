package informer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

func TestFollowsTheServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "1")
		r.put("b", "1")
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		r.start().sync()
		require.Equal(t, []string{"Add a 1 initial", "Add b 1 initial"}, sorted(d.read()))
		r.put("a", "2")
		r.drop("b")
		r.put("c", "1")
		r.sync()
		require.Equal(t, []string{"Update a 1>2", "Delete b 1", "Add c 1"}, d.read())
		require.Equal(t, r.server.Version(), r.Indexer().Version())
		h := r.Health()
		require.True(t, h.Running && h.Synced)
		require.Equal(t, 2, h.Objects)
		require.Equal(t, r.server.Version(), h.Version)
		require.NoError(t, h.Source.LastError)
		stats := r.Stats()
		require.EqualValues(t, 5, stats.Changes)
		require.EqualValues(t, 5, stats.Handlers[0].Delivered)
	})
}

// Scenario 63, 55.
func TestRunsOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged bytes.Buffer
		r := &rig{t: t, server: newServer(fakes.Options[*object]{}), run: make(chan error, 1)}
		r.pods = informer.New[*object](r.server, informer.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		r.start().sync()
		before := r.Health().Source
		require.ErrorIs(t, r.Run(t.Context()), listwatch.ErrRunning)
		require.Contains(t, logged.String(), `level=WARN msg="Run was called again" informer=informer`)
		require.Equal(t, before, r.Health().Source, "the second call sent no request")
		r.stop()
		require.ErrorIs(t, r.Run(t.Context()), listwatch.ErrStopped)
		_, err := r.AddHandler(t.Context(), (&diary{}).handle, informer.HandlerOptions{})
		require.ErrorIs(t, err, listwatch.ErrStopped)
		_, err = indexer.AddIndex(r.Indexer(), "value", indexer.One(func(o *object) string { return o.Value }))
		require.NoError(t, err, "an index may be added at any time")
		require.False(t, r.Health().Running)
		require.NoError(t, r.WaitForSync(t.Context()), "it was synced")
		require.False(t, r.Reached("999").Fired())
	})
}

// Scenario 63.
func TestRunWithDoneContextListsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		requests := 0
		s := newServer(fakes.Options[*object]{Hooks: fakes.Hooks{
			BeforeList:  func(context.Context, listwatch.ListOptions) error { requests++; return nil },
			BeforeWatch: func(context.Context, listwatch.WatchOptions) error { requests++; return nil },
		}})
		r := newRig(t, s, informer.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		reg := r.handle((&diary{}).handle, informer.HandlerOptions{})
		require.NoError(t, r.Run(ctx))
		require.Zero(t, requests)
		<-reg.Done()
		require.ErrorIs(t, reg.Err(), listwatch.ErrStopped)
		require.ErrorIs(t, r.WaitForSync(t.Context()), listwatch.ErrStopped)
		require.ErrorIs(t, r.Run(t.Context()), listwatch.ErrStopped)
	})
}

func TestBadOptionsPanic(t *testing.T) {
	t.Parallel()
	var o informer.Options
	require.Panics(t, func() { informer.New[*object](nil, o) })
	o.Queue.Limit = -1
	require.Panics(t, func() { informer.New[*object](newServer(fakes.Options[*object]{}), o) })
	o = informer.Options{}
	o.Reflector.PageSize = -1
	require.Panics(t, func() { informer.New[*object](newServer(fakes.Options[*object]{}), o) })
}

// Scenario 69.
func TestWaitForSyncDoesNotPoll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{}).start().sync()
		begin := time.Now()
		require.NoError(t, r.WaitForSync(t.Context()))
		require.Zero(t, time.Since(begin))
		done, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, r.WaitForSync(done), "synced is synced")
		other := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		require.ErrorIs(t, other.WaitForSync(done), context.Canceled)
		require.Zero(t, time.Since(begin))
		require.NoError(t, new(informer.Factory).WaitForSync(t.Context()))

		f := &informer.Factory{Options: quiet(informer.Options{})}
		slow := fakes.Options[*object]{Hooks: fakes.Hooks{BeforeWatch: func(context.Context, listwatch.WatchOptions) error {
			time.Sleep(1234567)
			return nil
		}}}
		for n := range 20 {
			_, err := informer.Of[*object](f, fmt.Sprint(n), newServer(slow))
			require.NoError(t, err)
		}
		require.ErrorIs(t, f.WaitForSync(done), context.Canceled)
		begin = time.Now()
		stop := runFactory(t, f)
		require.NoError(t, f.WaitForSync(t.Context()))
		require.Equal(t, 1234567*time.Nanosecond, time.Since(begin), "who waits is told, and does not ask")
		begin = time.Now()
		require.NoError(t, f.WaitForSync(t.Context()))
		require.Zero(t, time.Since(begin))
		require.NoError(t, stop())
	})
}

func TestWaitForSyncSaysWhy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer(fakes.Options[*object]{NoInitialEvents: true})
		for range 1000 {
			s.Fail(fakes.VerbList, fakes.Status(403, "pods is forbidden"))
		}
		r := newRig(t, s, informer.Options{SyncTimeout: time.Minute}).start()
		begin := time.Now()
		err := r.WaitForSync(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, listwatch.ErrForbidden)
		require.ErrorContains(t, err, "informer pods is not synced")
		require.ErrorContains(t, err, "pods is forbidden")
		require.Equal(t, time.Minute, time.Since(begin))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.WaitForSync(ctx), context.DeadlineExceeded)
	})
}

// Scenario 22, as the informer shows it.
func TestStopsWhileTheSourceHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newServer(fakes.Options[*object]{NoInitialEvents: true, Hooks: fakes.Hooks{
			BeforeList: func(context.Context, listwatch.ListOptions) error { <-release; return nil }, // deaf to ctx
		}})
		r := newRig(t, s, informer.Options{}).start()
		synctest.Wait()
		begin := time.Now()
		r.stop()
		require.LessOrEqual(t, time.Since(begin), 200*time.Millisecond)
		close(release)
		synctest.Wait()
		require.Zero(t, r.Indexer().Len())
	})
}

// Scenario 65.
func TestRunWaitsForHandlers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		for _, name := range []string{"a", "b", "c"} {
			r.put(name, "1")
		}
		told := make(chan string, 10)
		reg := r.handle(func(_ context.Context, c change) {
			time.Sleep(300 * time.Millisecond)
			told <- c.Key.Name
		}, informer.HandlerOptions{})
		r.start()
		time.Sleep(400 * time.Millisecond) // in the middle of the second call
		r.stop()
		close(told) // a send after this would panic
		require.Len(t, told, 2)
		<-reg.Done()
		require.ErrorIs(t, reg.Err(), listwatch.ErrStopped)
		require.False(t, reg.Synced().Fired())
	})
}

// Scenario 65, of one handler.
func TestDoneWaitsForTheLastCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "1")
		r.put("b", "1")
		var returned atomic.Int64
		begin := time.Now()
		reg := r.handle(func(context.Context, change) {
			time.Sleep(300 * time.Millisecond)
			returned.Add(1)
		}, informer.HandlerOptions{})
		r.start().sync()
		time.Sleep(100 * time.Millisecond)
		reg.Remove()
		require.Zero(t, returned.Load())
		<-reg.Done()
		require.Equal(t, 300*time.Millisecond, time.Since(begin))
		r.put("c", "1")
		r.sync()
		require.EqualValues(t, 1, returned.Load())
	})
}

func TestReachedFollowsEventsAndBookmarks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{}).start().sync()
		require.True(t, r.Reached(r.server.Version()).Fired())
		future := r.Reached("1000")
		written := r.put("a", "1")
		<-r.Reached(written.ResourceVersion).Done()
		_, held := r.Indexer().Get(key("a"))
		require.True(t, held)
		r.server.Advance(2000)
		synctest.Wait()
		require.False(t, future.Fired(), "nothing said so yet")
		r.server.Bookmark()
		<-future.Done()
		require.Equal(t, r.server.Version(), r.Health().Version)
	})
}

func TestReachedOfOpaqueVersions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		events := make(chan listwatch.Event[*object])
		s := listwatch.Funcs[*object]{
			ListFunc: func(context.Context, listwatch.ListOptions, func(...*object) error) (listwatch.ListMeta, error) {
				return listwatch.ListMeta{ResourceVersion: "v1"}, nil
			},
			WatchFunc: func(ctx context.Context, _ listwatch.WatchOptions, each func(...listwatch.Event[*object]) error) error {
				for {
					select {
					case e := <-events:
						if err := each(e); err != nil {
							return err
						}
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			},
		}
		i := informer.New[*object](s, quiet(informer.Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		run := make(chan error)
		go func() { run <- i.Run(ctx) }()
		require.NoError(t, i.WaitForSync(ctx))
		reached := i.Reached("vX")
		events <- listwatch.Event[*object]{Type: listwatch.Bookmark, ResourceVersion: "v2"}
		synctest.Wait()
		require.False(t, reached.Fired())
		events <- listwatch.Event[*object]{Type: listwatch.Bookmark, ResourceVersion: "vX"}
		<-reached.Done()
		cancel()
		require.NoError(t, <-run)
	})
}

// Scenario 115, the client's part: a restored server begins a new epoch.
func TestRestoredServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "old")
		kept := r.server.Version()
		r.put("a", "lost")
		r.put("b", "lost")
		r.server.Advance(1000)
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		r.start().sync()
		d.read()
		waiting := r.Reached("5000")
		require.NoError(t, r.server.Restore(kept))
		r.put("c", "new")
		time.Sleep(time.Hour)
		r.sync()
		require.Equal(t, []string{"Add c new", "Delete b lost unknown", "Update a lost>old"}, sorted(d.read()))
		require.True(t, waiting.Fired(), "nobody waits for a version of another epoch")
		require.Positive(t, r.Health().Source.Restores)
	})
}

// Scenario 59.
func TestPanicsOfOnErrorAreSurvived(t *testing.T) {
	bubble(t, func(t *testing.T) {
		heard := 0
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{OnError: func(err error) {
			heard++
			panic(err)
		}})
		r.server.Fail(fakes.VerbWatch, fakes.Status(500, "boom"))
		r.put("a", "1")
		r.handle(func(context.Context, change) { panic("in the handler") }, informer.HandlerOptions{})
		r.start().sync()
		r.put("b", "1")
		r.sync()
		require.GreaterOrEqual(t, heard, 3)
	})
}

func TestSourceFailureIsHeard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var heard []error
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{OnError: func(err error) { heard = append(heard, err) }})
		r.server.Fail(fakes.VerbWatch, fakes.Status(401, "who are you"), fakes.Status(401, "who are you"))
		r.start().sync()
		require.Len(t, heard, 2)
		require.ErrorIs(t, errors.Join(heard...), listwatch.ErrUnauthorized)
	})
}

// The store says that it is at a version only when it is exactly that state.
func TestVersionIsExactOrNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var r *rig
		var during []string
		s := newServer(fakes.Options[*object]{NoInitialEvents: true, Hooks: fakes.Hooks{
			BeforeList: func(_ context.Context, o listwatch.ListOptions) error {
				synctest.Wait() // the page before is in the store
				if o.Continue != "" {
					during = append(during, fmt.Sprintf("%d at %q", r.Indexer().Len(), r.Indexer().Version()))
				}
				return nil
			},
		}})
		o := informer.Options{}
		o.Reflector.PageSize = 2
		r = newRig(t, s, o)
		for n := range 5 {
			r.put(fmt.Sprint(n), "1")
		}
		r.start().sync()
		require.Equal(t, []string{`2 at ""`, `4 at ""`}, during)
		require.Equal(t, s.Version(), r.Indexer().Version())
		r.put("0", "2")
		r.sync()
		objects, version := r.Indexer().Snapshot()
		require.Len(t, objects, 5)
		require.Equal(t, s.Version(), version)

		s.Pause()
		for n := range 5 {
			r.put(fmt.Sprint(n), "3")
		}
		require.NoError(t, s.Compact(s.Version()))
		during = nil
		s.Resume()
		time.Sleep(time.Minute)
		r.sync()
		require.Equal(t, []string{`5 at ""`, `5 at ""`}, during, "a relist between two states")
		require.Equal(t, s.Version(), r.Indexer().Version())
	})
}

func TestReachedOfNothingAndShared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{SyncTimeout: time.Second})
		require.True(t, r.Reached("").Fired(), "it asks for nothing")
		require.Same(t, r.Reached("77"), r.Reached("77"))
		require.ErrorContains(t, r.WaitForSync(t.Context()), "Run has not been called")
		r.start().sync()
	})
}

func TestPanicsAreTyped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var heard []error
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{OnError: func(err error) { heard = append(heard, err) }})
		boom := errors.New("boom")
		r.handle(func(context.Context, change) { panic(boom) }, informer.HandlerOptions{Name: "bomb"})
		r.put("a", "1")
		r.start().sync()
		require.Len(t, heard, 1)
		var panicked *informer.PanicError
		require.ErrorAs(t, heard[0], &panicked)
		require.ErrorIs(t, heard[0], boom)
		require.Equal(t, "informer pods: bomb: panic at ns/a: boom", heard[0].Error())
		require.Contains(t, string(panicked.Stack), "TestPanicsAreTyped")
		require.NoError(t, (&informer.PanicError{Value: 7}).Unwrap())
	})
}
