package deltafifo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

// listCase is a list taken over a store with prepared contents and queue.
type listCase struct {
	held   []*pod
	at     string // the position; "" is 10
	events []listwatch.Event[*pod]
	// inside happens between Begin and Commit.
	inside func(r *rig, s snapshot)
	commit string // "" is 10
	// after happens behind Commit.
	after func(r *rig)
	want  []string
	drift uint64
}

func (c listCase) run(t *testing.T, mode listwatch.Mode) {
	r := newRig(t, deltafifo.Options{})
	if c.at == "" {
		c.at = "10"
	}
	if c.commit == "" {
		c.commit = "10"
	}
	r.fill(c.at, c.held...)
	if len(c.events) > 0 {
		r.apply(c.events...)
	}
	s := r.q.Begin(mode)
	if c.inside != nil {
		c.inside(r, s)
	}
	require.NoError(t, s.Commit(c.commit))
	if c.after != nil {
		c.after(r)
	}
	lines := []string{}
	if r.q.Len() > 0 {
		lines, _ = r.pop(0)
	}
	if c.want == nil {
		c.want = []string{}
	}
	equal(t, c.want, lines)
	require.Equal(t, c.drift, r.q.Stats().Drift)
	require.Zero(t, r.q.Stats().Unswept)
}

func puts(pods ...*pod) func(*rig, snapshot) {
	return func(r *rig, s snapshot) { put(r.t, s, pods...) }
}

