package deltafifo

import (
	"context"
	"fmt"

	"github.com/seed3bce33ad/listwatch"
)

// report is what a batch says beside its items.
type report struct {
	position
	exact, synced, gap bool
}

// Pop waits for changes and calls process with all those of the first key, of the next one, and so on
// until they are so many; 0 or less means all. Process runs without any lock of the queue. Until it returns, what it was
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
	select {
	case q.popping <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-q.popping }()
	batch, err := q.take(ctx, changes)
	if err != nil {
		return err
	}
	defer q.land()
	return process(batch)
}

// take blocks until there is a batch.
func (q *DeltaFIFO[T]) take(ctx context.Context, changes int) (Batch[T], error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if ctx.Err() != nil {
			return Batch[T]{}, context.Cause(ctx)
		}
		if q.workLocked() {
			return q.batchLocked(changes), nil
		}
		if q.closed {
			return Batch[T]{}, fmt.Errorf("deltafifo: %w", listwatch.ErrStopped)
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

func (q *DeltaFIFO[T]) batchLocked(changes int) Batch[T] {
	n := q.keysLocked()
	if changes > 0 {
		n = q.firstLocked(changes)
	}
	q.dequeueLocked(n)
	for _, it := range q.flight {
		it.queued, it.flight = it.flight, it.queued
		it.handed = it.mark
		for i := range it.flight {
			it.flight[i].Mark = it.mark
		}
		q.deltas -= len(it.flight)
		q.out = append(q.out, Deltas[T]{Key: it.key, Deltas: it.flight})
	}
	if n > 0 {
		q.handed = q.flight[n-1].seq
	}
	if !q.fullLocked() {
		q.freeWritersLocked()
	}
	q.told = q.reportLocked()
	return Batch[T]{
		Items: q.out, Version: q.told.version, Epoch: q.told.epoch,
		Exact: q.told.exact, Synced: q.told.synced, Gap: q.told.gap,
	}
}

// firstLocked returns how many keys hold the first changes.
func (q *DeltaFIFO[T]) firstLocked(changes int) (keys int) {
	for _, it := range q.order[q.first:] {
		if changes <= 0 {
			break
		}
		changes -= len(it.queued)
		keys++
	}
	return keys
}

// land ends the processing of a batch.
func (q *DeltaFIFO[T]) land() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.landLocked()
	q.processed = q.handed
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
