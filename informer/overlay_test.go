package informer_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

// ownRig is a rig whose writes are told to an overlay.
type ownRig struct {
	*rig
	own   *informer.Overlay[*object]
	index *indexer.Index[*object, string]
}

// newOwnRig runs an informer of a server with the objects a to c, whose watches are held up.
func newOwnRig(t *testing.T, o informer.OverlayOptions) *ownRig {
	r := newRig(t, newServer(fakes.Options[*object]{Finalizers: fakes.ObjectFinalizers}), informer.Options{})
	for _, name := range []string{"a", "b", "c"} {
		r.put(name, "old")
	}
	index, err := indexer.AddIndex(r.Indexer(), "value", indexer.One(func(o *object) string { return o.Value }))
	require.NoError(t, err)
	own := &ownRig{rig: r.start().sync(), own: informer.NewOverlay(r.pods, o), index: index}
	own.hold()
	return own
}

// hold has watches tell nothing until release.
func (r *ownRig) hold() { r.server.Pause(); synctest.Wait() }

func (r *ownRig) release() { r.server.Resume(); time.Sleep(time.Minute); r.sync() }

func (r *ownRig) wrote(name, value string) *object {
	o := r.put(name, value)
	r.own.Wrote(o)
	return o
}

// dropped deletes as a client does that is told no version.
func (r *ownRig) dropped(name string) {
	last, ok := r.own.Get(key(name))
	require.True(r.t, ok)
	r.drop(name)
	r.own.Deleted(last)
}

// shows checks all ways of reading for one key; "": it is not there.
func (r *ownRig) shows(name, value string) {
	r.t.Helper()
	o, ok := r.own.Get(key(name))
	require.Equal(r.t, value != "", ok)
	held := byKey(r.own.List())[key(name)]
	require.Same(r.t, o, held)
	for _, v := range []string{"old", "new", "newer", "foreign"} {
		found := byKey(informer.Look(r.own, r.index, v))[key(name)]
		if v != value {
			require.Nil(r.t, found, "it has not the value %s", v)
			continue
		}
		require.Equal(r.t, value, o.Value)
		require.Same(r.t, o, found)
	}
}

// asTheCache checks that nothing stands in front of the cache.
func (r *ownRig) asTheCache() {
	r.t.Helper()
	require.Equal(r.t, r.Indexer().List(), r.own.List())
	require.True(r.t, r.own.Whole())
	require.True(r.t, r.own.Caught().Fired())
	for _, o := range r.Indexer().List() {
		held, _ := r.own.Get(listwatch.KeyOf(o))
		require.Same(r.t, o, held)
	}
}

func TestOverlayShowsOwnWrites(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOwnRig(t, informer.OverlayOptions{})
		r.asTheCache()
		r.wrote("a", "new")
		r.wrote("n", "new")
		r.dropped("b")
		r.shows("a", "new")
		r.shows("b", "")
		r.shows("c", "old")
		r.shows("n", "new")
		require.False(t, r.own.Caught().Fired())
		r.wrote("a", "newer")
		r.dropped("n") // the cache has never seen it
		r.shows("a", "newer")
		r.shows("n", "")
		require.True(t, r.own.Whole())
		caught := r.own.Caught()
		r.release()
		require.True(t, caught.Fired())
		r.asTheCache()
		r.shows("a", "newer")
		r.shows("b", "")
		r.shows("n", "")
	})
}

// Nor is it while a batch is at work, which overlays hear of one after the other: who has seen the store
// finds no less in any of them.
func TestOverlayIsNotBehindTheStoreWithinABatch(t *testing.T) {
	for value, change := range map[string]func(r *ownRig){
		"foreign": func(r *ownRig) { r.put("a", "foreign") },
		"":        func(r *ownRig) { r.drop("a") },
	} {
		t.Run("value "+value, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOwnRig(t, informer.OverlayOptions{})
				for range 300 {
					informer.NewOverlay(r.pods, informer.OverlayOptions{}).Wrote(&object{Meta: listwatch.Meta{Name: "never", ResourceVersion: "1000000"}})
				}
				last := informer.NewOverlay(r.pods, informer.OverlayOptions{})
				last.Wrote(r.put("a", "new"))
				for n := range 300 {
					r.put(fmt.Sprint("other-", n), "old")
				}
				change(r)
				r.server.Resume()
				for {
					if o, ok := r.Indexer().Get(key("a")); !ok || o.Value == value {
						break
					}
					runtime.Gosched()
				}
				o, ok := last.Get(key("a"))
				require.Equal(t, value != "", ok)
				if ok {
					require.Equal(t, value, o.Value)
				}
			})
		})
	}
}

