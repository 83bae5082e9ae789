package fakes_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/stretchr/testify/require"
)

var seed = flag.Uint64("seed", 0, "seed of the random tests; 0: another one each time")

func seedOf(t *testing.T) uint64 {
	n := *seed
	if n == 0 {
		n = rand.Uint64()
	}
	t.Logf("-seed=%d", n)
	return n
}

func random(t *testing.T) *rand.Rand {
	n := seedOf(t)
	return rand.New(rand.NewPCG(n, n))
}

// contents maps names to values and versions.
type contents map[string]string

func (c contents) apply(t *testing.T, events ...event) {
	for _, e := range events {
		if e.Type == listwatch.Bookmark || e.Type == listwatch.Synced {
			continue
		}
		name := e.Object.Name
		_, held := c[name]
		require.Equal(t, e.Type != listwatch.Added, held, "%s", describe(e))
		if e.Type == listwatch.Deleted {
			delete(c, name)
		} else {
			c[name] = e.Object.Value + "@" + e.Object.ResourceVersion
		}
	}
}

var errCaughtUp = errors.New("caught up")

// replay reads a watch up to a version onto c.
func (c contents) replay(t *testing.T, s listwatch.ListerWatcher[object], from, to string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	last := from
	err := s.Watch(ctx, listwatch.WatchOptions{ResourceVersion: from}, func(events ...event) error {
		c.apply(t, events...)
		for _, e := range events {
			require.True(t, listwatch.Newer(e.ResourceVersion, last), "%s after %s", describe(e), last)
			last = e.ResourceVersion
		}
		if last == to {
			cancel(errCaughtUp)
		}
		return nil
	})
	require.ErrorIs(t, err, errCaughtUp)
}

func listContents(t *testing.T, s listwatch.ListerWatcher[object], o listwatch.ListOptions) contents {
	t.Helper()
	c := contents{}
	_, err := s.List(t.Context(), o, func(objects ...object) error {
		for _, o := range objects {
			c[o.Name] = o.Value + "@" + o.ResourceVersion
		}
		return nil
	})
	require.NoError(t, err)
	return c
}

// step does one random write and mirrors it in c.
func step(t *testing.T, r *rand.Rand, s source, c contents) {
	name := fmt.Sprintf("o%d", r.IntN(8))
	switch r.IntN(10) {
	case 0:
		s.Advance(uint64(r.IntN(3)))
	case 1, 2, 3:
		gone, err := s.Delete(key(name), fakes.Preconditions{})
		if c[name] == "" {
			require.ErrorIs(t, err, listwatch.ErrNotFound)
			return
		}
		require.NoError(t, err)
		require.Equal(t, s.Version(), gone.ResourceVersion)
		delete(c, name)
	default:
		value := strconv.Itoa(r.IntN(4))
		before := s.Version()
		o := put(t, s, obj(name, value))
		same := c[name] == value+"@"+o.ResourceVersion
		require.Equal(t, same, before == s.Version(), "only a change makes a version")
		if !same {
			n, err := strconv.Atoi(before)
			require.NoError(t, err)
			require.Equal(t, strconv.Itoa(n+1), s.Version(), "and one only")
		}
		c[name] = value + "@" + o.ResourceVersion
	}
}

