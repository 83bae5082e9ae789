package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// behind lets things happen that no watch sees, so that a list must find them.
func (r *rig) behind(f func()) *rig {
	r.t.Helper()
	r.server.Pause()
	synctest.Wait()
	f()
	r.server.Advance(1)
	require.NoError(r.t, r.server.Compact(r.server.Version()))
	r.server.Cut(nil)
	r.server.Resume()
	time.Sleep(time.Minute)
	return r.sync()
}

// Scenario 5.
func TestRelistTellsChangesWithoutResync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "1")
		var never, unset diary
		r.handle(never.handle, informer.HandlerOptions{Resync: -1})
		r.handle(unset.handle, informer.HandlerOptions{})
		r.start().sync()
		never.read()
		unset.read()
		r.behind(func() {
			r.put("a", "5")
			r.put("b", "1")
		})
		want := []string{"Add b 1", "Update a 1>5"}
		require.Equal(t, want, sorted(never.read()))
		require.Equal(t, want, sorted(unset.read()))
		require.EqualValues(t, 2, r.Health().Source.Lists, "no watch told of it")
	})
}

// Scenario 6: a relist of unchanged objects is quiet.
func TestQuietRelist(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		for n := range 100 {
			r.put(fmt.Sprint(n), "1")
		}
		var quiet, resynced diary
		r.handle(quiet.handle, informer.HandlerOptions{})
		r.handle(resynced.handle, informer.HandlerOptions{Resync: time.Second})
		r.start().sync()
		before := byKey(r.Indexer().List())
		lists := r.Health().Source.Lists
		quiet.read()
		resynced.forget()
		r.behind(func() {})
		require.Greater(t, r.Health().Source.Lists, lists, "it did list again")
		require.Empty(t, quiet.read())
		require.GreaterOrEqual(t, len(resynced.all), 59*100)
		for _, c := range resynced.all {
			require.True(t, c.Resync)
			require.Same(t, c.Old, c.Object)
		}
		for k, o := range byKey(r.Indexer().List()) {
			require.Same(t, before[k], o)
		}
	})
}

func TestHourlyRelistRepairsSilentLoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "1")
		r.put("b", "1")
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		r.start().sync()
		d.read()
		time.Sleep(3 * time.Hour)
		r.sync()
		require.Empty(t, d.read())
		require.Zero(t, r.Health().Drift)
		r.server.Drop(3)
		r.put("a", "2")
		r.put("c", "1")
		r.drop("b")
		time.Sleep(3 * time.Hour)
		r.sync()
		require.Equal(t, []string{"Add c 1", "Delete b 1 unknown", "Update a 1>2"}, sorted(d.read()))
		require.EqualValues(t, 3, r.Health().Drift)
	})
}

// Scenario 56.
func TestRelistNeverPassesThroughEmpty(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var r *rig
		var slow atomic.Bool
		s := newServer(fakes.Options[*object]{NoInitialEvents: true, Hooks: fakes.Hooks{
			BeforeList: func(ctx context.Context, _ listwatch.ListOptions) error {
				if slow.Load() {
					time.Sleep(20 * time.Millisecond)
				}
				return nil
			},
		}})
		o := informer.Options{}
		o.Reflector.PageSize = 50
		r = newRig(t, s, o)
		for n := range 1000 {
			r.put(fmt.Sprint(n), "1")
		}
		r.start().sync()
		slow.Store(true)
		lists := r.Health().Source.Lists
		stop := make(chan struct{})
		var reads atomic.Int64
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					reads.Add(1)
					if n := r.Indexer().Len(); n != 1000 {
						t.Errorf("%d objects", n)
						return
					}
				}
			}
		}()
		r.behind(func() {})
		close(stop)
		require.Equal(t, lists+1, r.Health().Source.Lists)
		require.Greater(t, reads.Load(), int64(400), "a page takes 20 ms")
	})
}

// Scenario 74.
func TestNewIdentityIsDeleteAndAdd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		index, err := indexer.AddIndex(r.Indexer(), "node", indexer.One(func(o *object) string { return o.Value }))
		require.NoError(t, err)
		r.put("p", "n1")
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		r.start().sync()
		d.read()
		old := d.all[0].Object
		r.behind(func() {
			r.drop("p")
			r.put("p", "none")
		})
		require.Equal(t, []string{"Delete p n1 unknown", "Add p none"}, d.read())
		require.Equal(t, old.UID, d.all[1].Object.UID)
		require.NotEqual(t, old.UID, d.all[2].Object.UID)
		require.Empty(t, index.Get("n1"))
		require.Equal(t, []listwatch.Key{key("p")}, index.Keys("none"))

		// The same while it is watched, and while a handler is far behind.
		release := make(chan struct{})
		var slow diary
		behind := r.handle(func(ctx context.Context, c change) {
			<-release
			slow.handle(ctx, c)
		}, informer.HandlerOptions{Backlog: 1})
		synctest.Wait()
		r.drop("p")
		r.put("p", "n3")
		r.sync()
		require.Equal(t, []string{"Delete p none", "Add p n3"}, d.read())
		r.put("p", "n4")
		r.sync()
		require.Equal(t, []string{"Update p n3>n4"}, d.read())
		require.True(t, behind.Stats().Behind)
		close(release)
		r.sync()
		require.Equal(t, []string{"Add p none initial", "Delete p none", "Add p n4"}, slow.read())

		// And when the watch loses the deletion.
		r.server.Drop(1)
		r.drop("p")
		r.put("p", "n5")
		r.sync()
		require.Equal(t, []string{"Delete p n4 unknown", "Add p n5"}, d.read())
		require.Equal(t, []string{"n5"}, slices.Collect(index.Values()))
	})
}

