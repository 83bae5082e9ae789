package deltafifo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

// Batches say that something is missing until all that a list found is handed out.
func TestGapEndsWithItsRepair(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("10", newPod("old", "U", "1"))
	r.q.Lost(true) // "new" at 11, and the deletion of "old" at 12
	r.apply(event(listwatch.Added, newPod("b", "U", "13"), "13"))
	_, batch := r.pop(0)
	require.True(t, batch.Gap)
	require.False(t, batch.Exact)
	require.Equal(t, "13", batch.Version)

	s := r.q.Begin(listwatch.Compare)
	put(t, s, newPod("new", "U", "11"), newPod("b", "U", "13"), newPod("c", "U", "14"))
	r.apply(event(listwatch.Added, newPod("c", "U", "14"), "14"))
	require.NoError(t, s.Commit("15"))
	r.q.Lost(false)
	for range 2 { // c, and what was missed
		_, batch = r.pop(1)
		require.True(t, batch.Gap)
	}
	require.Zero(t, r.q.Len())

	r.apply(bookmark("15")) // only now it is known that the watch has no more to say on "old"
	lines, batch := r.pop(0)
	equal(t, []string{"Deleted old/U@15 was 1 +unknown"}, lines)
	require.False(t, batch.Gap)
	require.True(t, batch.Exact)
	r.quiet()
}

func TestGapEndsWithTheLastOfItsRepair(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("10")
	r.q.Lost(true)
	r.apply(bookmark("13"))
	r.pop(0)
	s := r.q.Begin(listwatch.Compare)
	put(t, s, newPod("a", "U", "11"), newPod("b", "U", "12"))
	require.NoError(t, s.Commit("13"))
	r.q.Lost(false)
	_, batch := r.pop(1)
	require.True(t, batch.Gap)
	_, batch = r.pop(1)
	require.False(t, batch.Gap)
	require.True(t, batch.Exact)
}

func TestEndOfAGapIsHandedOut(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("10")
	require.NoError(t, r.q.Add(t.Context(), newPod("ahead", "U", "20"))) // so no batch is exact
	r.pop(0)
	r.q.Lost(false)
	r.quiet()
	r.q.Lost(true)
	r.quiet()
	r.apply(bookmark("11"))
	_, batch := r.pop(0)
	require.True(t, batch.Gap)
	require.NoError(t, r.q.Begin(listwatch.Compare).Commit("11"))
	r.q.Lost(true) // more was lost meanwhile
	r.quiet()
	require.NoError(t, r.q.Begin(listwatch.Compare).Commit("11"))
	r.q.Lost(false)
	lines, batch := r.pop(0)
	require.Empty(t, lines)
	require.False(t, batch.Gap)
	require.False(t, batch.Exact)
	r.quiet()
}

// A list that begins gives up the sweep of the one before, so that has repaired nothing.
func TestGapOutlivesASweepThatIsGivenUp(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("10", newPod("old", "U", "1"))
	r.q.Lost(true)
	require.NoError(t, r.q.Begin(listwatch.Compare).Commit("12"))
	r.q.Lost(false)
	s := r.q.Begin(listwatch.Compare)
	r.apply(bookmark("13"))
	_, batch := r.pop(0)
	require.True(t, batch.Gap)
	require.NoError(t, s.Commit("13"))
	r.q.Lost(false)
	lines, batch := r.pop(0)
	equal(t, []string{"Deleted old/U@13 was 1 +unknown"}, lines)
	require.False(t, batch.Gap)
}
