package cacher_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/cacher"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStore(t testing.TB) *storage.Store {
	t.Helper()
	server, err := etcd.Start(t.Context(), etcd.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	store, err := storage.New(server.Client(), storage.Options{})
	require.NoError(t, err)
	return store
}

// stamp makes "value@revision", whatever revision stood there before.
func stamp(value []byte, revision int64) ([]byte, error) {
	for i, b := range value {
		if b == '@' {
			value = value[:i]
			break
		}
	}
	return fmt.Appendf(nil, "%s@%d", value, revision), nil
}

// run runs a cache of "/p/" until the test ends or stop is called.
func run(t testing.TB, s *storage.Store, o cacher.Options) (c *cacher.Cache, stop func()) {
	t.Helper()
	o.Stamp = stamp
	c = cacher.New(s, "/p/", o)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return c, stop
}

func create(t testing.TB, s *storage.Store, key, value string) int64 {
	t.Helper()
	e, err := s.Create(t.Context(), key, []byte(value))
	require.NoError(t, err)
	return e.Revision
}

func put(t testing.TB, s *storage.Store, key, value string) int64 {
	t.Helper()
	e, err := s.GuaranteedUpdate(t.Context(), key, func(storage.Entry) (storage.Change, error) {
		return storage.Change{Value: []byte(value)}, nil
	})
	require.NoError(t, err)
	return e.Revision
}

// take waits for the next events.
func take(ctx context.Context, w *cacher.Watch, limit int) ([]*cacher.Event, int64, error) {
	for {
		events, position, more, err := w.Take(limit)
		if err != nil || len(events) > 0 {
			return events, position, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// short is an event as "key before>behind".
func short(e *cacher.Event) string {
	value := func(e *cacher.Entry) string {
		if e == nil {
			return ""
		}
		return string(e.Value)
	}
	return e.Key + " " + value(e.Previous) + ">" + value(e.Current)
}

func keys(entries []*cacher.Entry) (keys []string) {
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

func TestListIsOfOneRevision(t *testing.T) {
	s := newStore(t)
	for _, key := range []string{"/p/ord/a", "/p/ord-b/a", "/p/x/1", "/p/x/2", "/p/x/3", "/px/1"} {
		create(t, s, key, key)
	}
	last := put(t, s, "/p/x/2", "new")
	c, _ := run(t, s, cacher.Options{})
	require.NoError(t, c.Fresh(t.Context()))
	all, err := c.List(cacher.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"ord-b/a", "ord/a", "x/1", "x/2", "x/3"}, keys(all.Entries))
	require.Equal(t, last, all.Revision)
	require.Equal(t, fmt.Sprintf("new@%d", last), string(all.Entries[3].Value))
	require.Equal(t, [3]string{"x", "2", strconv.FormatInt(last, 10)},
		[3]string{all.Entries[3].GetNamespace(), all.Entries[3].GetName(), all.Entries[3].GetResourceVersion()})

	page, err := c.List(cacher.ListOptions{Prefix: "x/", Limit: 1, From: "1\x00"})
	require.NoError(t, err)
	require.Equal(t, []string{"x/2"}, keys(page.Entries))
	require.Equal(t, int64(1), page.Remaining)
	some, err := c.List(cacher.ListOptions{Matches: func(e *cacher.Entry) (bool, error) { return e.GetName() == "a", nil }})
	require.NoError(t, err)
	require.Equal(t, []string{"ord-b/a", "ord/a"}, keys(some.Entries))
	bad := errors.New("bad")
	_, err = c.List(cacher.ListOptions{Matches: func(*cacher.Entry) (bool, error) { return false, bad }})
	require.ErrorIs(t, err, bad)

	// A list is not changed by what comes after it.
	put(t, s, "/p/x/1", "later")
	require.NoError(t, c.Fresh(t.Context()))
	require.Equal(t, last, all.Revision)
	require.NotContains(t, string(all.Entries[2].Value), "later")
}

func TestFreshSeesEveryWrite(t *testing.T) {
	s := newStore(t)
	c, _ := run(t, s, cacher.Options{})
	var group sync.WaitGroup
	for writer := range 4 {
		group.Go(func() {
			for i := range 50 {
				e, err := s.Create(t.Context(), fmt.Sprintf("/p/%d-%d", writer, i), []byte("x"))
				if err == nil {
					err = c.Fresh(t.Context())
				}
				page, listErr := c.List(cacher.ListOptions{Prefix: fmt.Sprintf("%d-", writer)})
				if err := errors.Join(err, listErr); err != nil || len(page.Entries) != i+1 || page.Revision < e.Revision {
					t.Errorf("%d entries at %d after %d writes at %d: %v", len(page.Entries), page.Revision, i+1, e.Revision, err)
				}
			}
		})
	}
	group.Wait()
}

func TestWatchEvents(t *testing.T) {
	s := newStore(t)
	c, _ := run(t, s, cacher.Options{})
	require.NoError(t, c.Fresh(t.Context()))
	w, start := c.Now()
	a := create(t, s, "/p/a", "1")
	b := put(t, s, "/p/a", "2")
	_, err := s.Delete(t.Context(), "/p/a", nil)
	require.NoError(t, err)
	require.NoError(t, c.WaitFor(t.Context(), b+1))
	events, position, err := take(t.Context(), w, 2)
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprintf("a >1@%d", a), fmt.Sprintf("a 1@%d>2@%d", a, b)}, []string{short(events[0]), short(events[1])})
	require.Equal(t, b, position)
	events, position, err = take(t.Context(), w, 2)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("a 2@%d>", b), short(events[0]))
	require.Equal(t, b+1, position)
	require.Equal(t, fmt.Sprintf("2@%d", b+1), string(events[0].Last(stamp).Value))
	require.Same(t, events[0].Last(stamp), events[0].Last(stamp), "it is made once")

	// From the middle, from the past and from the future.
	w, err = c.Watch(a)
	require.NoError(t, err)
	events, _, err = take(t.Context(), w, 100)
	require.NoError(t, err)
	require.Len(t, events, 2)
	_, err = c.Watch(start)
	require.NoError(t, err)
	w, err = c.Watch(b + 2)
	require.NoError(t, err)
	create(t, s, "/p/b", "1")
	c2 := create(t, s, "/p/c", "1")
	events, _, err = take(t.Context(), w, 1)
	require.NoError(t, err)
	require.Equal(t, c2, events[0].Revision)
	c.Forget(c2)
	_, err = c.Watch(b)
	require.Equal(t, fmt.Sprintf("too old resource version: %d (%d)", b, c2), err.Error())
}

