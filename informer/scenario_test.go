package informer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// Scenarios 1, 2: what is queued, and not in the store yet, when a list comes.
func TestListBehindQueuedChanges(t *testing.T) {
	for name, c := range map[string]struct {
		watched, unseen func(*rig)
		want            []string
	}{
		"a delete, then a new life": {
			watched: func(r *rig) { r.drop("foo") },
			unseen:  func(r *rig) { r.put("foo", "second") },
			want:    []string{"Delete foo first", "Add foo second"},
		},
		"an add that the list lacks": {
			watched: func(r *rig) { r.put("bar", "short") },
			unseen:  func(r *rig) { r.drop("bar") },
			want:    []string{"Add bar short", "Delete bar short unknown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var lists atomic.Int64
				r := newRig(t, newServer(fakes.Options[*object]{NoInitialEvents: true, Hooks: fakes.Hooks{
					BeforeList: func(context.Context, listwatch.ListOptions) error { lists.Add(1); return nil },
				}}), informer.Options{})
				release := make(chan struct{})
				_, err := indexer.AddIndex(r.Indexer(), "slow", func(o *object) []string {
					if o.Name == "block" {
						<-release
					}
					return nil
				})
				require.NoError(t, err)
				r.put("foo", "first")
				var d diary
				r.handle(d.handle, informer.HandlerOptions{})
				r.start().sync()
				d.read()
				r.put("block", "1") // the store is busy with it until release
				synctest.Wait()
				c.watched(r)
				synctest.Wait()
				r.server.Pause()
				synctest.Wait()
				c.unseen(r)
				require.NoError(t, r.server.Compact(r.server.Version()))
				r.server.Cut(nil)
				r.server.Resume()
				time.Sleep(time.Minute)
				relists := lists.Load() - 1
				close(release)
				r.sync()
				require.EqualValues(t, 1, relists, "the list came while the store was busy")
				require.Equal(t, append([]string{"Add block 1"}, c.want...), d.read())
			})
		})
	}
}

// Scenario 10: the store is synced when the last object is in it, not when it is on its way.
func TestSyncedWaitsForTheStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		first := true
		_, err := indexer.AddIndex(r.Indexer(), "slow", func(*object) []string {
			if first {
				first = false
				time.Sleep(time.Second)
			}
			return nil
		})
		require.NoError(t, err)
		r.put("a", "1")
		r.start()
		for range 99 {
			time.Sleep(10 * time.Millisecond)
			require.False(t, r.Synced().Fired())
			require.Zero(t, r.Indexer().Len())
			r.put("a", fmt.Sprint(r.Indexer().Len())) // writers go on
		}
		time.Sleep(20 * time.Millisecond)
		require.True(t, r.Synced().Fired())
		r.sync()
	})
}

// Scenario 15: the state of a replica that lags behind is never shown.
func TestStaleReplicaIsNotShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := informer.Options{Reflector: reflector.Options{FirstList: reflector.FirstAny}}
		r := newRig(t, newServer(fakes.Options[*object]{FreshWait: 3 * time.Second}), o)
		r.put("a", "old")
		stale := r.server.Version()
		r.put("a", "new")
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		r.start().sync()
		require.Equal(t, []string{"Add a new initial"}, d.read())
		require.NoError(t, r.server.Lag(stale))
		for range 3 {
			before := r.Indexer().Version()
			r.server.Cut(&listwatch.StatusError{Code: 410, Event: true, Kind: listwatch.ErrExpired})
			for range 6000 {
				time.Sleep(time.Millisecond)
				held, _ := r.Indexer().Get(key("a"))
				require.Equal(t, "new", held.Value)
				require.False(t, listwatch.Newer(before, r.Health().Source.Position))
			}
		}
		r.sync()
		require.Empty(t, d.read())
		require.EqualValues(t, 7, r.Health().Source.Lists, "each time the replica and then the latest state")
	})
}

