package fakes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/stretchr/testify/require"
)

func TestNewPanics(t *testing.T) {
	require.PanicsWithValue(t, "fakes: New without stamp", func() {
		fakes.New[object](nil, options{})
	})
	require.PanicsWithValue(t, "fakes: Options.History is -1, less than 0\n"+
		"Options.WatchTimeout is -1ns, less than 0\nOptions.FreshWait is -1ns, less than 0", func() {
		fakes.New(fakes.StampObject, options{History: -1, WatchTimeout: -1, FreshWait: -1})
	})
}

// Scenario 103.
func TestGivesAndTakesCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(options{})
		spoil := func(o object) {
			o.Value, o.Labels["a"], o.Finalizers[0] = "spoilt", "spoilt", "spoilt"
		}
		given := with(obj("a", "1"), func(o object) {
			o.Labels, o.Finalizers = map[string]string{"a": "b"}, []string{"f"}
		})
		created, err := s.Create(given)
		require.NoError(t, err)
		want := created.Clone()
		spoil(given)
		spoil(created)
		got, err := s.Get(key("a"))
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, got))
		spoil(got)
		for _, o := range s.Objects() {
			spoil(o)
		}
		for range 2 {
			_, err = s.List(t.Context(), listwatch.ListOptions{}, func(objects ...object) error {
				require.Empty(t, cmp.Diff([]object{want}, objects))
				spoil(objects[0])
				return nil
			})
			require.NoError(t, err)
			require.ErrorIs(t, s.Watch(t.Context(), from("1"), func(events ...event) error {
				require.Empty(t, cmp.Diff(want, events[0].Object))
				spoil(events[0].Object)
				return errors.ErrUnsupported
			}), errors.ErrUnsupported)
		}
		updated := want.Clone()
		updated.Value = "2"
		stored, err := s.Update(updated)
		require.NoError(t, err)
		want = stored.Clone()
		spoil(updated)
		spoil(stored)
		same, err := s.Update(want)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, same))
		spoil(same)
		terminating, err := s.Delete(key("a"), fakes.Preconditions{})
		require.NoError(t, err)
		want = terminating.Clone()
		spoil(terminating)
		require.Empty(t, cmp.Diff([]object{want}, s.Objects()))

		seeded := given.Clone()
		seeded.Name, seeded.Labels, seeded.Finalizers = "b", map[string]string{"a": "b"}, []string{"f"}
		require.NoError(t, s.Seed(seeded))
		want, err = s.Get(key("b"))
		require.NoError(t, err)
		spoil(seeded)
		got, err = s.Get(key("b"))
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, got))
	})
}

// Scenario 107: each function is called for what it is named after, unset ones for nothing.
func TestHooksAndFuncs(t *testing.T) {
	var called []string
	var s source
	hook := func(name string) error { called = append(called, name+"@"+s.Version()); return nil }
	s = newSource(options{Hooks: fakes.Hooks{
		BeforeList: func(_ context.Context, o listwatch.ListOptions) error {
			put(t, s, obj("a", "1"))
			return hook("BeforeList " + o.ResourceVersion)
		},
		AfterList: func(_ context.Context, m listwatch.ListMeta) error {
			put(t, s, obj("b", "1"))
			return hook("AfterList " + m.ResourceVersion)
		},
		BeforeWatch: func(_ context.Context, o listwatch.WatchOptions) error {
			put(t, s, obj("c", "1"))
			return hook("BeforeWatch " + o.ResourceVersion)
		},
	}})
	lw := listwatch.Funcs[object]{
		ListFunc: func(ctx context.Context, o listwatch.ListOptions, each func(...object) error) (listwatch.ListMeta, error) {
			called = append(called, "ListFunc")
			return s.List(ctx, o, each)
		},
		WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each func(...event) error) error {
			called = append(called, "WatchFunc")
			return s.Watch(ctx, o, each)
		},
	}
	got, _, err := list(t, lw, listwatch.ListOptions{ResourceVersion: "9"})
	require.NoError(t, err)
	require.Equal(t, []string{"a=1@2"}, got)
	var events []string
	require.ErrorIs(t, lw.Watch(t.Context(), from("2"), func(told ...event) error {
		for _, e := range told {
			events = append(events, describe(e))
		}
		return errors.ErrUnsupported
	}), errors.ErrUnsupported)
	require.Equal(t, []string{"Added b=1@3 at 3", "Added c=1@4 at 4"}, events)
	require.Equal(t, []string{"ListFunc", "BeforeList 9@2", "AfterList 2@3", "WatchFunc", "BeforeWatch 2@4"}, called)

	_, _, err = list(t, listwatch.Funcs[object]{}, listwatch.ListOptions{})
	require.ErrorIs(t, err, listwatch.ErrUnsupported)
	require.ErrorIs(t, listwatch.Funcs[object]{}.Watch(t.Context(), from("1"), nil), listwatch.ErrUnsupported)
	_, _, err = list(t, newSource(options{}), listwatch.ListOptions{})
	require.NoError(t, err)
}