// What the cache knows is never hidden by an older own write, nor brought back by one.
func TestOverlayNeverGoesBehindTheCache(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r *ownRig)
		name string
		want string
	}{
		"changed since":                      {func(r *ownRig) { r.wrote("a", "new"); r.put("a", "foreign") }, "a", "foreign"},
		"deleted since":                      {func(r *ownRig) { r.wrote("a", "new"); r.drop("a") }, "a", ""},
		"created, and deleted since":         {func(r *ownRig) { r.wrote("n", "new"); r.drop("n") }, "n", ""},
		"deleted, and made anew by somebody": {func(r *ownRig) { r.dropped("a"); r.put("a", "foreign") }, "a", "foreign"},
		"deleted, and made anew":             {func(r *ownRig) { r.dropped("a"); r.wrote("a", "new") }, "a", "new"},
		"deleted, made anew, deleted": {
			func(r *ownRig) { r.dropped("a"); r.wrote("a", "new"); r.dropped("a"); r.shows("a", "") }, "a", "",
		},
		"made, deleted, made anew by somebody": {
			func(r *ownRig) { r.wrote("n", "new"); r.dropped("n"); r.put("n", "foreign") }, "n", "foreign",
		},
		"told of late": {
			func(r *ownRig) { o := r.put("a", "new"); r.put("a", "newer"); r.own.Wrote(o); r.own.Wrote(o) }, "a", "newer",
		},
		"told of very late": {
			func(r *ownRig) { o := r.put("a", "new"); r.put("a", "newer"); r.release(); r.own.Wrote(o) }, "a", "newer",
		},
		"told of when it is gone": {
			func(r *ownRig) { o := r.put("n", "new"); r.drop("n"); r.release(); r.own.Wrote(o) }, "n", "",
		},
		"deletion told of when it is gone": {
			func(r *ownRig) { o, _ := r.own.Get(key("a")); r.drop("a"); r.release(); r.own.Deleted(o) }, "a", "",
		},
		"deletion told of when there is another": {
			func(r *ownRig) {
				o, _ := r.own.Get(key("a"))
				r.drop("a")
				r.put("a", "foreign")
				r.release()
				r.own.Deleted(o)
			}, "a", "foreign",
		},
		"deletion told of after the next creation": {
			func(r *ownRig) {
				o, _ := r.own.Get(key("a"))
				r.drop("a")
				r.wrote("a", "new")
				r.own.Deleted(o)
				r.shows("a", "new")
			}, "a", "new",
		},
		"an older answer after a newer one": {
			func(r *ownRig) {
				o := r.put("a", "old2")
				r.wrote("a", "new")
				r.own.Wrote(o)
				r.shows("a", "new")
			}, "a", "new",
		},
		"an older answer after the deletion": {
			func(r *ownRig) {
				o, last := r.put("a", "old2"), r.put("a", "new")
				r.drop("a")
				r.own.Deleted(last)
				r.own.Wrote(o)
				r.shows("a", "")
			}, "a", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOwnRig(t, informer.OverlayOptions{})
				c.do(r)
				r.release()
				r.shows(c.name, c.want)
				r.asTheCache()
			})
		})
	}
}

// Scenario 79: when a handler is told, own writes that were overtaken are out of the way.
func TestOverlayBeforeHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOwnRig(t, informer.OverlayOptions{})
		var saw []string
		r.handle(func(_ context.Context, c change) {
			if o, ok := r.own.Get(c.Key); ok && !c.Initial {
				saw = append(saw, fmt.Sprint(c.Type, " ", o.Value))
			} else if !c.Initial {
				saw = append(saw, fmt.Sprint(c.Type, " nothing"))
			}
		}, informer.HandlerOptions{})
		r.wrote("a", "new")
		r.drop("a")
		r.wrote("b", "new")
		r.put("b", "foreign")
		r.dropped("c")
		r.put("c", "foreign")
		r.release()
		require.Equal(t, []string{
			"Update nothing", "Delete nothing", "Update foreign", "Update foreign", "Delete foreign", "Add foreign",
		}, saw)
	})
}

// A handler that is running when a batch comes reads it from the log by itself: it must find
// overlays as far as the log, also when there are so many that they take their time.
func TestOverlayBeforeRunningHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "none")
		r.start().sync()
		for range 10_000 {
			informer.NewOverlay(r.pods, informer.OverlayOptions{})
		}
		own := informer.NewOverlay(r.pods, informer.OverlayOptions{})
		ticks, told := make(chan struct{}), make(chan struct{})
		var wanted atomic.Pointer[string] // the handler goes on once the store holds a in this version
		r.handle(func(_ context.Context, c change) {
			switch shown, _ := own.Get(key("a")); {
			case c.Initial:
			case c.Key == key("tick"):
				ticks <- struct{}{}
				for v := wanted.Load(); v == nil || shown.ResourceVersion != *v; v = wanted.Load() {
					runtime.Gosched()
					shown, _ = r.Indexer().Get(key("a"))
				}
			default:
				assert.False(t, listwatch.Newer(c.Object.ResourceVersion, shown.ResourceVersion), "%s shown after %s", shown.Value, c.Object.Value)
				if c.Object.Value == "foreign" {
					told <- struct{}{}
				}
			}
		}, informer.HandlerOptions{})
		for n := range 100 {
			wanted.Store(nil)
			r.put("tick", fmt.Sprint(n))
			<-ticks
			r.server.Pause()
			own.Wrote(r.put("a", "mine"))
			wanted.Store(&r.put("a", "foreign").ResourceVersion)
			r.server.Resume()
			<-told
		}
	})
}

