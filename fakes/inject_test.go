package fakes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
)

func cancelAfter(t *testing.T, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(t.Context(), d, cause)
}

// inject injects faults given as text.
func inject(t *testing.T, s fakes.Faulty, faults ...string) {
	t.Helper()
	for _, text := range faults {
		f, err := fakes.ParseFault(text)
		require.NoError(t, err)
		require.NoError(t, s.Inject(f))
	}
}

// reasons keeps what was refused, and goes on.
type reasons []string

func (r *reasons) refuse(h listwatch.Head, err error) error {
	*r = append(*r, fmt.Sprintf("%s@%s %s", h.Key, h.ResourceVersion, err))
	return nil
}

func TestFaultFail(t *testing.T) {
	s := newSource(options{})
	put(t, s, obj("a", "1"))
	inject(t, s, "fail n=2", "fail list 429 for=5s", "fail 500 event", "fail get 403", "fail update 409")
	_, _, err := list(t, s, listwatch.ListOptions{})
	require.ErrorIs(t, err, listwatch.ErrUnavailable)
	require.EqualError(t, err, "unavailable: fail: connection broken")
	require.ErrorIs(t, s.Watch(t.Context(), from("1"), nil), listwatch.ErrUnavailable)
	_, _, err = list(t, s, listwatch.ListOptions{})
	require.EqualError(t, err, "status 429 TooManyRequests: fail (retry after 5s)")
	_, _, err = list(t, s, listwatch.ListOptions{})
	require.NoError(t, err, "events are of watches")
	require.EqualError(t, s.Watch(t.Context(), from("1"), nil), "ERROR event 500: fail")
	_, err = s.Get(key("a"))
	require.ErrorIs(t, err, listwatch.ErrForbidden)
	_, err = s.Update(obj("a", "2"))
	require.ErrorIs(t, err, fakes.ErrConflict)
	_, err = s.Update(obj("a", "2"))
	require.NoError(t, err)
	inject(t, s, "fail n=9")
	s.Heal()
	_, _, err = list(t, s, listwatch.ListOptions{})
	require.NoError(t, err)
}

func TestFaultErrorAndCut(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		a := watch(t, s, from("1"))
		inject(t, s, "error 500 n=1 for=2s")
		b := watch(t, s, from("1"))
		put(t, s, obj("a", "1"), obj("b", "1"))
		synctest.Wait()
		require.EqualError(t, a.end(t), "ERROR event 500: error (retry after 2s)")
		require.Equal(t, []string{"Added a=1@2 at 2"}, a.told())
		b.running(t)
		inject(t, s, "error")
		synctest.Wait()
		require.EqualError(t, b.end(t), "unavailable: error: connection broken")
		require.Zero(t, s.Watches())

		inject(t, s, "cut n=2", "cut", "error 410") // nobody watches: for the next three
		c := watch(t, s, from("1"))
		require.NoError(t, c.end(t))
		require.Len(t, c.told(), 2)
		require.NoError(t, watch(t, s, from("1")).end(t))
		require.ErrorIs(t, watch(t, s, from("1")).end(t), listwatch.ErrExpired)
		d := watch(t, s, from("3"))
		inject(t, s, "cut n=5")
		s.Heal()
		put(t, s, obj("a", "2"), obj("a", "3"), obj("a", "4"), obj("a", "5"), obj("a", "6"))
		inject(t, s, "cut")
		synctest.Wait()
		require.NoError(t, d.end(t))
	})
}

func TestFaultDown(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		a := watch(t, s, from("1"))
		inject(t, s, "down 503 for=10s")
		synctest.Wait()
		require.EqualError(t, a.end(t), "unavailable: down: connection broken")
		time.Sleep(9 * time.Second)
		_, _, err := list(t, s, listwatch.ListOptions{})
		require.EqualError(t, err, "status 503: down")
		require.ErrorIs(t, watch(t, s, from("1")).end(t), listwatch.ErrUnavailable)
		time.Sleep(time.Second)
		synctest.Wait()
		_, _, err = list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		b := watch(t, s, from("1"))
		inject(t, s, "down list")
		synctest.Wait()
		b.running(t)
		_, _, err = list(t, s, listwatch.ListOptions{})
		require.ErrorIs(t, err, listwatch.ErrUnavailable)
		s.Heal()
		_, _, err = list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		time.Sleep(time.Minute) // what was healed does not end anything later
		b.running(t)
	})
}

