package fakes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/stretchr/testify/require"
)

// bubble runs a test in virtual time, without bookmarks of the server's own.
func bubble(t *testing.T, o options, test func(t *testing.T, s source)) {
	synctest.Test(t, func(t *testing.T) {
		if o.BookmarkEvery == 0 {
			o.BookmarkEvery = -1
		}
		test(t, newSource(o))
	})
}

// Scenario 108.
func TestDeletedCarriesItsVersion(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		put(t, s, obj("o", "1"))
		s.Advance(8)
		put(t, s, obj("other", "1"))
		gone := remove(t, s, "o")
		require.Equal(t, "12", gone.ResourceVersion)
		plain := watch(t, s, from("10"))
		selected := watch(t, s.Select(func(o object) bool { return o.Name == "o" }), from("10"))
		resumed := watch(t, s, from("12"))
		synctest.Wait()
		require.Equal(t, []string{"Added other=1@11 at 11", "Deleted o=1@12 at 12"}, plain.told())
		require.Equal(t, []string{"Deleted o=1@12 at 12"}, selected.told())
		require.Empty(t, resumed.told())
	})
}

// Scenario 110.
func TestSelection(t *testing.T) {
	isX := func(o object) bool { return o.Labels["x"] == "1" }
	labelled := func(value, x string) object {
		return with(obj("o", value), func(o object) { o.Labels = map[string]string{"x": x} })
	}
	bubble(t, options{Select: isX}, func(t *testing.T, s source) {
		w := watch(t, s, from("1"))
		both := watch(t, s.Select(func(o object) bool { return o.Value != "2" }), from("1"))
		put(t, s, labelled("1", "1"), labelled("2", "1"), labelled("3", "2"), labelled("4", "2"), labelled("5", "1"), labelled("6", "2"))
		remove(t, s, "o")
		synctest.Wait()
		require.Equal(t, []string{
			"Added o=1@2 at 2", "Modified o=2@3 at 3", "Deleted o=2@4 at 4", "Added o=5@6 at 6", "Deleted o=5@7 at 7",
		}, w.told())
		require.Equal(t, map[string]string{"x": "1"}, w.events[2].Object.Labels, "the contents that last matched")
		require.Equal(t, []string{
			"Added o=1@2 at 2", "Deleted o=1@3 at 3", "Added o=5@6 at 6", "Deleted o=5@7 at 7",
		}, both.told())
		s.Bookmark()
		synctest.Wait()
		require.Equal(t, "Bookmark at 8", w.told()[5], "a bookmark covers what is not selected")
	})
}

