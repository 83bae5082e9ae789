package indexer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

func TestApplyRules(t *testing.T) {
	for _, test := range []struct {
		name    string
		held    string // "uid@version", or "" for nothing
		write   string
		delete  bool
		force   bool
		applied bool
	}{
		{name: "add", write: "u@5", applied: true},
		{name: "add without version", write: "@", applied: true},
		{name: "newer", held: "u@5", write: "u@6", applied: true},
		{name: "newer by length", held: "u@9", write: "u@10", applied: true},
		{name: "same", held: "u@5", write: "u@5"},
		{name: "same in other digits", held: "u@5", write: "u@05"},
		{name: "older", held: "u@5", write: "u@4"},
		{name: "older of another identity", held: "u@5", write: "v@4"},
		{name: "same version of another identity", held: "u@5", write: "v@5"},
		{name: "newer of another identity", held: "u@5", write: "v@6", applied: true},
		{name: "opaque, other", held: "u@b", write: "u@a", applied: true},
		{name: "opaque, same", held: "u@b", write: "u@b"},
		{name: "opaque over decimal", held: "u@5", write: "u@b", applied: true},
		{name: "decimal over none", held: "u@", write: "u@5", applied: true},
		{name: "older, forced", held: "u@5", write: "u@4", force: true, applied: true},
		{name: "same, forced", held: "u@5", write: "u@5", force: true, applied: true},
		{name: "delete nothing", write: "u@5", delete: true},
		{name: "delete nothing, forced", write: "u@5", delete: true, force: true},
		{name: "delete newer", held: "u@5", write: "u@6", delete: true, applied: true},
		{name: "delete same", held: "u@5", write: "u@5", delete: true, applied: true},
		{name: "delete older", held: "u@5", write: "u@4", delete: true},
		{name: "delete older, forced", held: "u@5", write: "u@4", delete: true, force: true, applied: true},
		{name: "delete another identity at the same version", held: "u@5", write: "v@5", delete: true},
		{name: "delete another identity, newer", held: "u@5", write: "v@6", delete: true, applied: true},
		{name: "delete another identity, forced", held: "u@5", write: "v@5", delete: true, force: true, applied: true},
		{name: "delete an unknown identity at the same version", held: "u@5", write: "@5", delete: true, applied: true},
		{name: "delete from an unknown identity", held: "@5", write: "u@5", delete: true, applied: true},
		{name: "delete opaque", held: "u@b", write: "u@a", delete: true, applied: true},
		{name: "delete opaque of another identity", held: "u@b", write: "v@a", delete: true},
		{name: "delete without version", held: "u@5", write: "u@", delete: true, applied: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := strict(t)
			held := podAt(test.held)
			if held != nil {
				x.Put(held)
			}
			w := update(podAt(test.write))
			w.Delete, w.Force = test.delete, test.force
			want := w
			want.Applied, want.Held = test.applied, held != nil
			if held != nil {
				want.OldHead, want.Old = headOf(held), held
			}

			writes := []indexer.Write[*pod]{w}
			x.Apply("77", writes)

			require.Empty(t, cmp.Diff(want, writes[0]))
			require.Equal(t, "77", x.Reader().Version())
			got, ok := x.Get(key("a/p"))
			switch {
			case !test.applied:
				require.Same(t, held, got)
				require.Equal(t, held != nil, ok)
			case test.delete:
				require.False(t, ok)
			default:
				require.Same(t, w.Object, got)
				head, ok := x.Reader().Head(key("a/p"))
				require.True(t, ok)
				require.Equal(t, w.Head, head)
			}
			require.NoError(t, x.Check())
		})
	}
}

// podAt reads "uid@version".
func podAt(state string) *pod {
	for i, c := range state {
		if c == '@' {
			p := newPod("a/p", state[i+1:])
			p.UID = state[:i]
			return p
		}
	}
	return nil
}

// Scenario 11, as far as the store goes.
func TestApplyBatchIsOneChangeInOrder(t *testing.T) {
	x := strict(t)
	p1, p2, p3 := newPod("a/p1", "1"), newPod("a/p2", "2"), newPod("a/p3", "3")
	x.Put(p1, p2, p3)
	n1, n2, n4, n5 := newPod("a/p1", "4"), newPod("a/p2", "5"), newPod("a/p4", "6"), newPod("a/p4", "7")
	writes := []indexer.Write[*pod]{update(n1), update(n2), update(n4), update(n5), deletion(newPod("a/p3", "6"))}

	x.Apply("7", writes)

	var old []*pod
	for _, w := range writes {
		require.True(t, w.Applied)
		old = append(old, w.Old)
	}
	require.Equal(t, []*pod{p1, p2, nil, n4, p3}, old)
	objects, version := x.Reader().Snapshot()
	require.Equal(t, []*pod{n1, n2, n5}, objects)
	require.Equal(t, "7", version)
}

