package informer

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

// Storing a batch of updates and putting them into the log costs two allocations for each node of the
// log, none for a change.
func TestChangesAllocateNodesAlone(t *testing.T) {
	i := New[*item](listwatch.Funcs[*item]{}, Options{})
	batch := deltafifo.Batch[*item]{Exact: true, Version: "1"}
	for n := range 2 * nodeLength {
		o := &item{listwatch.Meta{Name: strconv.Itoa(n), ResourceVersion: "1"}}
		head := listwatch.Head{Key: listwatch.KeyOf(o), ResourceVersion: "1"}
		batch.Items = append(batch.Items, deltafifo.Deltas[*item]{
			Key: head.Key, Deltas: []deltafifo.Delta[*item]{{Type: deltafifo.Updated, Head: head, Object: o, Force: true}},
		})
	}
	require.NoError(t, i.apply(batch))
	require.Equal(t, 2*2.0, testing.AllocsPerRun(100, func() { _ = i.apply(batch) }))
}