// TestAgainstModel: each version that is held can be listed, and a watch from it leads to
// the newest state, with and without a selector, after compactions and restores, too.
func TestAgainstModel(t *testing.T) {
	r := random(t)
	odd := func(o object) bool { return o.Value == "1" || o.Value == "3" || o.Name == "last" }
	for range 8 {
		s := newSource(options{History: 60})
		c := contents{}
		states := map[string]contents{s.Version(): {}}
		write := func() {
			for range 40 + r.IntN(60) {
				step(t, r, s, c)
				states[s.Version()] = maps.Clone(c)
			}
		}
		write()
		back := s.Version()
		for range 20 {
			step(t, r, s, maps.Clone(c))
			c = listContents(t, s, listwatch.ListOptions{})
		}
		require.NoError(t, s.Restore(back))
		c = maps.Clone(states[back])
		require.Equal(t, c, listContents(t, s, listwatch.ListOptions{}))
		write()
		last := put(t, s, obj("last", "1"))
		c["last"] = "1@" + last.ResourceVersion
		states[s.Version()] = c

		held := 0
		for version, want := range states {
			o := listwatch.ListOptions{Match: listwatch.MatchExact, ResourceVersion: version}
			if _, _, err := list(t, s, o); err != nil {
				require.ErrorIs(t, err, listwatch.ErrExpired)
				require.ErrorIs(t, s.Watch(t.Context(), from(version), nil), listwatch.ErrExpired)
				continue
			}
			held++
			got := listContents(t, s, o)
			require.Equal(t, want, got, "at %s", version)
			if version == s.Version() {
				continue
			}
			got.replay(t, s, version, s.Version())
			require.Equal(t, c, got, "from %s", version)
			selected := listContents(t, s.Select(odd), o)
			selected.replay(t, s.Select(odd), version, s.Version())
			require.Equal(t, listContents(t, s.Select(odd), listwatch.ListOptions{}), selected)
		}
		require.Greater(t, held, 10)
	}
}

// follow keeps a copy of the collection, as simply as can be, until it holds last.
func follow(t *testing.T, s source) contents {
	for {
		c := contents{}
		meta, err := s.List(t.Context(), listwatch.ListOptions{Limit: 3}, func(objects ...object) error {
			for _, o := range objects {
				c[o.Name] = o.Value + "@" + o.ResourceVersion
			}
			return nil
		})
		for err == nil && meta.Continue != "" {
			meta, err = s.List(t.Context(), listwatch.ListOptions{Limit: 3, Continue: meta.Continue}, func(objects ...object) error {
				for _, o := range objects {
					c[o.Name] = o.Value + "@" + o.ResourceVersion
				}
				return nil
			})
		}
		for err == nil || errors.Is(err, listwatch.ErrTooManyRequests) {
			if c["last"] != "" {
				return c
			}
			err = s.Watch(t.Context(), from(meta.ResourceVersion), func(events ...event) error {
				c.apply(t, events...)
				meta.ResourceVersion = events[len(events)-1].ResourceVersion
				if c["last"] != "" {
					return errCaughtUp
				}
				return nil
			})
			if errors.Is(err, errCaughtUp) {
				return c
			}
		}
		require.ErrorIs(t, err, listwatch.ErrExpired)
	}
}

// TestFollowersConverge is a race of writers, faults and readers.
func TestFollowersConverge(t *testing.T) {
	r := random(t)
	s := newSource(options{History: 300})
	var readers, writers worker.Group
	copies := make([]contents, 8)
	for i := range copies {
		readers.Go(func() { copies[i] = follow(t, s) })
	}
	for range 3 {
		r := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
		writers.Go(func() {
			for range 2_000 {
				name := fmt.Sprintf("o%d", r.IntN(20))
				switch r.IntN(40) {
				case 0:
					s.Cut(nil)
				case 1:
					s.Cut(fakes.Status(429, "later"))
				case 2:
					s.CutNext(r.IntN(3), nil)
				case 3:
					s.Fail(fakes.VerbWatch, fakes.Status(429, "later"))
				case 4:
					_ = s.Compact(s.Version())
				case 5:
					s.Bookmark()
				case 6, 7, 8, 9, 10, 11, 12, 13, 14:
					_, _ = s.Delete(key(name), fakes.Preconditions{})
				default:
					_, _ = s.Put(obj(name, strconv.Itoa(r.Int())))
				}
			}
		})
	}
	writers.Wait()
	put(t, s, obj("last", "1"))
	readers.Wait()
	want := listContents(t, s, listwatch.ListOptions{})
	for _, c := range copies {
		require.Equal(t, want, c)
	}
	require.Zero(t, s.Watches())
}