func TestFaultHang(t *testing.T) {
	bubble(t, options{WatchTimeout: time.Minute}, func(t *testing.T, s source) {
		a := watch(t, s, from("1"))
		inject(t, s, "hang for=30s")
		put(t, s, obj("a", "1"))
		start := time.Now()
		got, _, err := list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, 30*time.Second, time.Since(start))
		require.Equal(t, []string{"a=1@2"}, got)
		synctest.Wait()
		require.Equal(t, []string{"Added a=1@2 at 2"}, a.told())

		inject(t, s, "hang list")
		own := errors.New("own")
		ctx, cancel := cancelAfter(t, 20*time.Second, own)
		defer cancel()
		_, err = s.List(ctx, listwatch.ListOptions{}, nil)
		require.Equal(t, own, err)
		a.running(t)
		s.Heal()
		inject(t, s, "hang watch for=1h")
		put(t, s, obj("a", "2"))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.NoError(t, a.end(t), "its timeout went on")
		require.Len(t, a.told(), 1)
		_, _, err = list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
	})
}

func TestFaultHalfOpen(t *testing.T) {
	bubble(t, options{WatchTimeout: time.Minute}, func(t *testing.T, s source) {
		put(t, s, obj("a", "1"))
		dead := watch(t, s, from("1"))
		inject(t, s, "half-open")
		live := watch(t, s, from("1"))
		put(t, s, obj("a", "2"))
		s.Cut(nil)
		s.Heal()
		synctest.Wait()
		require.NoError(t, live.end(t))
		time.Sleep(time.Hour)
		synctest.Wait()
		dead.running(t)
		require.Equal(t, []string{"Added a=1@2 at 2"}, dead.told())
		own := errors.New("own")
		dead.cancel(own)
		synctest.Wait()
		require.Equal(t, own, dead.end(t))

		inject(t, s, "slow list for=10s")
		time.AfterFunc(5*time.Second, func() { inject(t, s, "half-open list") })
		ctx, cancel := cancelAfter(t, time.Hour, own)
		defer cancel()
		_, err := s.List(ctx, listwatch.ListOptions{}, nil)
		require.Equal(t, own, err, "a list that was on its way")
	})
}

func TestFaultSlow(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		put(t, s, obj("a", "1"))
		inject(t, s, "slow n=2 for=3s")
		start := time.Now()
		got, _, err := list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, 3*time.Second, time.Since(start))
		w := watch(t, s, from("1"))
		require.Empty(t, w.told())
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(t, w.told(), 1)
		put(t, s, obj("b", "1"))
		synctest.Wait()
		require.Len(t, w.told(), 2)
		inject(t, s, "slow watch for=10s", "cut n=9") // cut while a batch is late
		put(t, s, obj("c", "1"))
		time.Sleep(time.Second)
		s.Cut(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.NoError(t, w.end(t))
		require.Len(t, w.told(), 2)
	})
}

func TestFaultDrop(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		w := watch(t, s, from("1"))
		inject(t, s, "drop")
		put(t, s, obj("a", "1"), obj("b", "1"))
		synctest.Wait()
		require.Equal(t, []string{"Added b=1@3 at 3"}, w.told())
		got, _, err := list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		require.Len(t, got, 2)
	})
}