// Scenario 113.
func TestCompactedWatch(t *testing.T) {
	for _, form := range []bool{false, true} {
		bubble(t, options{ExpiredStatus: form}, func(t *testing.T, s source) {
			for i := range 10 {
				put(t, s, obj("o", fmt.Sprint(i)))
			}
			last := s.Version() // that of the only object
			s.Advance(5)
			require.NoError(t, s.Compact(s.Version()))
			early, live := watch(t, s, from("6")), watch(t, s, from(last))
			current := watch(t, s, from(s.Version()))
			synctest.Wait()
			for w, message := range map[*watching]string{early: "6 (16)", live: "11 (16)"} {
				err := w.end(t)
				require.ErrorIs(t, err, listwatch.ErrExpired)
				require.ErrorContains(t, err, "410 Expired: too old resource version: "+message)
				var status *listwatch.StatusError
				require.ErrorAs(t, err, &status)
				require.Equal(t, !form, status.Event)
				require.Empty(t, w.told())
			}
			put(t, s, obj("o", "new"))
			synctest.Wait()
			require.Equal(t, []string{"Modified o=new@17 at 17"}, current.told())
			require.ErrorIs(t, s.Compact("99"), listwatch.ErrTooLargeVersion)
			require.ErrorContains(t, s.Compact("x"), "invalid resource version")
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	bubble(t, options{History: 3}, func(t *testing.T, s source) {
		for i := range 100 {
			put(t, s, obj("o", fmt.Sprint(i)))
		}
		require.ErrorIs(t, s.Watch(t.Context(), from("97"), nil), listwatch.ErrExpired)
		w := watch(t, s, from("98"))
		synctest.Wait()
		require.Equal(t, []string{"Modified o=97@99 at 99", "Modified o=98@100 at 100", "Modified o=99@101 at 101"}, w.told())
	})
}

// TestSlowWatch: a reader that falls out of the history is ended cleanly, others go on, and
// the next watch is told that its version has expired.
func TestSlowWatch(t *testing.T) {
	bubble(t, options{History: 5}, func(t *testing.T, s source) {
		release := make(chan struct{})
		fast := watch(t, s, from("1"))
		var slow []string
		ended := make(chan error, 1)
		fast.group.Go(func() {
			ended <- s.Watch(t.Context(), from("1"), func(events ...event) error {
				<-release
				for _, e := range events {
					slow = append(slow, describe(e))
				}
				return nil
			})
		})
		for i := range 20 {
			put(t, s, obj("o", fmt.Sprint(i)))
			synctest.Wait()
		}
		close(release)
		require.NoError(t, <-ended)
		require.Equal(t, []string{"Added o=0@2 at 2"}, slow)
		require.Len(t, fast.told(), 20)
		require.ErrorIs(t, s.Watch(t.Context(), from("2"), nil), listwatch.ErrExpired)
	})
}

func TestInitialEvents(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		put(t, s, obj("b", "1"), obj("a", "1"), obj("c", "1"))
		remove(t, s, "c")
		require.NoError(t, s.Compact(s.Version()))
		known := func(h listwatch.Head) bool { return h.Key.Name == "a" && h.ResourceVersion == "3" && h.UID == "uid-2" }
		w := watch(t, s, listwatch.WatchOptions{InitialEvents: true, ResourceVersion: "2"})
		quiet := watch(t, s, listwatch.WatchOptions{InitialEvents: true, Known: known})
		legacy := watch(t, s, listwatch.WatchOptions{ResourceVersion: "0", Known: known})
		synctest.Wait()
		put(t, s, obj("a", "2"))
		synctest.Wait()
		all := []string{"Added a=1@3 at ", "Added b=1@2 at ", "Synced at 5", "Modified a=2@6 at 6"}
		require.Equal(t, all, w.told())
		require.Equal(t, all[1:], quiet.told())
		require.Equal(t, all, legacy.told())
		require.EqualError(t, s.Watch(t.Context(), from("abc"), nil),
			`status 500: status 400 BadRequest: invalid resource version: "abc"`)
	})
}

func TestNoInitialEvents(t *testing.T) {
	bubble(t, options{NoInitialEvents: true}, func(t *testing.T, s source) {
		put(t, s, obj("a", "1"))
		err := s.Watch(t.Context(), listwatch.WatchOptions{InitialEvents: true}, nil)
		require.ErrorIs(t, err, listwatch.ErrUnsupported)
		w := watch(t, s, from(""))
		put(t, s, obj("b", "1"))
		synctest.Wait()
		require.Equal(t, "Added a=1@2 at ", w.told()[0])
		require.NotContains(t, fmt.Sprint(w.told()), "Synced")
	})
}

func TestInitialEventsBatches(t *testing.T) {
	s := newSource(options{})
	for i := range 600 {
		put(t, s, obj(fmt.Sprintf("o%03d", i), "1"))
	}
	var sizes []int
	own := errors.New("own")
	err := s.Watch(t.Context(), listwatch.WatchOptions{InitialEvents: true}, func(events ...event) error {
		sizes = append(sizes, len(events))
		if len(events) == 1 {
			return own
		}
		return nil
	})
	require.ErrorIs(t, err, own)
	require.Equal(t, []int{256, 256, 88, 1}, sizes)

	ctx, cancel := context.WithCancelCause(t.Context())
	calls := 0
	err = s.Watch(ctx, listwatch.WatchOptions{InitialEvents: true}, func(...event) error { calls++; cancel(own); return nil })
	require.ErrorIs(t, err, own)
	require.Equal(t, 1, calls)
	require.ErrorIs(t, s.Watch(ctx, from("1"), nil), own)
	require.Zero(t, s.Watches())
}

func TestBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(options{})
		begin := time.Now()
		var told []string
		note := func(events ...event) error {
			for _, e := range events {
				told = append(told, fmt.Sprintf("%s: %s", time.Since(begin), describe(e)))
			}
			return nil
		}
		time.AfterFunc(90*time.Second, func() { s.Advance(10) })
		time.AfterFunc(100*time.Second, s.Bookmark)
		time.AfterFunc(130*time.Second, func() { _, _ = s.Put(obj("a", "1")) })
		o := from("1")
		o.Timeout = 150 * time.Second
		require.NoError(t, s.Watch(t.Context(), o, note))
		require.Equal(t, []string{
			"1m0s: Bookmark at 1", "1m40s: Bookmark at 11", "2m0s: Bookmark at 11", "2m10s: Added a=1@12 at 12", "2m28s: Bookmark at 12",
		}, told)
		require.Equal(t, 150*time.Second, time.Since(begin))

		told = nil
		o.Timeout, o.ResourceVersion = 2*time.Second, s.Version()
		require.NoError(t, s.Watch(t.Context(), o, note))
		require.Empty(t, told, "a watch that is too short gets none")
		begin = time.Now()
		require.NoError(t, s.Watch(t.Context(), from(s.Version()), func(...event) error { return nil }))
		require.Equal(t, 30*time.Minute, time.Since(begin))
	})
}

// Scenario 102.
func TestWatchesThatEnd(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		own := errors.New("own")
		var all []*watching
		before := measure.Goroutines()
		for range 10 {
			all = append(all, watch(t, s, from("1")))
		}
		synctest.Wait()
		require.Equal(t, 10, s.Watches())
		require.Equal(t, before+10, measure.Goroutines(), "those of the callers")
		for i, w := range all {
			w.cancel(own)
			w.cancel(nil)
			put(t, s, obj("a", fmt.Sprint(i)), obj("a", "updated"))
			remove(t, s, "a")
		}
		synctest.Wait()
		require.Zero(t, s.Watches(), "what has ended is forgotten")
		for _, w := range all {
			require.ErrorIs(t, w.end(t), own)
		}
	})
}

// TestEachMayCallTheSource: no lock is held while each runs, not even when it panics.
func TestEachMayCallTheSource(t *testing.T) {
	s := newSource(options{})
	put(t, s, obj("a", "0"))
	own := errors.New("own")
	calls := 0
	require.ErrorIs(t, s.Watch(t.Context(), from("1"), func(events ...event) error {
		if calls++; calls == 5 {
			return own
		}
		put(t, s, obj("a", fmt.Sprint(calls)))
		_, _, err := list(t, s, listwatch.ListOptions{})
		return err
	}), own)
	require.Panics(t, func() {
		_ = s.Watch(t.Context(), from("1"), func(...event) error { panic("own") })
	})
	require.Zero(t, s.Watches())
	require.Equal(t, "6", s.Version())
}
