package deltafifo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

// A list that turns out older than the position, and is given up, has brought nothing back that
// was deleted before it began; one that is not older shows what the watch has missed.
func TestRebuildBringsNothingBackBeforeItsVersionIsKnown(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("10", newPod("a", "U", "5"), newPod("b", "V", "6"))
	r.apply(event(listwatch.Deleted, newPod("b", "V", "6"), "20"))
	r.pop(0)
	stale := r.q.Begin(listwatch.Rebuild)
	require.NoError(t, stale.Put(t.Context(), newPod("a", "U", "5"), newPod("b", "V", "6")))
	stale.Abort()
	require.Zero(t, r.q.Len(), "the ghost of b")
	sound := r.q.Begin(listwatch.Rebuild)
	require.NoError(t, sound.Put(t.Context(), newPod("a", "U", "5"), newPod("c", "W", "15")))
	require.NoError(t, sound.Commit("21"))
	require.Equal(t, 1, r.q.Len(), "c was missed")
}

// A list that is older than the position shows what has been deleted since.
func TestOlderRebuildBringsNothingBack(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("10", newPod("a", "U", "5"), newPod("b", "V", "6"))
	r.apply(event(listwatch.Deleted, newPod("b", "V", "6"), "20"))
	r.pop(0)
	stale := r.q.Begin(listwatch.Rebuild)
	require.NoError(t, stale.Put(t.Context(), newPod("a", "U", "5"), newPod("b", "V", "6")))
	require.NoError(t, stale.Commit("15"))
	require.Zero(t, r.q.Len(), "the ghost of b")
	require.Equal(t, "20", r.q.Position())
}
