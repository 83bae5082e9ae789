package informer_test

import (
	"context"
	"slices"
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

type (
	source  = listwatch.Funcs[*object]
	listed  = func(...*object) error
	watched = func(...listwatch.Event[*object]) error
)

// around is a source that does what s does; tests put something of their own in the place of a part.
func around(s *server) *source {
	return &source{ListFunc: s.List, WatchFunc: s.Watch, InitialEvents: true}
}

// rigOf is a rig whose informer reads the server through a source.
func rigOf(t *testing.T, s *server, through listwatch.ListerWatcher[*object], o informer.Options) *rig {
	r := newRig(t, s, o)
	r.pods = informer.New(through, quiet(o))
	return r
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	<-ctx.Done()
	synctest.Wait()
}

// Scenario 132. A server restored from a backup gives out versions again that meant something else:
// the same object in the same version, and still other contents.
func TestRestoredToTheSameVersions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		byValue, err := indexer.AddIndex(r.Indexer(), "value", indexer.One(func(o *object) string { return o.Value }))
		require.NoError(t, err)
		r.put("a", "old")
		r.put("same", "same")
		backup := r.server.Version()
		before := r.put("a", "lost")
		r.start().sync()
		r.server.Advance(10)
		r.server.Bookmark()
		synctest.Wait()
		same, _ := r.Indexer().Get(key("same"))
		d.read()

		require.NoError(t, r.server.Restore(backup))
		after := r.put("a", "new")
		require.Equal(t, before.ResourceVersion, after.ResourceVersion)
		require.Equal(t, before.UID, after.UID)
		pass(15 * time.Minute)

		require.Equal(t, []string{"Update a lost>new"}, d.read())
		require.Equal(t, uint64(1), r.Health().Epoch)
		require.Len(t, byValue.Get("new"), 1)
		require.Empty(t, byValue.Get("lost"))
		still, _ := r.Indexer().Get(key("same"))
		require.Same(t, same, still, "what the backup had is not replaced")
		r.equal()
	})
}

// What a restored server's list shows undecodable is kept until something else is known: also when
// that is the end of another life of the object.
func TestRefusedAfterARestore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer(fakes.Options[*object]{})
		through := around(s)
		var broken atomic.Bool
		bad := func(k listwatch.Key) bool { return k.Name == "a" && broken.Load() }
		through.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			known := o.Known
			o.Known = func(h listwatch.Head) bool { return !bad(h.Key) && known(h) }
			return s.List(ctx, o, func(objects ...*object) error {
				kept := make([]*object, 0, len(objects))
				for _, object := range objects {
					if !bad(listwatch.KeyOf(object)) {
						kept = append(kept, object)
					} else if err := o.Refused(listwatch.Head{Key: listwatch.KeyOf(object)}, listwatch.ErrDecode); err != nil {
						return err
					}
				}
				return each(kept...)
			})
		}
		r := rigOf(t, s, through, informer.Options{})
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		r.put("good", "1")
		backup := s.Version()
		r.put("a", "1")
		r.start().sync()
		s.Advance(10)
		s.Bookmark()
		synctest.Wait()
		d.read()

		broken.Store(true)
		require.NoError(t, s.Restore(backup))
		r.put("a", "another life")
		pass(15 * time.Minute)
		h := r.Health()
		require.Equal(t, uint64(1), h.Epoch)
		require.Len(t, h.Source.Refused, 1)
		require.Equal(t, []string{"Update a 1>1"}, d.read(), "its version means nothing any more")
		held, _ := r.Indexer().Get(key("a"))
		require.Equal(t, "1", held.Value)

		r.drop("a")
		synctest.Wait()
		require.Equal(t, []string{"Delete a 1 unknown"}, d.read())
		r.equal()
	})
}

// Scenario 133. A bookmark from far beyond the server's future moves the position to where nothing
// comes after it. The first event that follows shows it, or two silent watches do.
func TestBookmarkFromTheFuture(t *testing.T) {
	for _, busy := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(fakes.Options[*object]{BookmarkEvery: -1})
			through, watches := around(s), 0
			through.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
				if watches++; watches == 2 {
					bookmark := listwatch.Event[*object]{Type: listwatch.Bookmark, ResourceVersion: "18446744073709551616"}
					if err := each(bookmark); err != nil {
						return err
					}
				}
				return s.Watch(ctx, o, each)
			}
			r := rigOf(t, s, through, informer.Options{})
			var d diary
			r.handle(d.handle, informer.HandlerOptions{})
			r.put("a", "1")
			r.put("b", "1")
			r.start().sync()
			d.read()
			s.Cut(nil)
			synctest.Wait()
			require.Equal(t, "18446744073709551616", r.Health().Version)
			r.put("a", "2")
			r.drop("b")
			limit := 10 * time.Second
			if !busy {
				s.Cut(nil) // the watch to come is silent
				limit = 10 * time.Minute
			}
			pass(limit)
			require.Equal(t, []string{"Delete b 1 unknown", "Update a 1>2"}, slices.Sorted(slices.Values(d.read())))
			require.Equal(t, uint64(1), r.Health().Epoch)
			require.Equal(t, s.Version(), r.Health().Version)
			r.equal()
			r.put("a", "3")
			synctest.Wait()
			require.Equal(t, []string{"Update a 2>3"}, d.read(), "the watch goes on")
			r.stop()
		})
	}
}