// Scenario 75: every layer gets along with a delete that nobody saw.
func TestUnknownDeletePassesAllLayers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		s1 := r.put("s1", "in")
		var filtered, plain diary
		r.handle(informer.Filter(func(o *object) bool { return o.Value == "in" }, filtered.handle), informer.HandlerOptions{})
		r.handle(plain.handle, informer.HandlerOptions{})
		own := workqueue.New[listwatch.Key](workqueue.Options{})
		owners := workqueue.New[string](workqueue.Options{})
		_, err := informer.Enqueue(t.Context(), r.pods, own)
		require.NoError(t, err)
		_, err = informer.EnqueueOf(t.Context(), r.pods, owners, func(o *object) []string { return []string{o.Value} })
		require.NoError(t, err)
		r.start().sync()
		require.Equal(t, []listwatch.Key{key("s1")}, drain(t, own))
		require.Equal(t, []string{"in"}, drain(t, owners))
		r.behind(func() { r.drop("s1") })
		require.Equal(t, []listwatch.Key{key("s1")}, drain(t, own))
		require.Equal(t, []string{"in"}, drain(t, owners))
		for _, d := range []*diary{&filtered, &plain} {
			require.Equal(t, []string{"Add s1 in initial", "Delete s1 in unknown"}, d.read())
			gone := d.all[1]
			require.Equal(t, key("s1"), listwatch.KeyOf(gone.Object))
			require.Equal(t, s1.UID, gone.Object.UID)
		}
	})
}

// Scenario 77, 59.
func TestTransformRunsOncePerObject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer(fakes.Options[*object]{})
		flipped := map[*object]bool{}
		calls := 0
		source := listwatch.Transform[*object](s, func(o *object) (*object, error) {
			calls++
			if flipped[o] || o.Value == "flipped" {
				return nil, errors.New("flipped before")
			}
			if o.Value == "refuse" {
				return nil, errors.New("refused")
			}
			o.Value = "flipped"
			flipped[o] = true
			return o, nil
		})
		var heard []error
		i := informer.New(source, quiet(informer.Options{OnError: func(err error) { heard = append(heard, err) }}))
		r := &rig{pods: i, t: t, server: s, run: make(chan error, 1)}
		for n := range 10 {
			r.put(fmt.Sprint(n), "raw")
		}
		var d diary
		r.handle(d.handle, informer.HandlerOptions{Resync: 5 * time.Millisecond})
		r.start()
		require.NoError(t, r.WaitForSync(t.Context()))
		var readers sync.WaitGroup
		for range 5 {
			readers.Go(func() {
				for range 1000 {
					time.Sleep(time.Millisecond)
					for _, o := range r.Indexer().All() {
						if o.Value != "flipped" {
							t.Errorf("%s is %s", o.Name, o.Value)
						}
					}
				}
			})
		}
		for range 10 {
			time.Sleep(50 * time.Millisecond)
			r.put("9", time.Now().String())
		}
		readers.Wait()
		synctest.Wait()
		require.Equal(t, 20, calls)
		resyncs := 0
		for _, c := range d.all {
			if c.Resync {
				resyncs++
			}
		}
		require.Greater(t, resyncs, 1000)
		d.read()

		// An object that vanishes unseen has been transformed when it came.
		s.Drop(1)
		r.drop("0")
		require.NoError(t, s.Compact(s.Version()))
		s.Cut(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Contains(t, d.read(), "Delete 0 flipped unknown")
		require.Equal(t, 20, calls)
		heard = nil

		_, err := s.Put(named("bad", "refuse"))
		require.NoError(t, err)
		r.put("good", "raw")
		synctest.Wait()
		_, held := r.Indexer().Get(key("bad"))
		require.False(t, held)
		_, held = r.Indexer().Get(key("good"))
		require.True(t, held, "the informer lives on")
		require.NotZero(t, r.Health().Source.Gaps)
		require.Len(t, heard, 1)
		require.ErrorContains(t, heard[0], "transform of ns/bad: refused")
	})
}

// Nobody was told of the life that ends here: what the handler holds vanished unseen before.
func TestDeleteOfAnIdentityNeverSeen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		first := r.put("a", "first")
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		r.start().sync()
		r.server.Drop(2)
		r.drop("a")
		r.put("a", "second")
		r.drop("a")
		r.sync()
		require.Equal(t, []string{"Add a first initial", "Delete a first unknown"}, d.read())
		require.Equal(t, first.UID, d.all[1].Object.UID)
		require.Equal(t, first.Value, d.all[1].Object.Value)
	})
}

// Two states are of different identities only when both are known.
func TestUnknownIdentityIsAnUpdate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, i, stop := grow(t)
		var d diary
		_, err := i.AddHandler(t.Context(), d.handle, informer.HandlerOptions{})
		require.NoError(t, err)
		for n, uid := range []string{"", "u", ""} {
			o := named("a", fmt.Sprint(n))
			o.UID, o.ResourceVersion = uid, fmt.Sprint(n+2)
			p.events <- []listwatch.Event[*object]{{Type: listwatch.Modified, Object: o, ResourceVersion: o.ResourceVersion}}
			synctest.Wait()
		}
		require.Equal(t, []string{"Add a 0", "Update a 0>1", "Update a 1>2"}, d.read())
		stop()
	})
}