// Scenario 74.
func TestRebuild(t *testing.T) {
	cases := map[string]listCase{
		"stale state is only marked": {held: []*pod{newPod("a", "U", "11")}, inside: puts(newPod("a", "U", "4"))},
		"another identity": {held: []*pod{newPod("a", "U", "5")}, inside: puts(newPod("a", "V", "8")),
			want: []string{"Replaced a/V@8"}},
		"unknown key":       {inside: puts(newPod("a", "U", "8")), want: []string{"Replaced a/U@8"}},
		"newer than a list": {held: []*pod{newPod("a", "", "12")}, commit: "11"},
		"older than the deletion that is queued": {held: []*pod{newPod("a", "U", "5")},
			events: []listwatch.Event[*pod]{event(listwatch.Deleted, newPod("a", "U", "5"), "11")},
			inside: puts(newPod("a", "U", "5")), commit: "12", want: []string{"Deleted a/U@11 was 5"}},
		"newer than the deletion that is queued": {held: []*pod{newPod("a", "U", "5")},
			events: []listwatch.Event[*pod]{event(listwatch.Deleted, newPod("a", "U", "5"), "11")},
			inside: puts(newPod("a", "V", "12")), commit: "12", want: []string{"Deleted a/U@11 was 5", "Replaced a/V@12"}},
		"not known and not put is missing": {held: []*pod{newPod("a", "", "5")},
			inside: func(r *rig, s snapshot) {
				require.False(r.t, s.Known(listwatch.Head{Key: key("a"), ResourceVersion: "7"}))
			},
			want: []string{"Deleted a/@10 was 5 +unknown"}},
		"refused keeps what is held": {held: []*pod{newPod("a", "", "5"), newPod("b", "", "5")},
			inside: func(r *rig, s snapshot) { require.False(r.t, s.Known(listwatch.Head{Key: key("a")})) },
			want:   []string{"Deleted b/@10 was 5 +unknown"}},
		"refused without name keeps everything": {held: []*pod{newPod("a", "", "5")},
			inside: func(r *rig, s snapshot) { require.False(r.t, s.Known(listwatch.Head{ResourceVersion: "7"})) }},
		"opaque versions": {at: "p", commit: "q",
			held:   []*pod{newPod("a", "", "x"), newPod("b", "", "x"), newPod("c", "", "x")},
			inside: puts(newPod("a", "", "x"), newPod("b", "", "y")),
			want:   []string{"Replaced b/@y", "Deleted c/@q was x +unknown"}},
		"identity of a queued deletion": {held: []*pod{newPod("a", "V", "x")}, at: "p", commit: "q",
			events: []listwatch.Event[*pod]{event(listwatch.Deleted, newPod("a", "U", "w"), "p")},
			want:   []string{"Deleted a/U@p was w", "Deleted a/V@q was x +unknown"}},
		"a late deletion is queued, a newer state is held": {held: []*pod{newPod("a", "", "12")},
			events: []listwatch.Event[*pod]{event(listwatch.Deleted, newPod("a", "", "5"), "11")}, commit: "13",
			want: []string{"Deleted a/@11 was 5", "Deleted a/@13 was 12 +unknown"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { c.run(t, listwatch.Rebuild) })
	}
}

// A server was restored, and its versions are past the position: what is held and is not newer
// than the list would be in it, or something newer.
func TestUnseenRestore(t *testing.T) {
	held := []*pod{newPod("a", "U", "8"), newPod("b", "U", "3"), newPod("c", "U", "9"), newPod("d", "U", "11")}
	listed := puts(newPod("a", "U", "4"), newPod("b", "U", "3"), newPod("d", "U", "2"), newPod("e", "U", "5"))
	for mode, want := range map[listwatch.Mode][]string{
		listwatch.Rebuild: {"Replaced e/U@5", "Replaced a/U@4 +force", "Deleted c/U@1000 was 9 +unknown"},
		listwatch.Compare: {"Replaced e/U@5", "Replaced a/U@4 +force", "Deleted c/U@1000 was 9 +unknown"},
	} {
		t.Run(mode.String(), func(t *testing.T) {
			c := listCase{held: held, inside: listed, commit: "1000", want: want}
			if mode == listwatch.Compare {
				c.drift = 3
				c.after = func(r *rig) { r.apply(bookmark("1000")) }
			}
			c.run(t, mode)
		})
	}
	for _, mode := range []listwatch.Mode{listwatch.Rebuild, listwatch.Compare} {
		t.Run("another object of the same version, "+mode.String(), func(t *testing.T) {
			c := listCase{held: held[:1], inside: puts(newPod("a", "V", "8")), commit: "11", want: []string{"Replaced a/V@8 +force"}}
			if mode == listwatch.Compare {
				c.drift = 1
				c.after = func(r *rig) { r.apply(bookmark("11")) }
			}
			c.run(t, mode)
		})
	}
	t.Run("older list", func(t *testing.T) {
		listCase{held: held[:1], inside: puts(newPod("a", "U", "4")), commit: "7", want: []string{}}.run(t, listwatch.Rebuild)
	})
	t.Run("changed beside the list", func(t *testing.T) {
		listCase{held: held[:1], commit: "11", inside: func(r *rig, s snapshot) {
			put(r.t, s, newPod("a", "U", "4"))
			r.apply(event(listwatch.Modified, newPod("a", "U", "12"), "12"))
		}, want: []string{"Updated a/U@12"}}.run(t, listwatch.Compare)
	})
	t.Run("a new epoch", func(t *testing.T) {
		r := newRig(t, deltafifo.Options{})
		r.fill("10", held[0])
		s := r.q.Begin(listwatch.Rebuild)
		put(t, s, newPod("a", "U", "4"))
		require.NoError(t, s.Commit("1000"))
		_, b := r.pop(0)
		require.Equal(t, uint64(1), b.Epoch)
		require.Equal(t, "1000", b.Version)
		r.apply(event(listwatch.Modified, newPod("a", "U", "1001"), "1001"))
		r.pop(0)
		equal(t, []listwatch.Head{{Key: key("a"), UID: "U", ResourceVersion: "1001"}}, r.store.heads())
	})
}

// A healthy watch: nothing is seen of the list.
func TestCompareBesideHealthyWatch(t *testing.T) {
	cases := map[string]listCase{
		"healthy": {held: []*pod{newPod("a", "", "5")}, inside: puts(newPod("a", "", "5"))},
		"watch lags behind the list": {held: []*pod{newPod("a", "", "5"), newPod("b", "", "6")}, commit: "13",
			inside: puts(newPod("a", "", "11")),
			after: func(r *rig) {
				require.Zero(r.t, r.q.Len())
				require.Equal(r.t, 1, r.q.Stats().Unswept)
				r.apply(event(listwatch.Modified, newPod("a", "", "11"), "11"), event(listwatch.Deleted, newPod("b", "", "6"), "12"), bookmark("13"))
			},
			want: []string{"Updated a/@11", "Deleted b/@12 was 6"}},
		"watch lags within a list": {held: []*pod{newPod("a", "", "5")}, commit: "13",
			inside: puts(newPod("a", "", "12")),
			after: func(r *rig) {
				r.apply(event(listwatch.Modified, newPod("a", "", "11"), "11"), event(listwatch.Modified, newPod("a", "", "12"), "13"))
			},
			want: []string{"Updated a/@11", "Updated a/@12"}},
		"listed before the watch has it, and gone again": {commit: "12", inside: func(r *rig, s snapshot) {
			put(r.t, s, newPod("a", "", "11"))
			r.apply(event(listwatch.Added, newPod("a", "", "11"), "11"), event(listwatch.Deleted, newPod("a", "", "11"), "13"))
			r.pop(0)
		}},
		"missing, but changed behind the list": {held: []*pod{newPod("a", "", "5")}, commit: "11",
			after: func(r *rig) { r.apply(event(listwatch.Added, newPod("a", "V", "12"), "12")) },
			want:  []string{"Added a/V@12"}},
		"deleted by the watch after it was listed": {held: []*pod{newPod("a", "", "5")}, inside: func(r *rig, s snapshot) {
			r.apply(event(listwatch.Deleted, newPod("a", "", "5"), "12"))
			r.pop(0)
			put(r.t, s, newPod("a", "", "5"))
		}},
		"list older than Begin shows a deleted object": {inside: puts(newPod("a", "", "5")), commit: "8"},
		"list older than Begin lacks a newer object":   {held: []*pod{newPod("a", "", "9")}, commit: "8"},
		"held ahead of the position, and the watch repeats it": {held: []*pod{newPod("a", "", "12")}, commit: "13",
			inside: func(r *rig, s snapshot) {
				require.True(r.t, s.Known(listwatch.Head{Key: key("a"), ResourceVersion: "12"}))
				r.apply(event(listwatch.Modified, newPod("a", "", "12"), "12"))
			},
			after: func(r *rig) { r.apply(bookmark("13")) },
			want:  []string{"Updated a/@12"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { c.run(t, listwatch.Compare) })
	}
}

// The watch has lost something.
func TestCompareRepairsDrift(t *testing.T) {
	added := event(listwatch.Added, newPod("b", "", "11"), "11")
	cases := map[string]listCase{
		"missed update": {held: []*pod{newPod("a", "", "5")}, inside: puts(newPod("a", "", "7")),
			want: []string{"Replaced a/@7"}, drift: 1},
		"missed new identity": {held: []*pod{newPod("a", "U", "5")}, inside: puts(newPod("a", "V", "7")),
			want: []string{"Replaced a/V@7"}, drift: 1},
		"missed add":    {inside: puts(newPod("a", "", "7")), want: []string{"Replaced a/@7"}, drift: 1},
		"missed delete": {held: []*pod{newPod("a", "", "5")}, want: []string{"Deleted a/@10 was 5 +unknown"}, drift: 1},
		"missed delete, list ahead of the watch": {held: []*pod{newPod("a", "", "5")}, commit: "11",
			after: func(r *rig) {
				require.Equal(r.t, 1, r.q.Stats().Unswept)
				r.apply(added)
			},
			want: []string{"Added b/@11", "Deleted a/@11 was 5 +unknown"}, drift: 1},
		"deleted, and a second life missed": {held: []*pod{newPod("a", "U", "5")}, commit: "13", inside: func(r *rig, s snapshot) {
			r.apply(event(listwatch.Deleted, newPod("a", "U", "5"), "11"), bookmark("13"))
			r.pop(0)
			put(r.t, s, newPod("a", "V", "12"))
		}, want: []string{"Replaced a/V@12"}, drift: 1},
		"list older than Begin lacks a held object": {held: []*pod{newPod("a", "", "5")}, commit: "8",
			want: []string{"Deleted a/@8 was 5 +unknown"}, drift: 1},
		"opaque versions": {at: "p", commit: "q",
			held:   []*pod{newPod("a", "", "x"), newPod("b", "", "x"), newPod("c", "", "x")},
			inside: puts(newPod("a", "", "x"), newPod("b", "", "y"), newPod("d", "", "z")),
			want:   []string{"Replaced b/@y", "Replaced d/@z", "Deleted c/@q was x +unknown"}, drift: 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { c.run(t, listwatch.Compare) })
	}
}

// A list of another history than the watch is of: what the watch still tells is not taken.
func TestContradictedWatchIsRefused(t *testing.T) {
	tests := map[string]struct {
		commit string
		inside func(*rig, snapshot)
		reach  bool // the watch has yet to reach the list's version
		want   []string
	}{
		"missing":        {commit: "10", want: []string{"Deleted a/U@10 was 8 +unknown"}},
		"missing, ahead": {commit: "11", reach: true, want: []string{"Deleted a/U@11 was 8 +unknown"}},
		"older state":    {commit: "10", inside: puts(newPod("a", "U", "4")), want: []string{"Replaced a/U@4 +force"}},
		"newer state":    {commit: "10", inside: puts(newPod("a", "U", "9")), want: []string{"Replaced a/U@9"}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, deltafifo.Options{})
			r.fill("10", newPod("a", "U", "8"))
			s := r.q.Begin(listwatch.Compare)
			if c.inside != nil {
				c.inside(r, s)
			}
			require.NoError(t, s.Commit(c.commit))
			if c.reach {
				require.NoError(t, r.q.Apply(t.Context(), bookmark(c.commit)))
			}
			stale := event(listwatch.Modified, newPod("a", "U", "12"), "12")
			require.ErrorIs(t, r.q.Apply(t.Context(), stale), listwatch.ErrDrift)
			lines, _ := r.pop(0)
			equal(t, c.want, lines)
			require.NotEqual(t, "12", r.q.Position())
			require.NoError(t, r.q.Add(t.Context(), newPod("b", "U", "1")), "no watch told it")
			require.NoError(t, r.q.Apply(t.Context(), stale), "of another watch")
			require.Equal(t, "12", r.q.Position())
		})
	}
}

