package deltafifo_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

func TestKnown(t *testing.T) {
	head := func(name, uid, version string) listwatch.Head {
		return listwatch.Head{Key: key(name), UID: uid, ResourceVersion: version}
	}
	cases := map[string]struct {
		head listwatch.Head
		want bool
	}{
		"held":                             {head("held", "U", "1"), true},
		"held, listed without identity":    {head("held", "", "1"), true},
		"held, other identity":             {head("held", "V", "1"), false},
		"held, newer":                      {head("held", "U", "2"), false},
		"held without identity":            {head("plain", "U", "1"), true},
		"never seen":                       {head("other", "", "1"), false},
		"no version":                       {head("held", "U", ""), false},
		"no name":                          {head("", "U", "1"), false},
		"queued":                           {head("queued", "U", "3"), true},
		"queued, the state before":         {head("queued", "U", "1"), false},
		"deletion queued":                  {head("deleting", "U", "1"), false},
		"in flight":                        {head("flying", "U", "5"), true},
		"deletion in flight":               {head("falling", "U", "1"), false},
		"queued behind one in flight":      {head("both", "U", "8"), true},
		"in flight, but a newer is queued": {head("both", "U", "7"), false},
		"older event queued, newer held":   {head("late", "U", "9"), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, deltafifo.Options{})
			r.fill("1", newPod("held", "U", "1"), newPod("plain", "", "1"), newPod("queued", "U", "1"),
				newPod("deleting", "U", "1"), newPod("falling", "U", "1"), newPod("late", "U", "9"))
			r.apply(event(listwatch.Modified, newPod("flying", "U", "5"), "5"),
				event(listwatch.Deleted, newPod("falling", "U", "1"), "6"),
				event(listwatch.Modified, newPod("both", "U", "7"), "7"))
			require.NoError(t, r.q.Pop(t.Context(), 0, func(deltafifo.Batch[*pod]) error {
				r.apply(event(listwatch.Modified, newPod("both", "U", "8"), "8"),
					event(listwatch.Modified, newPod("queued", "U", "3"), "9"),
					event(listwatch.Modified, newPod("late", "U", "8"), "9"),
					event(listwatch.Deleted, newPod("deleting", "U", "1"), "10"))
				for _, mode := range []listwatch.Mode{listwatch.Rebuild, listwatch.Compare, listwatch.Reset} {
					require.Equal(t, c.want && mode != listwatch.Reset, r.q.Begin(mode).Known(c.head), mode)
				}
				return nil
			}))
		})
	}
}

func TestExact(t *testing.T) {
	exact := func(r *rig) bool {
		r.t.Helper()
		_, batch := r.pop(0)
		return batch.Exact
	}
	t.Run("not while a list comes in, nor when it was cut short", func(t *testing.T) {
		for _, mode := range []listwatch.Mode{listwatch.Rebuild, listwatch.Reset} {
			r := newRig(t, deltafifo.Options{})
			r.fill("10", newPod("a", "", "5"))
			s := r.q.Begin(mode)
			r.apply(bookmark("11"))
			require.False(t, exact(r))
			s.Abort()
			require.True(t, exact(r), "it left nothing behind")
			s = r.q.Begin(mode)
			put(t, s, newPod("a", "", "15"))
			require.False(t, exact(r))
			s.Abort()
			r.apply(bookmark("12"))
			require.False(t, exact(r))
			// The watch went on, and has passed what the list had brought. After a Reset its
			// position is that of another epoch.
			r.apply(bookmark("15"))
			require.Equal(t, mode == listwatch.Rebuild, exact(r))
			require.NoError(t, r.q.Begin(mode).Commit("16"))
			require.True(t, exact(r))
		}
	})
	t.Run("opaque versions need a whole list", func(t *testing.T) {
		r := newRig(t, deltafifo.Options{})
		r.fill("p", newPod("a", "", "x"))
		s := r.q.Begin(listwatch.Rebuild)
		put(t, s, newPod("a", "", "y"))
		s.Abort()
		require.False(t, exact(r))
		r.apply(bookmark("q"))
		require.False(t, exact(r))
		require.NoError(t, r.q.Replace(t.Context(), "r"))
		require.True(t, exact(r))
	})
	t.Run("changes without position", func(t *testing.T) {
		r := newRig(t, deltafifo.Options{})
		require.NoError(t, r.q.Add(t.Context(), newPod("a", "", "5")))
		require.False(t, exact(r))
		r.apply(bookmark("4"))
		require.False(t, exact(r))
		r.apply(bookmark("5"))
		require.True(t, exact(r))
		require.NoError(t, r.q.Update(t.Context(), newPod("a", "", "")))
		require.False(t, exact(r))
	})
	t.Run("a Compare does not matter", func(t *testing.T) {
		r := newRig(t, deltafifo.Options{})
		r.fill("10")
		r.q.Begin(listwatch.Compare)
		r.apply(bookmark("11"))
		require.True(t, exact(r))
	})
}

func TestEndedSnapshot(t *testing.T) {
	ends := map[string]func(q *deltafifo.DeltaFIFO[*pod], s snapshot){
		"commit":        func(_ *deltafifo.DeltaFIFO[*pod], s snapshot) { _ = s.Commit("9") },
		"abort":         func(_ *deltafifo.DeltaFIFO[*pod], s snapshot) { s.Abort() },
		"another Begin": func(q *deltafifo.DeltaFIFO[*pod], _ snapshot) { q.Begin(listwatch.Compare) },
		"close":         func(q *deltafifo.DeltaFIFO[*pod], _ snapshot) { q.Close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, deltafifo.Options{})
			r.fill("5", newPod("a", "", "5"))
			s := r.q.Begin(listwatch.Rebuild)
			put(t, s, newPod("a", "", "5"))
			end(r.q, s)
			require.False(t, s.Known(listwatch.Head{Key: key("a"), ResourceVersion: "5"}))
			require.ErrorIs(t, s.Put(t.Context(), newPod("b", "", "6")), listwatch.ErrStopped)
			require.ErrorIs(t, s.Commit("9"), listwatch.ErrStopped)
			s.Abort()
			require.Zero(t, r.q.Len())
		})
	}
}

func TestSnapshotRefusesNonsense(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	require.ErrorIs(t, r.q.Replace(t.Context(), "", newPod("a", "", "1")), listwatch.ErrProtocol)
	require.Panics(t, func() { r.q.Begin(0) })
	s := r.q.Begin(listwatch.Rebuild)
	require.ErrorIs(t, s.Put(t.Context(), newPod("a", "", "1"), newPod("", "", "1")), listwatch.ErrProtocol)
	require.Zero(t, r.q.Len())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Put(ctx, newPod("a", "", "1")), context.Canceled)
	require.ErrorIs(t, s.Commit(""), listwatch.ErrProtocol)
	put(t, s, newPod("a", "", "1"))
	require.NoError(t, s.Commit("1"), "it was still open")
	require.ErrorIs(t, r.q.Replace(ctx, "2"), context.Canceled)
	r.q.Close()
	require.ErrorIs(t, r.q.Begin(listwatch.Rebuild).Commit("3"), listwatch.ErrStopped)
}
