package deltafifo

import "github.com/seed3bce33ad/listwatch"

const (
	// What is kept for reuse after a burst: items, deltas of an item, deltas of a call.
	keepItems   = 1024
	keepDeltas  = 16
	keepScratch = 256
)

// position is a version of the source within one epoch of it.
type position struct {
	version string
	epoch   uint64
}

// item is all that the queue knows of one key. It stays in the queue's map as long as queued
// or flight holds something.
type item[T listwatch.Object] struct {
	key listwatch.Key
	// queued are the deltas that wait; when there are any the item stands in the order once.
	queued []Delta[T]
	// flight are the deltas that process has and that it alone may touch.
	flight []Delta[T]
	// inline is where queued and flight begin, so that most keys need no further memory.
	inline [2]Delta[T]
	// seq numbers the items in the order in which they were queued.
	seq uint64
	// before is the position at the first queued delta: all up to it stands before this item.
	before position
	// epoch is that of the last delta.
	epoch uint64
	// mark is the last snapshot that listed the key; handed is the mark that process was told.
	mark, handed uint64
	// unlisted is the last snapshot at whose end the store's entry had no mark.
	unlisted uint64
}

func (it *item[T]) reset() {
	*it = item[T]{queued: it.queued[:0], flight: it.flight[:0]}
	if cap(it.queued) > keepDeltas || cap(it.queued) < 1 || cap(it.flight) > keepDeltas || cap(it.flight) < 1 {
		it.queued, it.flight = it.inline[0:0:1], it.inline[1:1:2]
	}
}

// appendLocked queues a delta: behind the others of its key, or at the end.
func (q *DeltaFIFO[T]) appendLocked(d *Delta[T]) *item[T] {
	it := q.items[d.Head.Key]
	if it == nil {
		it = q.newItemLocked()
		it.key = d.Head.Key
		q.items[it.key] = it
		q.peak = max(q.peak, len(q.items))
	}
	if len(it.queued) == 0 {
		q.seq++
		it.seq, it.before = q.seq, q.position
		q.enqueueLocked(it)
	}
	it.queued = append(it.queued, *d)
	it.epoch = q.position.epoch
	q.deltas++
	return it
}

func (q *DeltaFIFO[T]) newItemLocked() *item[T] {
	if n := len(q.free); n > 0 {
		it := q.free[n-1]
		q.free[n-1] = nil
		q.free = q.free[:n-1]
		return it
	}
	it := new(item[T])
	it.reset()
	return it
}

// enqueueLocked puts an item at the end of the order, whose first q.first places are empty.
func (q *DeltaFIFO[T]) enqueueLocked(it *item[T]) {
	if len(q.order) == cap(q.order) && q.first > len(q.order)/2 {
		n := copy(q.order, q.order[q.first:])
		clear(q.order[n:])
		q.order, q.first = q.order[:n], 0
	}
	q.order = append(q.order, it)
}

func (q *DeltaFIFO[T]) keysLocked() int { return len(q.order) - q.first }

// fullLocked reports whether writers must wait: more deltas than the limit beyond the first of a key.
func (q *DeltaFIFO[T]) fullLocked() bool { return q.deltas-q.keysLocked() >= q.limit }

// dequeueLocked moves the first n items into flight.
func (q *DeltaFIFO[T]) dequeueLocked(n int) {
	if n == len(q.order) {
		q.order, q.flight = q.flight, q.order
		return
	}
	part := q.order[q.first : q.first+n]
	q.flight = append(q.flight, part...)
	clear(part)
	if q.first += n; q.first == len(q.order) {
		q.order, q.first = q.order[:0], 0
	}
}

// landLocked ends the flight: what process had is forgotten, and so are keys without more.
func (q *DeltaFIFO[T]) landLocked() {
	for _, it := range q.flight {
		if it.mark != it.handed && q.store != nil {
			q.store.Mark(it.key, it.mark)
		}
		clear(it.flight)
		if cap(it.flight) > keepDeltas && len(it.flight) < cap(it.flight)/4 {
			it.flight = nil // the memory of a burst, of a key that is never at rest
		}
		it.flight = it.flight[:0]
		if len(it.queued) > 0 {
			continue
		}
		delete(q.items, it.key)
		if len(q.free) < keepItems {
			it.reset()
			q.free = append(q.free, it)
		}
	}
	clear(q.flight)
	clear(q.out)
	q.flight, q.out = q.flight[:0], q.out[:0]
	if q.peak > keepItems && len(q.items) == 0 {
		q.items, q.peak = make(map[listwatch.Key]*item[T]), 0
		q.order, q.flight, q.out = nil, nil, nil
	}
}
