package deltafifo

import "github.com/seed3bce33ad/listwatch"

const (
	// What is kept for reuse after a burst: items, deltas of an item, deltas of a call.
	keepItems   = 2048
	keepDeltas  = 16
	keepScratch = 256
)

// position is a version of the source within one epoch of it.
type position struct {
	version string
	epoch   uint64
}

// item is some changes of one key: those that wait, or those that process has. It passes from the
// processor that writes to the one that pops and back, so it is small: three cache lines.
type item[T listwatch.Object] struct {
	hash uint32 // of the key
	// deltas are at least one. Process alone may touch those that it has.
	deltas []Delta[T]
	// inline is where deltas begin, so that most keys need no further memory.
	inline [1]Delta[T]
	// twin has the changes of the key on the other side: in flight while these wait, and the
	// other way round. It is nil when there are none.
	twin *item[T]
	// seq numbers the items in the order in which they were queued.
	seq uint64
	// before is the position at the first delta: all up to it stands before this item.
	before position
	// epoch is that of the last delta.
	epoch uint64
	// mark is the last snapshot that listed the key before process was told, late one after that.
	mark, late uint64
	// unlisted is the last snapshot at whose end the store's entry had no mark.
	unlisted uint64
}

// TableKey returns the key.
func (it *item[T]) TableKey() listwatch.Key { return it.deltas[0].Head.Key }

func (it *item[T]) reset() {
	clear(it.deltas)
	*it = item[T]{deltas: it.deltas[:0]}
	if c := cap(it.deltas); c == 0 || c > keepDeltas {
		it.deltas = it.inline[:0]
	}
}

// listed is the last snapshot that listed the key.
func (it *item[T]) listed() uint64 { return max(it.mark, it.late) }

// listLocked notes that a snapshot has listed the key.
func (q *DeltaFIFO[T]) listLocked(it *item[T], generation uint64) {
	if q.flyingLocked(it) {
		it.late = generation
	} else {
		it.mark = generation
	}
}

// flyingLocked reports whether process has the item.
func (q *DeltaFIFO[T]) flyingLocked(it *item[T]) bool { return it.seq <= q.handed }

// appendLocked queues a delta: behind the others of its key that wait, or at the end.
func (q *DeltaFIFO[T]) appendLocked(d *staged[T]) *item[T] {
	it := q.items.Get(d.hash, d.Head.Key)
	if it == nil || q.flyingLocked(it) {
		it = q.queueItemLocked(it, d.hash)
	}
	it.deltas = append(it.deltas, d.Delta)
	it.epoch = q.position.epoch
	q.deltas++
	return it
}

// queueItemLocked queues an item for a key of which none waits; flying, unless nil, is in flight.
func (q *DeltaFIFO[T]) queueItemLocked(flying *item[T], hash uint32) *item[T] {
	it := q.newItemLocked()
	if flying != nil {
		it.twin, it.mark, flying.twin = flying, flying.listed(), it
		q.items.Delete(hash, flying)
	}
	q.items.Put(hash, it)
	q.peak = max(q.peak, q.items.Len())
	q.seq++
	it.hash, it.seq, it.before = hash, q.seq, q.position
	q.enqueueLocked(it)
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

// partsLocked returns the changes of a key, given what the queue's table has of it.
func (q *DeltaFIFO[T]) partsLocked(it *item[T]) (flight, queued []Delta[T]) {
	if q.flyingLocked(it) {
		return it.deltas, nil
	}
	if it.twin != nil {
		flight = it.twin.deltas
	}
	return flight, it.deltas
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

// landLocked ends the flight, and returns the items that process had: the queue does not know them
// any more.
func (q *DeltaFIFO[T]) landLocked() []*item[T] {
	for _, it := range q.flight {
		if it.late > 0 && q.store != nil {
			q.store.Mark(it.TableKey(), it.late)
		}
		if it.twin != nil {
			it.twin.twin = nil
		} else {
			q.items.Delete(it.hash, it)
		}
	}
	landed := q.flight
	q.flight = nil
	return landed
}

// reuseLocked keeps what is empty now for what will be queued, but for the memory of a crowd.
func (q *DeltaFIFO[T]) reuseLocked(landed []*item[T]) {
	q.free = append(q.free, landed[:min(len(landed), keepItems-len(q.free))]...)
	clear(landed)
	q.flight = landed[:0]
	first := q.told.synced && !q.settled // most queues never see as much again as with the first list
	if q.items.Len() > 0 || !first && q.peak <= keepItems {
		return
	}
	q.items.Reset()
	q.peak = 0
	q.order, q.flight, q.out = nil, nil, nil
	if first {
		q.settled = true
		q.free = nil
		q.scratch.Store(nil)
	}
}