// What came and went while nobody looked makes no event: its version ends it, and the signal tells.
func TestOverlayOfWhatWasNeverSeen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOwnRig(t, informer.OverlayOptions{})
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		synctest.Wait()
		d.read()
		r.wrote("n", "new")
		r.wrote("m", "new")
		r.dropped("m")
		again := 0
		r.own.Caught().AfterFunc(func() { again++ })
		r.drop("n")
		require.NoError(t, r.server.Compact(r.server.Version()))
		r.server.Cut(nil)
		r.shows("n", "new")
		r.release()
		require.Empty(t, d.read())
		require.Equal(t, 1, again)
		r.shows("n", "")
		r.shows("m", "")
		r.asTheCache()
	})
}

func TestOverlayOfARestoredServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOwnRig(t, informer.OverlayOptions{Expire: 24 * time.Hour, Size: 2})
		kept := r.server.Version()
		r.server.Advance(1000)
		r.server.Bookmark()
		r.release()
		r.hold()
		for _, name := range []string{"n", "m", "o"} {
			r.wrote(name, "new")
		}
		r.dropped("a")
		r.dropped("o")
		require.False(t, r.own.Whole())
		require.NoError(t, r.server.Restore(kept))
		r.put("p", "old") // the server's versions stay behind those that were written
		r.server.Resume()
		time.Sleep(2 * time.Hour)
		r.sync()
		require.EqualValues(t, 1, r.Health().Epoch)
		r.shows("n", "")
		r.shows("a", "old")
		r.asTheCache()
	})
}

// An object with finalizers, or with a grace, stays for a while.
func TestOverlayOfADeletionThatTakesTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOwnRig(t, informer.OverlayOptions{Expire: time.Hour})
		for _, name := range []string{"f", "g", "h", "k"} {
			_, err := r.server.Create(&object{Meta: named(name, "").Meta, Value: "old", Finalizers: []string{"x"}})
			require.NoError(t, err)
		}
		r.release()
		r.hold()
		r.dropped("f")
		r.dropped("h")
		answer := func(name string) *object {
			o, err := r.server.Delete(key(name), fakes.Preconditions{})
			require.NoError(t, err)
			return o
		}
		r.own.Wrote(answer("g"))
		r.own.Deleted(answer("k"))
		r.shows("k", "")
		seen, _ := r.own.Get(key("g"))
		require.False(t, seen.Deleted.IsZero(), "it is shown as it is now")
		r.shows("f", "")
		r.put("h", "foreign") // its finalizers are gone
		r.release()
		r.shows("f", "") // though the cache holds it
		r.shows("k", "old")
		r.shows("h", "")
		time.Sleep(time.Hour)
		r.shows("f", "old")
		r.asTheCache()
	})
}

// A state that the informer does not select never comes.
func TestOverlayOfWhatLeavesTheSelection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer(fakes.Options[*object]{})
		selected := s.Select(func(o *object) bool { return o.Value != "foreign" })
		i := informer.New(selected, quiet(informer.Options{}))
		r := &ownRig{rig: &rig{pods: i, t: t, server: s, run: make(chan error, 1)}}
		r.index, _ = indexer.AddIndex(i.Indexer(), "value", indexer.One(func(o *object) string { return o.Value }))
		r.own = informer.NewOverlay(i, informer.OverlayOptions{})
		r.put("a", "old")
		r.start().sync()
		r.hold()
		r.own.Deleted(r.put("a", "foreign"))
		r.shows("a", "")
		s.Resume()
		synctest.Wait()
		r.shows("a", "")
		r.put("a", "new")
		synctest.Wait()
		r.shows("a", "new")
		r.asTheCache()
	})
}

// Memory is bounded by Size and by what the cache holds, however much is written meanwhile.
func TestOverlayIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOwnRig(t, informer.OverlayOptions{Size: 100})
		var refs []weak.Pointer[object]
		for n := range 3000 {
			name := fmt.Sprint("n", n)
			refs = append(refs, weak.Make(r.wrote(name, "new")))
			if n%2 == 0 {
				r.dropped(name)
			}
		}
		alive := func() (n int) {
			runtime.GC()
			for _, p := range refs {
				if p.Value() != nil {
					n++
				}
			}
			return n
		}
		require.Equal(t, 100, alive())
		require.Len(t, r.own.List(), 3+100)
		require.False(t, r.own.Whole(), "it says so")
		caught := r.own.Caught()
		r.release()
		require.True(t, caught.Fired())
		require.Zero(t, alive())
		r.asTheCache()
	})
}
