package deltafifo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

func TestApplyKeepsEverythingInOrder(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.apply(
		event(listwatch.Added, newPod("a", "U", "1"), "1"),
		event(listwatch.Added, newPod("b", "V", "2"), "2"),
		event(listwatch.Modified, newPod("a", "U", "3"), "3"),
		event(listwatch.Deleted, newPod("b", "V", "2"), "4"),
		event(listwatch.Deleted, newPod("a", "U", "5"), ""),
	)
	require.Equal(t, 2, r.q.Len())
	equal(t, []*pod{newPod("a", "U", "5"), newPod("b", "V", "2")}, r.q.List())
	equal(t, deltafifo.Stats{Keys: 2, Deltas: 5}, r.q.Stats())
	require.NoError(t, r.q.Pop(t.Context(), 1, func(b deltafifo.Batch[*pod]) error {
		equal(t, deltafifo.Stats{Keys: 1, Deltas: 2, InFlight: 1}, r.q.Stats())
		equal(t, []string{"Added a/U@1", "Updated a/U@3", "Deleted a/U@5 was 5"}, showAll(b))
		return nil
	}))
	lines, batch := r.pop(0)
	equal(t, []string{"Added b/V@2", "Deleted b/V@4 was 2"}, lines)
	equal(t, deltafifo.Batch[*pod]{Version: "4"}, batch) // not exact: a was there at 4
	equal(t, deltafifo.Stats{}, r.q.Stats())
}

func TestApplyTakesAllOrNothing(t *testing.T) {
	good := event(listwatch.Added, newPod("a", "", "1"), "1")
	for name, bad := range map[string]listwatch.Event[*pod]{
		"synced":    {Type: listwatch.Synced, ResourceVersion: "2"},
		"no type":   event(0, newPod("b", "", "2"), "2"),
		"unknown":   event(99, newPod("b", "", "2"), "2"),
		"no name":   event(listwatch.Added, newPod("", "", "2"), "2"),
		"no name 2": event(listwatch.Deleted, newPod("", "", "2"), "2"),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, deltafifo.Options{})
			err := r.q.Apply(t.Context(), good, bad)
			require.ErrorIs(t, err, listwatch.ErrProtocol)
			require.ErrorContains(t, err, "deltafifo: event 1: ")
			require.Empty(t, r.q.Position())
			r.quiet()
		})
	}
}

func TestPosition(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	for _, step := range []struct{ reached, want string }{
		{"", ""}, {"5", "5"}, {"", "5"}, {"4", "5"}, {"10", "10"}, {"opaque", "opaque"}, {"other", "other"},
	} {
		r.apply(bookmark(step.reached))
		require.Equal(t, step.want, r.q.Position())
	}
	// The newest of a batch counts, and a Rebuild does not take the position back.
	r = newRig(t, deltafifo.Options{})
	r.apply(bookmark("8"), bookmark("7"))
	require.Equal(t, "8", r.q.Position())
	require.NoError(t, r.q.Replace(t.Context(), "6"))
	require.Equal(t, "8", r.q.Position())
	require.NoError(t, r.q.Replace(t.Context(), "9"))
	require.Equal(t, "9", r.q.Position())
}

// The position of a batch moves behind all of it, so a part of it does not cover its version.
func TestVersionOfPart(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.apply(bookmark("3"))
	r.apply(event(listwatch.Added, newPod("a", "", "4"), ""), event(listwatch.Added, newPod("b", "", "4"), "4"))
	r.apply(event(listwatch.Modified, newPod("a", "", "5"), "5"), event(listwatch.Added, newPod("c", "", "6"), "6"))
	for _, want := range []deltafifo.Batch[*pod]{{Version: "3"}, {Version: "4"}, {Version: "6", Exact: true}} {
		_, batch := r.pop(1)
		equal(t, want, batch)
	}
}

func TestSyncedOfPart(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	require.NoError(t, r.q.Replace(t.Context(), "2", newPod("a", "", "1"), newPod("b", "", "2")))
	r.apply(event(listwatch.Added, newPod("c", "", "3"), "3"))
	lines, batch := r.pop(1)
	equal(t, []string{"Replaced a/@1 +initial"}, lines)
	equal(t, deltafifo.Batch[*pod]{}, batch)
	_, batch = r.pop(1)
	equal(t, deltafifo.Batch[*pod]{Version: "2", Synced: true}, batch)
	lines, batch = r.pop(1)
	equal(t, []string{"Added c/@3"}, lines)
	equal(t, deltafifo.Batch[*pod]{Version: "3", Exact: true, Synced: true}, batch)
}

// An empty collection is synced at once, and a first list that failed does not count.
func TestSyncedWithoutObjects(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	s := r.q.Begin(listwatch.Rebuild)
	put(t, s, newPod("a", "", "1"))
	s.Abort()
	r.pop(0)
	require.False(t, r.q.HasSynced())
	r = newRig(t, deltafifo.Options{})
	require.NoError(t, r.q.Replace(t.Context(), "1"))
	require.True(t, r.q.HasSynced())
	lines, batch := r.pop(0)
	equal(t, []string{}, lines)
	equal(t, deltafifo.Batch[*pod]{Version: "1", Exact: true, Synced: true}, batch)
	r.quiet()
}

func TestNewRefusesNegativeLimit(t *testing.T) {
	require.PanicsWithValue(t, "deltafifo: negative Limit -1", func() {
		deltafifo.New[*pod](nil, deltafifo.Options{Limit: -1})
	})
}

