package deltafifo

import (
	"cmp"
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// explained is how many deltas of one key an [Explanation] shows in each of its lists.
const explained = 16

// Explanation is what a [DeltaFIFO] knows of one key at one moment. The zero value: nothing.
type Explanation struct {
	// Queued and InFlight are the numbers of deltas that wait and that process has.
	Queued, InFlight int
	// Before is the number of queued keys that are handed out before this one, while it is queued.
	Before int
	// Deltas are the newest of those that wait, Processed of those that process has; both oldest
	// first, and at most 16.
	Deltas, Processed []DeltaHead
	// Unswept: a comparing list did not show the key; it is deleted if it is unchanged once the
	// position has reached the version of that list.
	Unswept bool
}

// DeltaHead is a [Delta] without the object.
type DeltaHead struct {
	// Type, Head, Unknown, Initial and Force are those of the Delta.
	Type                    Type
	Head                    listwatch.Head
	Unknown, Initial, Force bool
}

// Explain returns what the queue knows of a key. It is cheap, and takes the queue's
// lock alone.
func (q *DeltaFIFO[T]) Explain(k listwatch.Key) (e Explanation) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sweep != nil {
		_, e.Unswept = slices.BinarySearchFunc(q.sweep.keys, k, listwatch.Key.Compare)
	}
	it := q.items.Get(q.items.Hash(k), k)
	if it == nil {
		return e
	}
	flight, queued := q.partsLocked(it)
	e.Queued, e.InFlight = len(queued), len(flight)
	e.Deltas, e.Processed = heads(queued), heads(flight)
	if e.Queued > 0 {
		e.Before, _ = slices.BinarySearchFunc(q.order[q.first:], it, func(a, b *item[T]) int {
			return cmp.Compare(a.seq, b.seq)
		})
	}
	return e
}

func heads[T listwatch.Object](deltas []Delta[T]) []DeltaHead {
	var heads []DeltaHead
	deltas = deltas[max(0, len(deltas)-explained):]
	for i := range deltas {
		d := &deltas[i]
		heads = append(heads, DeltaHead{Type: d.Type, Head: d.Head, Unknown: d.Unknown, Initial: d.Initial, Force: d.Force})
	}
	return heads
}