// What cannot be taken is told to Refused, which decides whether the call goes on.
func TestFaultSpoiled(t *testing.T) {
	for kind, row := range map[string]struct {
		class      error
		list, live string
	}{
		"garbage":       {listwatch.ErrDecode, `ns/a@2 object "ns/a": cannot decode`, `ns/b@3 object "ns/b": cannot decode`},
		"nameless":      {listwatch.ErrProtocol, "@2 protocol violation: an object without name", "@3 protocol violation: an object without name"},
		"wrong-kind":    {listwatch.ErrWrongKind, `ns/a@2 object "ns/a": wrong kind`, `ns/b@3 object "ns/b": wrong kind`},
		"oversize":      {listwatch.ErrTooLarge, `ns/a@2 object "ns/a": object too large`, `ns/b@3 object "ns/b": object too large`},
		"unknown-event": {listwatch.ErrProtocol, "", `ns/b@3 object "ns/b": protocol violation: an event of type "UNKNOWN"`},
	} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, options{}, func(t *testing.T, s source) {
				put(t, s, obj("a", "1"))
				var refused reasons
				own := errors.New("own")
				if row.list != "" {
					inject(t, s, kind+" list n=3")
					_, _, err := list(t, s, listwatch.ListOptions{})
					require.ErrorIs(t, err, row.class)
					got, _, err := list(t, s, listwatch.ListOptions{Refused: refused.refuse})
					require.NoError(t, err)
					require.Empty(t, got)
					require.Equal(t, reasons{row.list}, refused)
					_, _, err = list(t, s, listwatch.ListOptions{Refused: func(listwatch.Head, error) error { return own }})
					require.Equal(t, own, err)
				}
				inject(t, s, kind+" n=3")
				w := watch(t, s, listwatch.WatchOptions{ResourceVersion: "2", Refused: func(h listwatch.Head, err error) error {
					return refused.refuse(h, err)
				}})
				put(t, s, obj("b", "1"), obj("c", "1"))
				synctest.Wait()
				require.Equal(t, row.live, refused[len(refused)-2])
				require.Empty(t, w.told())
				err := s.Watch(t.Context(), from("2"), nil)
				require.ErrorIs(t, err, row.class)
				again := watch(t, s, from("2"))
				require.Len(t, again.told(), 2, "nothing is lost")
			})
		})
	}
}

func TestFaultBookmarks(t *testing.T) {
	bubble(t, options{BookmarkEvery: time.Minute}, func(t *testing.T, s source) {
		put(t, s, obj("a", "1"), obj("b", "1"), obj("c", "1"))
		inject(t, s, "late-bookmark n=2") // for the next one
		w := watch(t, s, from("3"))
		require.Equal(t, []string{"Added c=1@4 at 4", "Bookmark at 2"}, w.told())
		inject(t, s, "repeat-bookmark n=2", "late-bookmark n=99")
		synctest.Wait()
		require.Equal(t, []string{"Bookmark at 4", "Bookmark at 4", "Bookmark at 1"}, w.told()[2:])
		inject(t, s, "no-bookmarks for=150s")
		s.Bookmark()
		inject(t, s, "repeat-bookmark n=2")
		time.Sleep(150 * time.Second)
		synctest.Wait()
		require.Len(t, w.told(), 5)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"Bookmark at 4"}, w.told()[5:])
	})
}

func TestFaultPages(t *testing.T) {
	s := newSource(options{})
	put(t, s, obj("a", "1"), obj("b", "1"), obj("c", "1"), obj("d", "1"), obj("e", "1"))
	pages := func(limit int64) (sizes []int, all []string) {
		o := listwatch.ListOptions{Limit: limit}
		for {
			got, meta, err := list(t, s, o)
			require.NoError(t, err)
			require.Equal(t, "6", meta.ResourceVersion)
			sizes, all = append(sizes, len(got)), append(all, got...)
			if o.Continue = meta.Continue; o.Continue == "" {
				return sizes, all
			}
		}
	}
	sizes, want := pages(4)
	require.Equal(t, []int{4, 1}, sizes)
	inject(t, s, "short-pages")
	sizes, all := pages(4)
	require.Equal(t, []int{0, 2, 0, 2, 0, 1}, sizes)
	require.Equal(t, want, all)
	s.Heal()
	inject(t, s, "short-pages n=3")
	sizes, all = pages(4)
	require.Equal(t, []int{0, 3, 0, 2}, sizes)
	require.Equal(t, want, all)
	sizes, _ = pages(0)
	require.Equal(t, []int{5}, sizes, "nobody asked for pages")
	s.Heal()

	inject(t, s, "repeat-page")
	sizes, all = pages(3)
	require.Equal(t, []int{6, 2}, sizes)
	require.Equal(t, append(append([]string{}, want[:3]...), want...), all)

	inject(t, s, "partial-list n=2", "partial-list 500 n=9", "partial-list")
	got, meta, err := list(t, s, listwatch.ListOptions{})
	require.EqualError(t, err, "unavailable: partial-list: connection broken")
	require.Equal(t, want[:2], got)
	require.Zero(t, meta)
	got, _, err = list(t, s, listwatch.ListOptions{})
	require.ErrorContains(t, err, "status 500")
	require.Equal(t, want, got)
	got, _, err = list(t, s, listwatch.ListOptions{})
	require.ErrorIs(t, err, listwatch.ErrUnavailable)
	require.Empty(t, got)

	_, meta, err = list(t, s, listwatch.ListOptions{Limit: 1})
	require.NoError(t, err)
	inject(t, s, "expire-tokens")
	_, later, err := list(t, s, listwatch.ListOptions{Limit: 1})
	require.NoError(t, err)
	_, _, err = list(t, s, listwatch.ListOptions{Limit: 1, Continue: meta.Continue})
	require.ErrorIs(t, err, listwatch.ErrExpired)
	_, _, err = list(t, s, listwatch.ListOptions{Limit: 1, Continue: later.Continue})
	require.NoError(t, err)
}