func TestTypeString(t *testing.T) {
	require.Equal(t, "Added Updated Replaced Deleted Type(9)", func() (s string) {
		for _, typ := range []deltafifo.Type{deltafifo.Added, deltafifo.Updated, deltafifo.Replaced, deltafifo.Deleted} {
			s += typ.String() + " "
		}
		return s + deltafifo.Type(9).String()
	}())
}

// full returns a queue that has no room: two deltas beyond the first of their key.
func full(t *testing.T) *rig {
	r := newRig(t, deltafifo.Options{Limit: 2})
	for _, v := range []string{"1", "2", "3"} {
		r.apply(event(listwatch.Modified, newPod("hot", "", v), v))
	}
	return r
}

func TestWritersWaitForRoom(t *testing.T) {
	writers := map[string]func(ctx context.Context, r *rig, s snapshot) error{
		"Apply": func(ctx context.Context, r *rig, _ snapshot) error {
			return r.q.Apply(ctx, event(listwatch.Modified, newPod("hot", "", "4"), "4"))
		},
		"Put": func(ctx context.Context, _ *rig, s snapshot) error { return s.Put(ctx, newPod("hot", "", "4")) },
	}
	stopped := errors.New("stopped by the test")
	ways := map[string]struct {
		do   func(r *rig, cancel context.CancelCauseFunc)
		want error
	}{
		"pop":   {func(r *rig, _ context.CancelCauseFunc) { r.pop(1) }, nil},
		"ctx":   {func(_ *rig, cancel context.CancelCauseFunc) { cancel(stopped) }, stopped},
		"close": {func(r *rig, _ context.CancelCauseFunc) { r.q.Close() }, listwatch.ErrStopped},
	}
	for writer, write := range writers {
		for way, c := range ways {
			t.Run(writer+"/"+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := full(t)
					s := r.q.Begin(listwatch.Rebuild)
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					var g worker.Group
					var err error
					done := false
					g.Go(func() { err = write(ctx, r, s); done = true })
					synctest.Wait()
					require.False(t, done)
					require.Equal(t, 1, r.q.Stats().Waiting)
					require.Equal(t, 3, r.q.Stats().Deltas)
					c.do(r, cancel)
					g.Wait()
					require.ErrorIs(t, err, c.want)
					require.Zero(t, r.q.Stats().Waiting)
				})
			})
		}
	}
}

func TestBatchReachesItsLast(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.apply(event(listwatch.Added, newPod("a", "", "1"), "1"), event(listwatch.Added, newPod("b", "", "2"), "2"))
	require.Equal(t, "2", r.q.Position())
}

func TestCloseEndsAnApplyThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := full(t)
		var g worker.Group
		var err error
		g.Go(func() { err = r.q.Apply(t.Context(), event(listwatch.Modified, newPod("hot", "", "4"), "4")) })
		synctest.Wait()
		r.q.Close()
		g.Wait()
		require.ErrorIs(t, err, listwatch.ErrStopped)
	})
}

func TestPutEndsWithItsSnapshotWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := full(t)
		s := r.q.Begin(listwatch.Rebuild)
		var g worker.Group
		var err error
		g.Go(func() { err = s.Put(t.Context(), newPod("hot", "", "4")) })
		synctest.Wait()
		r.q.Begin(listwatch.Rebuild)
		g.Wait()
		require.ErrorIs(t, err, listwatch.ErrStopped)
	})
}

// The bound is of deltas beyond the first of each key, and a batch is taken whole.
func TestBound(t *testing.T) {
	r := newRig(t, deltafifo.Options{Limit: 1})
	r.apply(event(listwatch.Added, newPod("a", "", "1"), "1"), event(listwatch.Added, newPod("b", "", "2"), "2"))
	r.apply(event(listwatch.Modified, newPod("a", "", "3"), "3"), event(listwatch.Modified, newPod("a", "", "4"), "4"),
		event(listwatch.Modified, newPod("b", "", "5"), "5"))
	require.Equal(t, 5, r.q.Stats().Deltas)
	r.apply(bookmark("6"))
	require.Equal(t, "6", r.q.Position(), "a bookmark needs no room")
	s := r.q.Begin(listwatch.Compare)
	put(t, s, newPod("a", "", "4"), newPod("b", "", "5"))
	require.NoError(t, s.Commit("6"), "a Compare needs no room")
}

func TestDoneContextAndClosedQueue(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	r.apply(event(listwatch.Added, newPod("a", "", "1"), "1"))
	require.ErrorIs(t, r.q.Add(ctx, newPod("b", "", "2")), stop)
	require.ErrorIs(t, r.q.Pop(ctx, 0, func(deltafifo.Batch[*pod]) error { return nil }), stop)
	require.Equal(t, 1, r.q.Len())
	r.q.Close()
	r.q.Close()
	require.ErrorIs(t, r.q.Update(t.Context(), newPod("a", "", "2")), listwatch.ErrStopped)
	require.ErrorIs(t, r.q.Apply(t.Context(), bookmark("9")), listwatch.ErrStopped)
	lines, _ := r.pop(0)
	equal(t, []string{"Added a/@1"}, lines)
	require.ErrorIs(t, r.q.Pop(t.Context(), 0, func(deltafifo.Batch[*pod]) error { return nil }), listwatch.ErrStopped)
}