func TestHooksFail(t *testing.T) {
	own := errors.New("own")
	s := newSource(options{Hooks: fakes.Hooks{
		BeforeList:  func(_ context.Context, o listwatch.ListOptions) error { return map[bool]error{true: own}[o.Limit > 0] },
		AfterList:   func(context.Context, listwatch.ListMeta) error { return own },
		BeforeWatch: func(context.Context, listwatch.WatchOptions) error { return own },
	}})
	put(t, s, obj("a", "1"))
	got, _, err := list(t, s, listwatch.ListOptions{Limit: 1})
	require.ErrorIs(t, err, own)
	require.Empty(t, got)
	got, meta, err := list(t, s, listwatch.ListOptions{})
	require.ErrorIs(t, err, own)
	require.Zero(t, meta)
	require.Equal(t, []string{"a=1@2"}, got)
	require.ErrorIs(t, s.Watch(t.Context(), from("1"), nil), own)
	require.Zero(t, s.Watches())
}

// Scenario 99: what is written between a list and a watch that comes late is not lost.
func TestWriteBetweenListAndWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(options{Hooks: fakes.Hooks{
			BeforeWatch: func(ctx context.Context, _ listwatch.WatchOptions) error {
				ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				<-ctx.Done()
				return nil
			},
		}})
		put(t, s, obj("cm1", "1"))
		_, meta, err := list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		w := watch(t, s, from(meta.ResourceVersion))
		synctest.Wait()
		require.Zero(t, s.Watches(), "the watch is held back")
		put(t, s, obj("cm2", "1"))
		require.Empty(t, w.told())
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, []string{"Added cm2=1@3 at 3"}, w.told())
		require.Equal(t, 1, s.Watches())
	})
}

// Scenario 99, as an informer sees it.
func TestInformerOfLateWatchMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s source
		written := false
		s = newSource(options{NoInitialEvents: true, Hooks: fakes.Hooks{
			BeforeWatch: func(_ context.Context, o listwatch.WatchOptions) error {
				if o.InitialEvents || written {
					return nil
				}
				time.Sleep(100 * time.Millisecond)
				written = true
				_, err := s.Put(obj("cm2", "1"))
				return err
			},
		}})
		put(t, s, obj("cm1", "1"))
		i := informer.New[object](s, informer.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- i.Run(ctx) }()
		require.NoError(t, i.WaitForSync(ctx))
		require.Equal(t, 1, i.Indexer().Len())
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		require.True(t, written)
		require.Equal(t, []listwatch.Key{key("cm1"), key("cm2")}, i.Indexer().Keys())
		cancel()
		require.NoError(t, <-ended)
	})
}

type node struct {
	listwatch.Meta
	labels map[string]string
}

func (n *node) clone() *node {
	return &node{Meta: n.Meta, labels: map[string]string{"zone": n.labels["zone"]}}
}

func TestStampMeta(t *testing.T) {
	s := fakes.New(fakes.StampMeta((*node).clone, func(n *node) *listwatch.Meta { return &n.Meta }), fakes.Options[*node]{})
	given := &node{Meta: listwatch.Meta{Name: "n1"}, labels: map[string]string{"zone": "a"}}
	n, err := s.Create(given)
	require.NoError(t, err)
	require.Equal(t, listwatch.Meta{Name: "n1", UID: "uid-1", ResourceVersion: "2"}, n.Meta)
	n.labels["zone"], given.labels["zone"] = "b", "b"
	require.Equal(t, "a", s.Objects()[0].labels["zone"])
	require.Empty(t, given.ResourceVersion)
	_, err = s.Update(n)
	require.NoError(t, err)
	require.Equal(t, "3", s.Version())
}

func TestStatus(t *testing.T) {
	classes := map[int]error{
		400: listwatch.ErrUnsupported, 401: listwatch.ErrUnauthorized, 403: listwatch.ErrForbidden,
		404: listwatch.ErrNotFound, 405: listwatch.ErrUnsupported, 406: listwatch.ErrUnsupported,
		409: fakes.ErrConflict, 410: listwatch.ErrExpired, 422: listwatch.ErrUnsupported,
		429: listwatch.ErrTooManyRequests, 500: listwatch.ErrUnavailable, 503: listwatch.ErrUnavailable,
		504: listwatch.ErrUnavailable,
	}
	for code, class := range classes {
		err := fakes.Status(code, "because")
		require.ErrorIs(t, err, class)
		require.Equal(t, code, err.Code)
		require.Contains(t, err.Error(), "because")
	}
	require.NoError(t, fakes.Status(418, "").Kind)
}

func TestVerbString(t *testing.T) {
	for verb, name := range map[fakes.Verb]string{
		fakes.VerbList: "List", fakes.VerbWatch: "Watch", fakes.VerbGet: "Get", fakes.VerbCreate: "Create",
		fakes.VerbUpdate: "Update", fakes.VerbDelete: "Delete", 0: "Verb(0)",
	} {
		require.Equal(t, name, verb.String())
	}
}