func TestFaultHistory(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		put(t, s, obj("a", "1"), obj("b", "1"), obj("c", "1"), obj("d", "1"))
		inject(t, s, "compact n=2") // now is 5
		require.ErrorIs(t, s.Watch(t.Context(), from("2"), nil), listwatch.ErrExpired)
		require.Len(t, watch(t, s, from("3")).told(), 2)
		inject(t, s, "compact n=99")
		require.Len(t, watch(t, s, from("3")).told(), 2)
		inject(t, s, "restore")
		require.Equal(t, "4", s.Version())
		inject(t, s, "restore n=99")
		require.Equal(t, "3", s.Version(), "not behind what is held")
		inject(t, s, "compact")
		require.ErrorIs(t, s.Watch(t.Context(), from("2"), nil), listwatch.ErrExpired)
	})
}

func TestFaultLag(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		put(t, s, obj("a", "1"), obj("b", "1"), obj("c", "1"))
		inject(t, s, "lag n=2 for=1m") // now is 4
		_, meta, err := list(t, s, listwatch.ListOptions{Match: notOlder, ResourceVersion: "1"})
		require.NoError(t, err)
		require.Equal(t, "2", meta.ResourceVersion)
		_, _, err = list(t, s, listwatch.ListOptions{Match: notOlder, ResourceVersion: "3"})
		require.ErrorIs(t, err, listwatch.ErrTooLargeVersion)
		_, meta, err = list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, "4", meta.ResourceVersion, "the latest is asked of the store")
		w := watch(t, s, from("1"))
		s.Bookmark()
		put(t, s, obj("d", "1"))
		ahead := watch(t, s, from("4"))
		any := watch(t, s, listwatch.WatchOptions{ResourceVersion: "0", InitialEvents: true})
		latest := watch(t, s, listwatch.WatchOptions{InitialEvents: true})
		require.Equal(t, []string{"Added a=1@2 at 2", "Bookmark at 2"}, w.told())
		require.Empty(t, ahead.told())
		require.Equal(t, []string{"Added a=1@2 at ", "Synced at 2"}, any.told())
		require.Len(t, latest.told(), 5)
		inject(t, s, "compact n=1")
		_, meta, err = list(t, s, listwatch.ListOptions{Match: notOlder, ResourceVersion: "0"})
		require.NoError(t, err)
		require.Equal(t, "4", meta.ResourceVersion, "what is forgotten cannot be shown")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"Added d=1@5 at 5"}, ahead.told())
	})
}

// Orders come and go while calls run: nothing races, and healed it is as if nothing had been.
func TestFaultsRace(t *testing.T) {
	seed := seedOf(t)
	bubble(t, options{}, func(t *testing.T, s source) {
		script := fakes.RandomScript(seed, 300, time.Minute)
		var calls []*watching
		for range 4 {
			w := &watching{cancel: func(error) {}}
			calls = append(calls, w)
			w.group.Go(func() {
				for start := time.Now(); time.Since(start) < 2*time.Minute; time.Sleep(100 * time.Millisecond) {
					ctx, cancel := cancelAfter(t, 5*time.Second, nil)
					_ = s.Watch(ctx, listwatch.WatchOptions{InitialEvents: true}, func(...event) error { return nil })
					_, _ = s.List(ctx, listwatch.ListOptions{Limit: 3}, func(...object) error { return nil })
					cancel()
				}
			})
		}
		calls[0].group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 2))
			for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(50 * time.Millisecond) {
				_, _ = s.Put(obj(string(rune('a'+rng.IntN(5))), fmt.Sprint(rng.IntN(9))))
			}
		})
		require.NoError(t, script.Play(t.Context(), nil, s))
		s.Heal()
		for _, w := range calls {
			w.group.Wait()
		}
		require.Zero(t, s.Watches())
		w := watch(t, s, listwatch.WatchOptions{InitialEvents: true})
		require.Len(t, w.told(), len(s.Objects())+1)
	})
}
