package informer_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
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

// Scenario 60.
func TestPanicOfAHandlerStaysItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged bytes.Buffer
		r := &rig{t: t, server: newServer(fakes.Options[*object]{}), run: make(chan error, 1)}
		r.pods = informer.New[*object](r.server, informer.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		var healthy, faulty diary
		r.handle(healthy.handle, informer.HandlerOptions{})
		bad := r.handle(func(ctx context.Context, c change) {
			if c.Key.Name == "2" {
				panic("no")
			}
			faulty.handle(ctx, c)
		}, informer.HandlerOptions{Name: "faulty"})
		r.start().sync()
		for n := 1; n <= 5; n++ {
			r.put(fmt.Sprint(n), "x")
		}
		r.sync()
		require.Equal(t, []string{"Add 1 x", "Add 2 x", "Add 3 x", "Add 4 x", "Add 5 x"}, healthy.read())
		require.Equal(t, []string{"Add 1 x", "Add 3 x", "Add 4 x", "Add 5 x"}, faulty.read())
		require.Equal(t, informer.HandlerStats{Name: "faulty", Delivered: 5, Panics: 1, Synced: true}, bad.Stats())
		require.Equal(t, 1, strings.Count(logged.String(), `error="informer informer: faulty: panic at ns/2: no"`))
	})
}

func TestHandlerThatEndsItsGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		reg := r.handle(func(context.Context, change) { runtime.Goexit() }, informer.HandlerOptions{})
		r.start().sync()
		r.put("a", "1")
		<-reg.Done()
		require.ErrorContains(t, reg.Err(), "ended its goroutine")
		r.sync()
		require.Empty(t, r.Stats().Handlers)
	})
}

// Scenario 68.
func TestSyncedMeansDelivered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		for n := range 100 {
			r.put(fmt.Sprint(n), "1")
		}
		var adds atomic.Int64
		slow := func(context.Context, change) {
			time.Sleep(10 * time.Millisecond)
			adds.Add(1)
		}
		early := r.handle(slow, informer.HandlerOptions{})
		begin := time.Now()
		r.start().sync()
		require.True(t, r.Synced().Fired())
		require.False(t, early.Synced().Fired())
		require.Zero(t, adds.Load())
		<-early.Synced().Done()
		require.Equal(t, int64(100), adds.Load())
		require.Equal(t, time.Second, time.Since(begin))
		another := r.handle(slow, informer.HandlerOptions{})
		require.False(t, another.Synced().Fired())
		<-another.Synced().Done()
		require.Equal(t, int64(200), adds.Load(), "its own initial adds")
		another.Remove()

		var d diary
		r.put("x", "1")
		r.sync()
		late := r.handle(informer.Filter(func(o *object) bool { return o.Name == "x" }, d.handle), informer.HandlerOptions{})
		<-late.Synced().Done()
		require.Equal(t, []string{"Add x 1 initial"}, d.read())
	})
}

// Scenario 68.
func TestEmptyCollectionSyncsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		early := r.handle((&diary{}).handle, informer.HandlerOptions{})
		r.start()
		<-early.Synced().Done()
		late := r.handle((&diary{}).handle, informer.HandlerOptions{})
		<-late.Synced().Done()
		require.True(t, r.Synced().Fired())
	})
}

// The signal fires right behind the last initial add, also when live changes wait in the mailbox.
func TestSyncedFiresBetweenInitialAndLive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		for n := range 100 {
			r.put(fmt.Sprint(n), "1")
		}
		r.start().sync()
		for _, policy := range []informer.Policy{informer.Coalesce, informer.EveryEvent} {
			release := make(chan struct{})
			told, atSync := 0, 0
			reg := r.handle(func(context.Context, change) {
				<-release
				told++
			}, informer.HandlerOptions{Policy: policy, Backlog: 1 + 99*int(policy)})
			reg.Synced().AfterFunc(func() { atSync = told })
			synctest.Wait()
			for n := range 10 {
				r.put(fmt.Sprint("live", n), fmt.Sprint(policy))
			}
			synctest.Wait()
			close(release)
			r.sync()
			require.Equal(t, 100+10*int(policy), atSync)
			require.Equal(t, atSync+10, told)
		}
	})
}