func TestWatchEachRevisionOnce(t *testing.T) {
	s := newStore(t)
	c, _ := run(t, s, cacher.Options{})
	const writers, each, watchers = 2, 200, 20
	start := create(t, s, "/p/0", "0")
	require.NoError(t, c.Fresh(t.Context()))
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			for i := range each {
				if _, err := s.Create(t.Context(), fmt.Sprintf("/p/%d-%d", writer, i), []byte("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range watchers {
		group.Go(func() {
			w, err := c.Watch(start)
			for next := start + 1; next <= start+writers*each && err == nil; {
				var events []*cacher.Event
				events, _, err = take(t.Context(), w, 7)
				for _, e := range events {
					if e.Revision != next {
						t.Errorf("revision %d instead of %d", e.Revision, next)
					}
					next++
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestSlowWatch(t *testing.T) {
	for name, o := range map[string]cacher.Options{"number": {History: 10}, "bytes": {HistoryBytes: 10 * 310}} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			c, _ := run(t, s, o)
			start := create(t, s, "/p/a", "0")
			require.NoError(t, c.Fresh(t.Context()))
			slow, _ := c.Now()
			quick, _ := c.Now()
			last := start
			for i := range 30 {
				last = put(t, s, "/p/a", strconv.Itoa(i+1))
				events, _, err := take(t.Context(), quick, 10)
				require.NoError(t, err)
				require.Equal(t, last, events[0].Revision)
			}
			for range 2 {
				_, _, _, err := slow.Take(10)
				require.ErrorIs(t, err, cacher.ErrSlow)
			}
			var tooOld *cacher.TooOldError
			_, err := c.Watch(start)
			require.ErrorAs(t, err, &tooOld)
			require.GreaterOrEqual(t, tooOld.Oldest, last-12)
			w, err := c.Watch(tooOld.Oldest)
			require.NoError(t, err)
			events, _, err := take(t.Context(), w, 100)
			require.NoError(t, err)
			require.Equal(t, tooOld.Oldest+1, events[0].Revision)
			require.LessOrEqual(t, len(events), 10)
		})
	}
}

func TestHistoryFromBefore(t *testing.T) {
	s := newStore(t)
	revisions := []int64{create(t, s, "/p/a", "0")}
	for i := range 20 {
		revisions = append(revisions, put(t, s, "/p/a", strconv.Itoa(i+1)))
	}
	for _, o := range []cacher.Options{{Backfill: 10}, {}, {Backfill: -1}} {
		c, stop := run(t, s, o)
		require.NoError(t, c.WaitFor(t.Context(), 0))
		page, w, err := c.ListAndWatch(cacher.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, revisions[20], page.Revision, "it shows the present, or nothing")
		events, _, _, err := w.Take(1)
		require.NoError(t, err)
		require.Empty(t, events)
		for i, revision := range revisions {
			_, err := c.Watch(revision)
			inHistory := o.Backfill == 0 || o.Backfill == 10 && i >= 10 || i == 20
			require.Equal(t, inHistory, err == nil, "%d revisions before, %v", 20-i, o.Backfill)
		}
		stop()
	}
	require.NoError(t, s.Compact(t.Context(), revisions[15]))
	c, _ := run(t, s, cacher.Options{})
	require.NoError(t, c.WaitFor(t.Context(), 0))
	_, err := c.Watch(revisions[14])
	require.Error(t, err)
	w, err := c.Watch(revisions[15])
	require.NoError(t, err)
	events, _, _, err := w.Take(100)
	require.NoError(t, err)
	require.Len(t, events, 5)
	require.Equal(t, fmt.Sprintf("a 15@%d>16@%d", revisions[15], revisions[16]), short(events[0]))
}

func TestQuietPosition(t *testing.T) {
	s := newStore(t)
	c, _ := run(t, s, cacher.Options{})
	require.NoError(t, c.Fresh(t.Context()))
	w, _ := c.Now()
	other := create(t, s, "/q/a", "1")
	require.False(t, c.Reached(other))
	require.NoError(t, c.Fresh(t.Context()))
	events, position, _, err := w.Take(1)
	require.NoError(t, err)
	require.Empty(t, events)
	require.Equal(t, other, position)

	done, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.WaitFor(done, other+1), context.Canceled)
	require.ErrorIs(t, c.Fresh(done), context.Canceled)
}