func TestCompareLeavesThePositionAlone(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("10", newPod("a", "", "5"))
	s := r.q.Begin(listwatch.Compare)
	require.NoError(t, s.Commit("20"))
	require.Equal(t, "10", r.q.Position())
	require.Equal(t, 1, r.q.Stats().Unswept)
	// The next snapshot will see for itself.
	r.q.Begin(listwatch.Compare).Abort()
	require.Zero(t, r.q.Stats().Unswept)
	r.apply(bookmark("20"))
	require.Zero(t, r.q.Len())
}

// Scenario 115, the queue's part.
func TestReset(t *testing.T) {
	refused := func(h listwatch.Head) func(*rig, snapshot) {
		return func(r *rig, s snapshot) { require.False(r.t, s.Known(h)) }
	}
	cases := map[string]listCase{
		"states go back": {held: []*pod{newPod("a", "U", "8"), newPod("b", "U", "4")}, commit: "6",
			inside: puts(newPod("a", "U", "5"), newPod("b", "U", "4")), want: []string{"Replaced a/U@5 +force"}},
		"another identity of one version": {held: []*pod{newPod("a", "U", "5")}, commit: "6",
			inside: puts(newPod("a", "V", "5")), want: []string{"Replaced a/V@5 +force"}},
		"missing, and newer than the list": {held: []*pod{newPod("a", "U", "8")}, commit: "6",
			want: []string{"Deleted a/U@6 was 8 +unknown +force"}},
		"over a queued deletion": {held: []*pod{newPod("a", "U", "5")}, commit: "6",
			events: []listwatch.Event[*pod]{event(listwatch.Deleted, newPod("a", "U", "5"), "11")},
			inside: puts(newPod("a", "U", "5")),
			want:   []string{"Deleted a/U@11 was 5", "Replaced a/U@5 +force"}},
		"refused loses its version": {held: []*pod{newPod("a", "U", "8")}, commit: "6",
			inside: refused(listwatch.Head{Key: key("a")}), want: []string{"Replaced a/U@ +force"}},
		"refused and not held": {commit: "6", inside: refused(listwatch.Head{Key: key("a")})},
		"refused without name": {held: []*pod{newPod("a", "U", "8")}, commit: "6",
			inside: refused(listwatch.Head{}), want: []string{"Replaced a/U@ +force"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { c.run(t, listwatch.Reset) })
	}
}

func TestResetBeginsAnEpoch(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("10", newPod("a", "", "8"), newPod("b", "", "9"))
	s := r.q.Begin(listwatch.Reset)
	put(t, s, newPod("a", "", "5"))
	_, batch := r.pop(0)
	equal(t, deltafifo.Batch[*pod]{Version: "10", Synced: true}, batch)
	require.NoError(t, s.Commit("6"))
	require.Equal(t, "6", r.q.Position())
	_, batch = r.pop(0)
	equal(t, deltafifo.Batch[*pod]{Version: "6", Exact: true, Synced: true, Epoch: 1}, batch)
	equal(t, []listwatch.Head{{Key: key("a"), ResourceVersion: "5"}}, r.store.heads())

	// What is queued in parts reports the epoch with the position.
	s = r.q.Begin(listwatch.Reset)
	put(t, s, newPod("a", "", "2"), newPod("c", "", "1"))
	require.NoError(t, s.Commit("3"))
	_, batch = r.pop(1)
	equal(t, deltafifo.Batch[*pod]{Version: "6", Synced: true, Epoch: 1}, batch)
	_, batch = r.pop(1)
	equal(t, deltafifo.Batch[*pod]{Version: "3", Exact: true, Synced: true, Epoch: 2}, batch)
}

// A deletion's version counts within its epoch alone.
func TestDeletionAndEpoch(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("10", newPod("a", "", "8"))
	r.apply(event(listwatch.Deleted, newPod("a", "", "8"), "20"))
	require.NoError(t, r.q.Begin(listwatch.Reset).Commit("5"))
	require.NoError(t, r.q.Replace(t.Context(), "7", newPod("a", "", "6")))
	r.apply(event(listwatch.Deleted, newPod("a", "", "6"), "8"))
	require.NoError(t, r.q.Replace(t.Context(), "9", newPod("a", "", "7")))
	lines, _ := r.pop(0)
	equal(t, []string{"Deleted a/@20 was 8", "Replaced a/@6", "Deleted a/@8 was 6"}, lines)
}