// Scenario 67.
func TestLateHandlerMissesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{History: 100_000}), informer.Options{})
		for n := range 1000 {
			r.put(fmt.Sprint(n), "0")
		}
		r.start().sync()
		var writer sync.WaitGroup
		writer.Go(func() {
			for n := range 5000 {
				name := fmt.Sprint(n % 1000)
				if n%7 == 0 {
					_, _ = r.server.Delete(key(name), fakes.Preconditions{})
				} else {
					_, _ = r.server.Put(named(name, fmt.Sprint(n)))
				}
				if n%100 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
		var recorders []*fakes.Recorder[*object]
		initial := make([]int, 20)
		for n := range initial {
			rec := &fakes.Recorder[*object]{}
			recorders = append(recorders, rec)
			policy := informer.Policy(n % 2)
			reg := r.handle(rec.Handle, informer.HandlerOptions{Policy: policy, Backlog: 1 + n*1000*int(policy)})
			reg.Synced().AfterFunc(func() { initial[n] = len(rec.Changes()) })
			time.Sleep(2 * time.Millisecond)
		}
		writer.Wait()
		r.sync()
		for n, rec := range recorders {
			require.NoError(t, rec.Err())
			require.Equal(t, byKey(r.server.Objects()), rec.Held())
			require.Positive(t, initial[n])
			for at, c := range rec.Changes() {
				require.Equal(t, at < initial[n], c.Initial, "change %d of handler %d, synced after %d", at, n, initial[n])
			}
		}
	})
}

func TestBlockedHandlerIsFoldedPerKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		release := make(chan struct{})
		var d diary
		blocked := r.handle(func(ctx context.Context, c change) {
			<-release
			d.handle(ctx, c)
		}, informer.HandlerOptions{Backlog: 10})
		var healthy diary
		r.handle(healthy.handle, informer.HandlerOptions{})
		r.start().sync()
		r.put("first", "1")
		synctest.Wait() // the handler is in its call
		for n := range 1000 {
			r.put("a", fmt.Sprint(n))
			r.put("b", fmt.Sprint(n))
			synctest.Wait()
		}
		r.drop("b")
		r.sync()
		stats := blocked.Stats()
		require.True(t, stats.Behind)
		require.LessOrEqual(t, stats.Pending, uint64(3))
		require.Len(t, healthy.read(), 2002)
		close(release)
		synctest.Wait()
		require.Equal(t, []string{"Add first 1", "Add a 999"}, d.read(), "a added and updated is an add, b came and went unseen")
		require.False(t, blocked.Stats().Behind)
		r.put("a", "next")
		synctest.Wait()
		require.Equal(t, []string{"Update a 999>next"}, d.read())
	})
}

// A handler that is just its backlog behind is not folded; one change more and it is.
func TestCoalesceBeginsBeyondTheBacklog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		var d diary
		var release chan struct{}
		reg := r.handle(func(ctx context.Context, c change) {
			<-release
			d.handle(ctx, c)
		}, informer.HandlerOptions{Backlog: 3})
		r.start().sync()
		for _, row := range []struct {
			changes int
			want    []string
		}{
			{3, []string{"Add a 0", "Update a 0>1", "Update a 1>2", "Update a 2>3"}},
			{4, []string{"Update a 3>0", "Update a 0>4"}},
		} {
			release = make(chan struct{})
			for n := range row.changes + 1 { // the first one is in the call
				r.put("a", fmt.Sprint(n))
				synctest.Wait()
			}
			require.Equal(t, row.changes > 3, reg.Stats().Behind)
			close(release)
			synctest.Wait()
			require.Equal(t, row.want, d.read())
		}
	})
}

func TestEveryEventEndsWithOverrun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		for n := range 150 { // more than a run
			r.put(fmt.Sprint(n), "1")
		}
		release := make(chan struct{})
		var d diary
		reg := r.handle(func(ctx context.Context, c change) {
			<-release
			d.handle(ctx, c)
		}, informer.HandlerOptions{Policy: informer.EveryEvent, Backlog: 20})
		var all diary
		r.handle(all.handle, informer.HandlerOptions{Policy: informer.EveryEvent, Backlog: 20})
		r.start().sync()
		require.NoError(t, reg.Err(), "the first list does not count")
		for n := range 20 {
			r.put("a", fmt.Sprint(n))
			synctest.Wait()
		}
		require.NoError(t, reg.Err())
		r.put("a", "one too many")
		synctest.Wait()
		require.ErrorIs(t, reg.Err(), informer.ErrOverrun)
		close(release)
		<-reg.Done()
		require.Len(t, d.read(), 1, "the call that was under way")
		require.Len(t, all.read(), 171)
		require.Len(t, r.Stats().Handlers, 1)
	})
}

func TestRemoveFromAnywhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "1")
		r.put("b", "1")
		r.start().sync()

		ctx, leave := context.WithCancel(t.Context())
		calls := 0
		reg, err := r.AddHandler(ctx, func(context.Context, change) { calls++; leave() }, informer.HandlerOptions{})
		require.NoError(t, err)
		<-reg.Done()
		require.Equal(t, 1, calls, "left from inside the first call")
		require.ErrorIs(t, reg.Err(), context.Canceled)

		var own *informer.Registration
		ready := make(chan struct{})
		own = r.handle(func(context.Context, change) {
			<-ready
			calls++
			own.Remove()
			own.Remove()
		}, informer.HandlerOptions{})
		close(ready)
		<-own.Done()
		require.Equal(t, 2, calls)
		require.NoError(t, own.Err())

		idle := r.handle((&diary{}).handle, informer.HandlerOptions{})
		synctest.Wait()
		idle.Remove()
		<-idle.Done()
		require.Empty(t, r.Stats().Handlers)
		_, err = r.AddHandler(ctx, (&diary{}).handle, informer.HandlerOptions{})
		require.ErrorIs(t, err, context.Canceled)
		_, err = r.AddHandler(t.Context(), (&diary{}).handle, informer.HandlerOptions{Policy: 9, Backlog: -1})
		require.ErrorContains(t, err, "unknown Policy(9)")
		require.ErrorContains(t, err, "negative backlog -1")
		_, err = r.AddHandler(t.Context(), nil, informer.HandlerOptions{})
		require.EqualError(t, err, "informer pods: handler handler: no function")
	})
}

// Scenario 11: when a handler is told, the store and its indexes show that state.
func TestCacheBeforeHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer(fakes.Options[*object]{})
		r := newRig(t, s, informer.Options{})
		index, err := indexer.AddIndex(r.Indexer(), "value", indexer.One(func(o *object) string { return o.Value }))
		require.NoError(t, err)
		for _, name := range []string{"p1", "p2", "p3"} {
			r.put(name, "old")
		}
		var story []string
		r.handle(func(_ context.Context, c change) {
			held, ok := r.Indexer().Get(c.Key)
			if c.Type == informer.Delete {
				require.False(t, ok)
				story = append(story, "Delete "+c.Key.Name)
				return
			}
			require.Same(t, c.Object, held)
			require.Contains(t, index.Get(c.Object.Value), c.Object)
			story = append(story, fmt.Sprint(c.Type, " ", c.Key.Name))
		}, informer.HandlerOptions{})
		r.start().sync()
		story = nil
		s.Pause()
		synctest.Wait()
		r.put("p1", "new")
		r.put("p2", "new")
		r.put("p4", "new")
		r.drop("p3")
		require.NoError(t, s.Compact(s.Version()))
		s.Cut(nil)
		s.Resume()
		time.Sleep(time.Minute)
		r.sync()
		require.Equal(t, []string{"Update p1", "Update p2", "Add p4", "Delete p3"}, story)
	})
}

func TestResyncTellsAllAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{Resync: time.Hour})
		r.put("a", "1")
		r.put("b", "1")
		var hourly, never, every diary
		r.handle(hourly.handle, informer.HandlerOptions{})
		r.handle(never.handle, informer.HandlerOptions{Resync: -1})
		r.start().sync()
		ended := r.handle(every.handle, informer.HandlerOptions{Policy: informer.EveryEvent, Resync: 40 * time.Minute})
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		want := []string{"Add a 1 initial", "Add b 1 initial", "Update a 1>1 resync", "Update b 1>1 resync"}
		require.Equal(t, want, sorted(hourly.read()))
		require.Equal(t, want[:2], sorted(never.read()))
		require.Equal(t, want, sorted(every.read()))
		ended.Remove()
		r.put("a", "2")
		r.drop("b")
		time.Sleep(time.Hour)
		r.sync()
		require.Equal(t, []string{"Delete b 1", "Update a 1>2", "Update a 2>2 resync"}, sorted(hourly.read()))
		require.Equal(t, []string{"Delete b 1", "Update a 1>2"}, sorted(never.read()))
		require.Empty(t, every.read())
	})
}

