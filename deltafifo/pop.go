package deltafifo

import (
	"context"
	"fmt"
	"reflect"

	"github.com/seed3bce33ad/listwatch"
)

// report is what a batch says beside its items.
type report struct {
	position
	exact, synced, gap bool
}

// Pop waits for changes and calls process with all those of the first key, of the next one, and so on
// until they are so many; 0 or less means all.
// Process runs without any lock of the queue. Until it returns, what it was
// given counts as held, and a change of one of its keys queues that key anew. It must not call
// Pop.
//
// The changes are done with when process returns, whatever it returns; nothing is queued again.
// Its error is returned as it is. A panic passes through and leaves the queue working. A second
// Pop at the same time waits for the first.
//
// It returns ctx's cause when ctx is done, and ErrStopped when the queue was closed and
// everything has been handed out.
func (q *DeltaFIFO[T]) Pop(ctx context.Context, changes int, process func(Batch[T]) error) error {
	batch, flight, err := q.take(ctx, changes)
	if err != nil {
		return err
	}
	batch.Items = q.handOut(flight)
	defer q.land()
	q.fetch(batch)
	return process(batch)
}

// fetch gives deletions the last known state where the store has it: what is to be deleted may be more
// than should be queued, and a store may have to decode it. Only what is handed out is written to the
// store, so it holds what it held when the deletion was queued.
func (q *DeltaFIFO[T]) fetch(b Batch[T]) {
	if q.store == nil {
		return
	}
	for _, item := range b.Items {
		for n := range item.Deltas {
			d := &item.Deltas[n]
			if d.Type == Deleted && d.Unknown && reflect.ValueOf(&d.Object).Elem().IsZero() {
				d.Object, _ = q.store.Get(item.Key)
			}
		}
	}
}

// take blocks until there is a batch, and returns it without its items, which are in flight now. Unless
// it fails, a Pop is at work from then on.
func (q *DeltaFIFO[T]) take(ctx context.Context, changes int) (b Batch[T], flight []*item[T], err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.beginLocked(ctx); err != nil {
		return b, nil, err
	}
	defer func() {
		if err != nil {
			q.endPopLocked()
		}
	}()
	for {
		if ctx.Err() != nil {
			return b, nil, context.Cause(ctx)
		}
		if q.workLocked() {
			b = q.batchLocked(changes)
			return b, q.flight, nil
		}
		if q.closed {
			return b, nil, fmt.Errorf("deltafifo: %w", listwatch.ErrStopped)
		}
		q.idle = true
		q.mu.Unlock()
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
		q.mu.Lock()
		q.idle = false
	}
}

// beginLocked waits for other Pops. The lock is released meanwhile.
func (q *DeltaFIFO[T]) beginLocked(ctx context.Context) error {
	for q.popping {
		if q.turn == nil {
			q.turn = make(chan struct{})
		}
		turn := q.turn
		q.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
		}
		q.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	q.popping = true
	return nil
}

func (q *DeltaFIFO[T]) endPopLocked() {
	q.popping = false
	if q.turn != nil {
		close(q.turn)
		q.turn = nil
	}
}

func (q *DeltaFIFO[T]) batchLocked(changes int) Batch[T] {
	keys, deltas := q.keysLocked(), q.deltas
	if changes > 0 && changes < deltas {
		keys, deltas = q.firstLocked(changes)
	}
	q.dequeueLocked(keys)
	q.deltas -= deltas
	if keys > 0 {
		q.handed = q.flight[keys-1].seq
	}
	if !q.fullLocked() {
		q.freeWritersLocked()
	}
	q.told = q.reportLocked()
	return Batch[T]{
		Version: q.told.version, Epoch: q.told.epoch,
		Exact: q.told.exact, Synced: q.told.synced, Gap: q.told.gap,
	}
}

// firstLocked returns how many keys hold the first changes, and how many changes those keys have.
func (q *DeltaFIFO[T]) firstLocked(changes int) (keys, deltas int) {
	for _, it := range q.order[q.first:] {
		if deltas >= changes {
			break
		}
		deltas += len(it.deltas)
		keys++
	}
	return keys, deltas
}

// handOut returns what is in flight as process is given it. It has no need of the lock: of an item
// in flight writers read the deltas, but for their marks, and write none of what is read here.
func (q *DeltaFIFO[T]) handOut(flight []*item[T]) []Deltas[T] {
	for _, it := range flight {
		for i := range it.deltas {
			it.deltas[i].Mark = it.mark
		}
		q.out = append(q.out, Deltas[T]{Key: it.TableKey(), Deltas: it.deltas})
	}
	return q.out
}

// land ends the processing of a batch. Writers don't wait while the items are emptied.
func (q *DeltaFIFO[T]) land() {
	clear(q.out)
	q.out = q.out[:0]
	q.mu.Lock()
	landed := q.landLocked()
	q.processed = q.handed
	q.mu.Unlock()
	for _, it := range landed {
		it.reset()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reuseLocked(landed)
	q.endPopLocked()
}

// reportLocked says what holds once everything handed out has been processed. What is still
// queued began at the position that its first item remembers.
func (q *DeltaFIFO[T]) reportLocked() report {
	r := report{position: q.position, synced: q.complete && q.handed >= q.syncSeq}
	r.gap = q.gap.open || q.handed < q.gap.end
	if q.keysLocked() > 0 {
		r.position = q.order[q.first].before
		return r
	}
	rebuilding := q.torn || q.open != nil && q.open.mode != listwatch.Compare
	r.exact = !rebuilding && r.version != "" && !listwatch.Newer(q.ahead, r.version)
	r.exact = r.exact && !r.gap
	return r
}

// workLocked reports whether there is something to hand out: changes, or a report that says
// more than the last one. That a snapshot was begun is nothing to tell.
func (q *DeltaFIFO[T]) workLocked() bool {
	if q.keysLocked() > 0 {
		return true
	}
	r := q.reportLocked()
	return r.position != q.told.position || r.synced != q.told.synced || r.exact && !q.told.exact ||
		q.told.gap && !r.gap
}

// wakeLocked tells the Pop that waits that there is something for it.
func (q *DeltaFIFO[T]) wakeLocked() {
	if !q.idle || !q.closed && !q.workLocked() {
		return
	}
	q.idle = false
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
