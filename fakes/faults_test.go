package fakes_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/stretchr/testify/require"
)

// Scenario 115, the server's part.
func TestRestore(t *testing.T) {
	bubble(t, options{WatchTimeout: time.Minute, FreshWait: 3 * time.Second}, func(t *testing.T, s source) {
		put(t, s, obj("a", "1"), obj("b", "1"))
		backup := s.Version()
		want := s.Objects()
		put(t, s, obj("a", "2"), obj("c", "1"))
		remove(t, s, "b")
		before := s.Version()
		running := watch(t, s, from(before))
		synctest.Wait()
		forgotten, _, err := list(t, s, listwatch.ListOptions{Match: exact, ResourceVersion: "4"})
		require.NoError(t, err)
		require.Equal(t, []string{"a=2@4", "b=1@3"}, forgotten)
		require.NoError(t, s.Restore(backup))
		synctest.Wait()
		require.NoError(t, running.end(t))
		require.Equal(t, backup, s.Version())
		require.Equal(t, want, s.Objects())

		w := watch(t, s, from(before))
		streaming := watch(t, s, listwatch.WatchOptions{ResourceVersion: before, InitialEvents: true})
		put(t, s, obj("a", "3"))
		got, meta, err := list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"a=3@4", "b=1@3"}, got)
		require.Equal(t, "4", meta.ResourceVersion)
		s.Bookmark()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.ErrorIs(t, streaming.end(t), listwatch.ErrTooLargeVersion)
		require.ErrorContains(t, streaming.err, "ERROR event 504")
		w.running(t)
		time.Sleep(57 * time.Second)
		synctest.Wait()
		require.NoError(t, w.end(t))
		require.Empty(t, w.told(), "silence until the timeout")

		w = watch(t, s, from(before))
		put(t, s, obj("d", "1"), obj("d", "2"), obj("d", "3"))
		synctest.Wait()
		require.Equal(t, []string{"Modified d=3@7 at 7"}, w.told(), "what passes the version is told")
		require.Equal(t, "uid-4", w.events[0].Object.UID, "identities are not used twice")
		require.ErrorIs(t, s.Restore("99"), listwatch.ErrTooLargeVersion)
		require.NoError(t, s.Compact("5"))
		require.ErrorIs(t, s.Restore("4"), listwatch.ErrExpired)
		require.ErrorContains(t, s.Restore("x"), "invalid resource version")
		require.NoError(t, s.Restore("5"))
		require.Equal(t, "5", s.Version())
	})
}

func TestCut(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		own := errors.New("reset by peer")
		a, b := watch(t, s, from("1")), watch(t, s, from("1"))
		synctest.Wait()
		s.Cut(own)
		c := watch(t, s, from("1"))
		synctest.Wait()
		require.ErrorIs(t, a.end(t), own)
		require.ErrorIs(t, b.end(t), own)
		c.running(t)
		s.Cut(nil)
		synctest.Wait()
		require.NoError(t, c.end(t))

		s.Pause() // what is not sent is for the next watch
		d := watch(t, s, from("1"))
		put(t, s, obj("a", "1"))
		synctest.Wait()
		s.Cut(nil)
		s.Resume()
		synctest.Wait()
		require.NoError(t, d.end(t))
		require.Empty(t, d.told())
	})
}

func TestCutNext(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		own := errors.New("own")
		s.CutNext(2, own)
		s.CutNext(0, own)
		s.CutNext(-1, nil)
		s.CutNext(1, nil)
		put(t, s, obj("a", "1"), obj("b", "1"), obj("c", "1"))
		begin := func(o listwatch.WatchOptions) *watching {
			w := watch(t, s, o)
			synctest.Wait()
			return w
		}
		w := begin(from("1"))
		require.ErrorIs(t, w.end(t), own)
		require.Equal(t, []string{"Added a=1@2 at 2", "Added b=1@3 at 3"}, w.told())
		w = begin(from("1"))
		require.ErrorIs(t, w.end(t), own)
		require.Empty(t, w.told())
		require.NoError(t, begin(from("1")).end(t))
		w = begin(listwatch.WatchOptions{InitialEvents: true})
		require.NoError(t, w.end(t))
		require.Equal(t, []string{"Added a=1@2 at "}, w.told(), "cut before the mark")
		w = begin(from("1"))
		w.running(t)
		require.Len(t, w.told(), 3)
	})
}

func TestDrop(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		w := watch(t, s, from("1"))
		s.Drop(2)
		put(t, s, obj("a", "1"), obj("b", "1"), obj("a", "2"))
		s.Bookmark()
		synctest.Wait()
		require.Equal(t, []string{"Modified a=2@4 at 4", "Bookmark at 4"}, w.told())
		late := watch(t, s, from("1"))
		synctest.Wait()
		require.Equal(t, []string{"Modified a=2@4 at 4"}, late.told(), "lost is lost")
		got, _, err := list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"a=2@4", "b=1@3"}, got)
		s.Drop(5)
		s.Drop(-1)
		put(t, s, obj("c", "1"))
		synctest.Wait()
		require.Equal(t, "Added c=1@5 at 5", w.told()[2])
	})
}

func TestPause(t *testing.T) {
	bubble(t, options{WatchTimeout: time.Minute}, func(t *testing.T, s source) {
		early := watch(t, s, from("1"))
		synctest.Wait()
		s.Pause()
		late, initial := watch(t, s, from("1")), watch(t, s, listwatch.WatchOptions{InitialEvents: true})
		cancelled := watch(t, s, listwatch.WatchOptions{InitialEvents: true})
		synctest.Wait()
		put(t, s, obj("a", "1"))
		s.Bookmark()
		synctest.Wait()
		own := errors.New("own")
		cancelled.cancel(own)
		synctest.Wait()
		require.ErrorIs(t, cancelled.end(t), own)
		for _, w := range []*watching{early, late, initial} {
			w.running(t)
			require.Empty(t, w.told())
		}
		s.Resume()
		synctest.Wait()
		require.Equal(t, []string{"Added a=1@2 at 2", "Bookmark at 2"}, early.told())
		require.Equal(t, early.told(), late.told())
		require.Equal(t, []string{"Added a=1@2 at ", "Synced at 2", "Bookmark at 2"}, initial.told())

		s.Pause()
		silent := watch(t, s, listwatch.WatchOptions{InitialEvents: true})
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, w := range []*watching{early, late, initial} {
			require.NoError(t, w.end(t), "its timeout goes on")
		}
		require.NoError(t, silent.end(t))
		require.Empty(t, silent.told())
		cut := watch(t, s, listwatch.WatchOptions{InitialEvents: true})
		synctest.Wait()
		s.Cut(own)
		synctest.Wait()
		require.ErrorIs(t, cut.end(t), own)
		require.Empty(t, cut.told())
	})
}

func TestFailWatches(t *testing.T) {
	s := newSource(options{})
	s.Fail(fakes.VerbWatch, fakes.Status(429, "later"), fakes.Status(401, "who"))
	require.ErrorIs(t, s.Watch(t.Context(), from("1"), nil), listwatch.ErrTooManyRequests)
	require.ErrorIs(t, s.Watch(t.Context(), from("1"), nil), listwatch.ErrUnauthorized)
}