func TestResyncOfABlockedHandlerDoesNotPileUp(t *testing.T) {
	for _, policy := range []informer.Policy{informer.Coalesce, informer.EveryEvent} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
				rec := &fakes.Recorder[*object]{}
				release := make(chan struct{})
				reg := r.handle(func(ctx context.Context, c change) {
					if c.Object.Value == "block" {
						<-release
					}
					rec.Handle(ctx, c)
				}, informer.HandlerOptions{Resync: time.Second, Policy: policy})
				r.start().sync()
				r.put("a", "1")
				r.put("b", "block")
				synctest.Wait()
				r.put("a", "2")
				r.put("c", "1")
				time.Sleep(time.Hour)
				require.LessOrEqual(t, reg.Stats().Pending, uint64(7))
				close(release)
				r.sync()
				require.NoError(t, rec.Err())
				require.Equal(t, byKey(r.server.Objects()), rec.Held())
			})
		})
	}
}

// Scenario 61.
func TestHandlersAddedWhileRunStarts(t *testing.T) {
	t.Parallel()
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		s := newServer(fakes.Options[*object]{})
		for n := range 5 {
			_, err := s.Put(named(fmt.Sprint(n), "1"))
			require.NoError(t, err)
		}
		i := informer.New[*object](s, quiet(informer.Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { require.NoError(t, i.Run(ctx)) })
		recorders := make([]fakes.Recorder[*object], 10)
		for n := range recorders {
			all.Go(func() {
				reg, err := i.AddHandler(ctx, recorders[n].Handle, informer.HandlerOptions{})
				if err == nil {
					select {
					case <-reg.Synced().Done():
					case <-reg.Done(): // never synced after that
					}
				}
			})
		}
		for n := range recorders {
			require.NoError(t, recorders[n].WaitFor(ctx, func(cs []change) bool { return len(cs) == 5 }))
		}
		cancel()
		all.Wait()
		for n := range recorders {
			require.NoError(t, recorders[n].Err())
			require.Len(t, recorders[n].Changes(), 5)
		}
	}
}

func TestHandlersMayCallTheInformer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		var inner diary
		var once sync.Once
		r.handle(func(ctx context.Context, c change) {
			once.Do(func() {
				_, err := r.AddHandler(ctx, inner.handle, informer.HandlerOptions{})
				require.NoError(t, err)
			})
			r.Health()
			r.Stats()
			r.Reached(c.Object.ResourceVersion)
		}, informer.HandlerOptions{})
		r.start().sync()
		r.put("a", "1")
		r.sync()
		require.Equal(t, []string{"Add a 1 initial"}, inner.read())
	})
}

func TestChangeTypesHaveNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Add Update Delete ChangeType(7)",
		fmt.Sprint(informer.Add, " ", informer.Update, " ", informer.Delete, " ", informer.ChangeType(7)))
}

// Scenario 75: a filter decides by what the handler was told, also on deletes nobody saw.
func TestFilter(t *testing.T) {
	t.Parallel()
	in := named("a", "in")
	out := named("a", "out")
	var got []change
	h := informer.Filter(func(o *object) bool { return o.Value == "in" }, func(_ context.Context, c change) { got = append(got, c) })
	for _, row := range []struct{ give, want change }{
		{change{Type: informer.Add, Object: in, Initial: true}, change{Type: informer.Add, Object: in, Initial: true}},
		{change{Type: informer.Add, Object: out}, change{}},
		{change{Type: informer.Update, Old: in, Object: in}, change{Type: informer.Update, Old: in, Object: in}},
		{change{Type: informer.Update, Old: in, Object: out}, change{Type: informer.Delete, Old: in, Object: out}},
		{change{Type: informer.Update, Old: out, Object: in}, change{Type: informer.Add, Object: in}},
		{change{Type: informer.Update, Old: out, Object: out}, change{}},
		{change{Type: informer.Delete, Old: in, Object: out, Unknown: true}, change{Type: informer.Delete, Old: in, Object: out, Unknown: true}},
		{change{Type: informer.Delete, Old: out, Object: in}, change{}},
	} {
		got = nil
		h(t.Context(), row.give)
		if row.want.Type == 0 {
			require.Empty(t, got)
		} else {
			require.Equal(t, []change{row.want}, got)
		}
	}
	require.Equal(t, listwatch.KeyOf(in), key("a"))
}
