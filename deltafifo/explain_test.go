package deltafifo_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

func TestExplainFollowsAKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, deltafifo.Options{})
	equal(t, deltafifo.Explanation{}, r.q.Explain(key("a")))
	r.fill("1", newPod("a", "U", "1"), newPod("b", "U", "1"), newPod("c", "U", "1"))
	equal(t, deltafifo.Explanation{}, r.q.Explain(key("a")))

	r.apply(event(listwatch.Modified, newPod("c", "U", "2"), "2"), event(listwatch.Modified, newPod("b", "U", "3"), "3"))
	r.apply(event(listwatch.Modified, newPod("a", "U", "4"), "4"), event(listwatch.Deleted, newPod("a", "U", "4"), "5"))
	deltas := []deltafifo.DeltaHead{
		{Type: deltafifo.Updated, Head: listwatch.Head{Key: key("a"), UID: "U", ResourceVersion: "4"}},
		{Type: deltafifo.Deleted, Head: listwatch.Head{Key: key("a"), UID: "U", ResourceVersion: "5"}},
	}
	equal(t, deltafifo.Explanation{Queued: 2, Before: 2, Deltas: deltas}, r.q.Explain(key("a")))
	r.pop(1)
	equal(t, deltafifo.Explanation{Queued: 2, Before: 1, Deltas: deltas}, r.q.Explain(key("a")))
	require.NoError(t, r.q.Pop(t.Context(), 0, func(b deltafifo.Batch[*pod]) error {
		equal(t, deltafifo.Explanation{InFlight: 2, Processed: deltas}, r.q.Explain(key("a")))
		r.apply(event(listwatch.Added, newPod("a", "V", "6"), "6"))
		e := r.q.Explain(key("a"))
		equal(t, []int{1, 2, 0}, []int{e.Queued, e.InFlight, e.Before})
		r.write(b)
		return nil
	}))
	e := r.q.Explain(key("a"))
	equal(t, []int{1, 0}, []int{e.Queued, e.InFlight})
	r.pop(0)
	equal(t, deltafifo.Explanation{}, r.q.Explain(key("a")))
}

func TestExplainShowsTheNewestDeltas(t *testing.T) {
	t.Parallel()
	r := newRig(t, deltafifo.Options{})
	for v := range 20 {
		r.apply(event(listwatch.Modified, newPod("a", "U", strconv.Itoa(v+1)), strconv.Itoa(v+1)))
	}
	e := r.q.Explain(key("a"))
	require.Equal(t, 20, e.Queued)
	require.Len(t, e.Deltas, 16)
	require.Equal(t, "5", e.Deltas[0].Head.ResourceVersion)
	require.Equal(t, "20", e.Deltas[15].Head.ResourceVersion)
}

func TestExplainNamesWhatAComparingListMissed(t *testing.T) {
	t.Parallel()
	r := newRig(t, deltafifo.Options{})
	r.fill("1", newPod("a", "U", "1"), newPod("b", "U", "1"))
	s := r.q.Begin(listwatch.Compare)
	put(t, s, newPod("b", "U", "1"))
	require.NoError(t, s.Commit("3"))
	require.True(t, r.q.Explain(key("a")).Unswept)
	require.False(t, r.q.Explain(key("b")).Unswept)
	r.apply(bookmark("3"))
	equal(t, []deltafifo.DeltaHead{{
		Type: deltafifo.Deleted, Head: listwatch.Head{Key: key("a"), UID: "U", ResourceVersion: "3"}, Unknown: true,
	}}, r.q.Explain(key("a")).Deltas)
	require.False(t, r.q.Explain(key("a")).Unswept)
}

func ExampleDeltaFIFO_Explain() {
	q := deltafifo.New[*listwatch.Meta](nil, deltafifo.Options{})
	web := &listwatch.Meta{Name: "web", ResourceVersion: "7"}
	_ = q.Apply(context.Background(), listwatch.Event[*listwatch.Meta]{Type: listwatch.Added, Object: web, ResourceVersion: "7"})
	e := q.Explain(listwatch.KeyOf(web))
	fmt.Println(e.Queued, e.Before, e.Deltas[0].Type, e.Deltas[0].Head.ResourceVersion)
	// Output: 1 0 Added 7
}