// Scenario 20: pages are the library's own, also when the source asks for smaller ones, and when
// a page of a filtered collection is empty.
func TestPagesMakeUpTheCollection(t *testing.T) {
	for name, c := range map[string]struct {
		limit int64 // what the source makes of the limit; 0: leaves it alone
		show  func(*object) bool
		pages int
		want  int
	}{
		"as asked":                {0, nil, 2, 700},
		"the source's own limit":  {100, nil, 7, 700},
		"a page without objects":  {100, func(o *object) bool { return o.Name < "o100" || o.Name >= "o600" }, 7, 200},
		"no objects on any page":  {100, func(*object) bool { return false }, 7, 0},
		"none but on the last":    {100, func(o *object) bool { return o.Name >= "o650" }, 7, 50},
		"all of them on one page": {1000, nil, 1, 700},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newServer(fakes.Options[*object]{})
				for n := range 700 {
					_, err := s.Put(named(fmt.Sprintf("o%03d", n), "1"))
					require.NoError(t, err)
				}
				pages := 0
				source := listwatch.Funcs[*object]{
					ListFunc: func(ctx context.Context, o listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
						pages++
						if c.limit != 0 {
							o.Limit = c.limit
						}
						return s.List(ctx, o, func(all ...*object) error {
							var shown []*object
							for _, o := range all {
								if c.show == nil || c.show(o) {
									shown = append(shown, o)
								}
							}
							return each(shown...)
						})
					},
					WatchFunc: s.Watch,
				}
				r := &rig{pods: informer.New(source, quiet(informer.Options{})), t: t, server: s, run: make(chan error, 1)}
				r.start()
				require.NoError(t, r.WaitForSync(t.Context()))
				require.Equal(t, c.want, r.Indexer().Len())
				require.Equal(t, c.pages, pages)
				require.NoError(t, r.Health().Source.LastError)
			})
		})
	}
}

// Scenario 32: what an unsafe delete took away vanishes by the list behind the ERROR event; the
// others are told nothing of.
func TestUnsafeDeleteIsFoundByTheList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		for _, name := range []string{"f1", "f2", "f3"} {
			r.put(name, "1")
		}
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		r.start().sync()
		before := byKey(r.Indexer().List())
		d.read()
		foo := r.put("foo", "1")
		r.sync()
		r.server.Drop(1) // the watch cannot tell of it
		r.drop("foo")
		e := fakes.Status(500, "storage read error")
		e.Event, e.Reason = true, "StorageReadError"
		r.server.Cut(e)
		time.Sleep(time.Minute)
		r.sync()
		require.Equal(t, []string{"Add foo 1", "Delete foo 1 unknown"}, d.read())
		gone := d.all[len(d.all)-1]
		require.Equal(t, foo.ResourceVersion, gone.Old.ResourceVersion)
		for k, o := range byKey(r.Indexer().List()) {
			require.Same(t, before[k], o)
		}
		require.EqualValues(t, 2, r.Health().Source.Lists)
		require.Equal(t, r.server.Version(), r.Health().Source.Position)
	})
}

// Scenario 38: a bookmark moves the position, and is nobody's event.
func TestBookmarkIsNoEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "1")
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		r.start().sync()
		d.read()
		before, _ := r.Indexer().Get(key("a"))
		for range 30 { // half an hour of writes to other kinds, more of them than history keeps
			r.server.Advance(1000)
			time.Sleep(time.Minute + 3*time.Second) // from the last bookmark of a watch to the first of the next
			require.NoError(t, r.server.Compact(r.server.Version()))
		}
		require.Zero(t, r.Health().Source.Failures)
		r.server.Cut(nil) // of a watch that may have just begun
		r.sync()
		require.Empty(t, d.read())
		after, _ := r.Indexer().Get(key("a"))
		require.Same(t, before, after)
		require.EqualValues(t, 1, r.Health().Source.Lists)
		require.Equal(t, r.server.Version(), r.Health().Source.Position)
	})
}
