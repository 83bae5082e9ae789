package informer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

func TestOverlayOptions(t *testing.T) {
	t.Parallel()
	i := informer.New[*object](newServer(fakes.Options[*object]{}), quiet(informer.Options{}))
	require.PanicsWithValue(t, "informer pods: overlay: option Size is -1\noption Expire is -1s", func() {
		informer.NewOverlay(i, informer.OverlayOptions{Size: -1, Expire: -time.Second})
	})
}

// Scenario 79: what had to make room is missing, and Whole says so until the cache has it.
func TestOverlaySaysWhatItHasLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOwnRig(t, informer.OverlayOptions{Size: 2})
		r.wrote("a", "new")
		r.wrote("b", "new")
		r.wrote("a", "newer") // reading moves nothing, writing does
		r.shows("b", "new")
		require.True(t, r.own.Whole())
		r.wrote("n", "new")
		r.shows("b", "old")
		r.shows("a", "newer")
		require.False(t, r.own.Whole())
		caught := r.own.Caught()
		require.False(t, caught.Fired())
		whole := false
		caught.AfterFunc(func() { whole = r.own.Whole() })
		r.release()
		require.True(t, whole)
		r.asTheCache()
	})
}

// Scenario 128: the cache may be late for as long as Expire. Then it is believed, so that nothing
// waits for ever.
func TestOverlayExpires(t *testing.T) {
	for _, o := range []informer.OverlayOptions{{}, {Expire: time.Minute}, {Size: 1, Expire: time.Minute}} {
		t.Run(fmt.Sprint(o), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOwnRig(t, o)
				begin := time.Now()
				r.wrote("a", "new")
				r.wrote("n", "new")
				r.dropped("b")
				expire := 10 * time.Minute
				if o.Expire != 0 {
					expire = o.Expire
				}
				time.Sleep(expire - time.Nanosecond)
				r.shows("n", "new")
				r.shows("b", "")
				require.Equal(t, o.Size != 1, r.own.Whole())
				require.False(t, r.own.Caught().Fired())
				time.Sleep(time.Nanosecond)
				require.Equal(t, expire, time.Since(begin))
				r.shows("a", "old")
				r.shows("b", "old")
				r.shows("n", "")
				require.True(t, r.own.Whole(), "it gave up")
				require.Equal(t, r.Indexer().List(), r.own.List())
				r.release()
				r.asTheCache()
			})
		})
	}
}

// While a batch is not all that is queued, the store is ahead of the version.
func TestOverlayInTheMiddleOfChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		step := make(chan struct{})
		index, err := indexer.AddIndex(r.Indexer(), "value", func(o *object) []string {
			if o.Value == "block" {
				<-step
			}
			return []string{o.Value}
		})
		require.NoError(t, err)
		own := &ownRig{rig: r.start().sync(), own: informer.NewOverlay(r.pods, informer.OverlayOptions{}), index: index}
		r.put("1", "block")
		synctest.Wait()
		r.put("n", "old") // queued first, with all that happens to it before its turn comes
		r.put("m", "old")
		for n := range 1500 { // more than one batch
			r.put(fmt.Sprint("x", n), "old")
		}
		own.wrote("n", "new")
		r.drop("n")
		late := r.put("m", "new")
		r.drop("m")
		r.put("2", "block")
		synctest.Wait()
		own.shows("n", "new")
		step <- struct{}{}
		synctest.Wait()
		require.Equal(t, 1+1018, r.Indexer().Len()) // n and m have three changes each
		require.Empty(t, r.Indexer().Version())
		own.shows("n", "") // though its version is not passed yet
		require.True(t, own.own.Whole())
		own.own.Wrote(late)
		own.shows("m", "new")
		require.False(t, own.own.Whole(), "the cache may know better")
		step <- struct{}{}
		r.sync()
		own.shows("m", "")
		own.asTheCache()
	})
}