func TestApplySeesEarlierWritesOfTheBatch(t *testing.T) {
	x := strict(t)
	byLabel := mustIndex(t, x, "label", labels)
	first, second, reborn := newPod("p", "1", "a"), newPod("p", "2", "b"), newPod("p", "4", "c")
	writes := []indexer.Write[*pod]{
		update(first), update(second), update(first), deletion(newPod("p", "3")), deletion(second), update(reborn),
	}

	x.Apply("", writes)

	var applied []bool
	var old []*pod
	for _, w := range writes {
		applied, old = append(applied, w.Applied), append(old, w.Old)
	}
	require.Equal(t, []bool{true, true, false, true, false, true}, applied)
	require.Equal(t, []*pod{nil, first, second, second, nil, nil}, old)
	require.Equal(t, []*pod{reborn}, byLabel.Get("c"))
	require.Zero(t, byLabel.Len("a")+byLabel.Len("b"))
	require.NoError(t, x.Check())
}

func TestApplyOverwritesOldResults(t *testing.T) {
	x := strict(t)
	p := newPod("p", "1")
	writes := []indexer.Write[*pod]{update(p)}
	x.Apply("", writes)
	x.Apply("", writes)
	require.Equal(t, p, writes[0].Old)
	x.Delete(key("p"))
	x.Apply("", writes)
	require.Equal(t, indexer.Write[*pod]{Head: headOf(p), Object: p, Applied: true}, writes[0])
}

func TestApplyWithoutWritesMovesTheVersion(t *testing.T) {
	x := strict(t)
	x.Apply("8", nil)
	require.Equal(t, "8", x.Reader().Version())
	x.Put(newPod("p", "1"))
	require.Empty(t, x.Reader().Version())
}

func TestMarks(t *testing.T) {
	x := strict(t)
	a, b, c := newPod("a", "1"), newPod("b", "2"), newPod("c", "3")
	x.Put(a, b, c)
	require.Len(t, x.Unmarked(1), 3)

	held, ok := x.Mark(key("a"), 1)
	require.True(t, ok)
	require.Equal(t, headOf(a), held)
	held, ok = x.Mark(key("none"), 1)
	require.False(t, ok)
	require.Zero(t, held)

	skipped := update(newPod("b", "1"))
	skipped.Mark = 1
	added := update(newPod("d", "4"))
	added.Mark = 1
	writes := []indexer.Write[*pod]{skipped, added}
	x.Apply("", writes)
	require.False(t, writes[0].Applied)
	require.Equal(t, []listwatch.Head{headOf(c)}, x.Unmarked(1))

	// A mark is never lowered, by neither way, and moves along with its object.
	x.Mark(key("d"), 3)
	x.Mark(key("d"), 2)
	later := update(newPod("d", "5"))
	later.Mark = 2
	x.Apply("", []indexer.Write[*pod]{later})
	x.Delete(key("a"))
	unmarked := x.Unmarked(3)
	require.ElementsMatch(t, []listwatch.Head{headOf(b), headOf(c)}, unmarked)

	// What comes again is a new entry.
	x.Delete(key("d"))
	x.Put(newPod("d", "6"))
	require.Len(t, x.Unmarked(3), 3)
	require.NoError(t, x.Check())
}

// Scenario 77, as far as the store goes: the functions of the user see each object that was
// received, and nothing twice.
func TestIndexFunctionRunsOncePerReceivedObject(t *testing.T) {
	x := strict(t)
	calls := map[*pod]int{}
	count := func(p *pod) []string { calls[p]++; return p.Labels }
	early := newPod("early", "1")
	x.Put(early)
	mustIndex(t, x, "count", count)
	p := newPod("p", "2")
	x.Apply("2", []indexer.Write[*pod]{update(p)})

	x.Mark(key("p"), 1)
	x.Replace("3", early, p)
	tombstone := newPod("p", "4")
	w := deletion(tombstone)
	w.Object = tombstone
	x.Apply("4", []indexer.Write[*pod]{w})

	require.Equal(t, map[*pod]int{early: 1, p: 1}, calls)
}