// opaque is a source of versions that can't be ordered. Its events come from a channel.
func opaque(events <-chan []listwatch.Event[*object]) listwatch.Funcs[*object] {
	return listwatch.Funcs[*object]{
		ListFunc: func(context.Context, listwatch.ListOptions, func(...*object) error) (listwatch.ListMeta, error) {
			return listwatch.ListMeta{ResourceVersion: "start"}, nil
		},
		WatchFunc: func(ctx context.Context, _ listwatch.WatchOptions, each func(...listwatch.Event[*object]) error) error {
			for {
				select {
				case e := <-events:
					if err := each(e...); err != nil {
						return err
					}
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		},
	}
}

func state(t listwatch.EventType, name, version string) listwatch.Event[*object] {
	o := named(name, version)
	o.ResourceVersion = version
	return listwatch.Event[*object]{Type: t, Object: o, ResourceVersion: version}
}

// Versions that can't be ordered: the cache wins as soon as it takes another state.
func TestOverlayOfOpaqueVersions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		events := make(chan []listwatch.Event[*object])
		r := &rig{pods: informer.New[*object](opaque(events), quiet(informer.Options{})), t: t, run: make(chan error, 1)}
		r.start()
		tell := func(e ...listwatch.Event[*object]) { events <- e; synctest.Wait() }
		own := informer.NewOverlay(r.pods, informer.OverlayOptions{Size: 2})
		value := func(name string) string {
			if o, ok := own.Get(key(name)); ok {
				return o.Value
			}
			return ""
		}
		tell(state(listwatch.Added, "a", "v1"), state(listwatch.Added, "b", "v2"))
		own.Wrote(state(listwatch.Modified, "a", "w1").Object)
		own.Deleted(state(listwatch.Modified, "b", "v2").Object)
		require.Equal(t, []string{"w1", ""}, []string{value("a"), value("b")})
		caught := own.Caught()
		tell(state(listwatch.Added, "c", "v3"))
		require.Equal(t, []string{"w1", ""}, []string{value("a"), value("b")})
		tell(state(listwatch.Modified, "a", "v4"), state(listwatch.Deleted, "b", "v5"), state(listwatch.Added, "b", "v6"))
		require.Equal(t, []string{"v4", "v6"}, []string{value("a"), value("b")})
		own.Wrote(state(listwatch.Modified, "a", "v4").Object)
		require.Equal(t, r.Indexer().List(), own.List())
		own.Wrote(state(listwatch.Added, "d", "w2").Object)
		own.Wrote(state(listwatch.Added, "e", "w3").Object)
		own.Wrote(state(listwatch.Added, "f", "w4").Object)
		require.Equal(t, []string{"", "w3", "w4"}, []string{value("d"), value("e"), value("f")})
		require.True(t, own.Whole(), "nobody can tell when the cache has it")
		tell(listwatch.Event[*object]{Type: listwatch.Bookmark, ResourceVersion: "w3"})
		require.Empty(t, value("e"), "the collection stands there without it")
		time.Sleep(10 * time.Minute)
		require.Empty(t, value("f"))
		require.False(t, caught.Fired())
	})
}

// A deletion costs no memory for longer than it hides something, or may come to.
func TestOverlayForgetsDeletions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOwnRig(t, informer.OverlayOptions{Size: 10})
		r.dropped("a")
		for n := range 1000 {
			r.dropped(r.wrote(fmt.Sprint("n", n), "new").Name)
		}
		r.shows("a", "")
		require.False(t, r.own.Whole(), "some deletions of what the cache does not hold had to make room")
		r.release()
		r.asTheCache()
	})
}

// An index function that panics fails for the object alone.
func TestLookWithFaultyIndex(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var heard []error
		s := newServer(fakes.Options[*object]{})
		r := newRig(t, s, informer.Options{OnError: func(err error) { heard = append(heard, err) }}).start().sync()
		index, err := indexer.AddIndex(r.Indexer(), "value", func(o *object) []any {
			switch o.Value {
			case "boom":
				panic(errors.New("boom"))
			case "slice":
				return []any{[]int{1}}
			}
			return []any{o.Value}
		})
		require.NoError(t, err)
		own := informer.NewOverlay(r.pods, informer.OverlayOptions{})
		s.Pause()
		synctest.Wait()
		for _, value := range []string{"fine", "boom", "slice"} {
			own.Wrote(r.put(value, value))
		}
		found := informer.Look[*object, any](own, index, "fine")
		require.Len(t, found, 1)
		require.Equal(t, "fine", found[0].Value)
		require.Len(t, heard, 2)
		var fault *indexer.Fault
		require.ErrorAs(t, heard[0], &fault)
		require.Equal(t, key("boom"), fault.Key)
	})
}

// Each step sees its own writes, whatever the watch and others do at the same time.
func TestOverlayIsSafeForConcurrentUse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{}).start().sync()
		own := informer.NewOverlay(r.pods, informer.OverlayOptions{Size: 1000})
		var steps sync.WaitGroup
		for n := range 4 {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			steps.Go(func() {
				name := fmt.Sprint("k", n)
				for range 300 {
					if rng.IntN(20) == 0 {
						time.Sleep(time.Millisecond)
					}
					o, exists := own.Get(key(name))
					if exists && rng.IntN(3) == 0 {
						if _, err := r.server.Delete(key(name), fakes.Preconditions{UID: o.UID}); err != nil {
							t.Errorf("%s: %v", name, err)
						}
						own.Deleted(o)
					} else if made, err := r.server.Put(named(name, fmt.Sprint(rng.Int()))); err != nil {
						t.Error(err)
					} else {
						own.Wrote(made)
						o, exists = own.Get(key(name))
						if !exists || o.ResourceVersion != made.ResourceVersion {
							t.Errorf("%s: wrote %v, see %v", name, made, o)
						}
						continue
					}
					if o, exists := own.Get(key(name)); exists {
						t.Errorf("%s was deleted, and is there: %v", name, o)
					}
					if len(own.List()) > 4 {
						t.Error("something is there twice")
					}
				}
			})
		}
		steps.Wait()
		r.sync()
		require.Equal(t, byKey(r.Indexer().List()), byKey(own.List()))
	})
}

// When Run has ended the overlay still reads, and expires.
func TestOverlayAfterRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOwnRig(t, informer.OverlayOptions{})
		r.wrote("a", "new")
		r.stop()
		r.wrote("n", "new")
		r.shows("a", "new")
		r.shows("n", "new")
		require.False(t, r.own.Caught().Fired())
		time.Sleep(10 * time.Minute)
		require.Equal(t, r.Indexer().List(), r.own.List())
	})
}
