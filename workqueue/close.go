package workqueue

import (
	"context"
	"fmt"
	"slices"
)

// Close ends the queue at once and does not block. From then on adds and retries do nothing.
// What is delayed or parked is dropped. Get still hands out what is ready, and what is in work
// and was added again before, then fails; a running [Queue.Drain] is cut short. A second Close
// does nothing.
func (q *Queue[K]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nowLocked()
	q.endLocked(closed)
}

// Drain ends the queue in good order: it waits until all that is ready or in work has been
// worked off, and then the queue is closed. From the call on adds do nothing but for keys in
// work, which are handed out once more. Nothing that is to come later is waited for: keys that
// are delayed, parked, or come back with a delay are taken out. Drain returns those, in no
// particular order, as what it could not finish, with a nil error.
//
// When ctx is done first, Drain gives up and closes the queue: nothing is handed out any more,
// what was ready or is in work is returned as well, and the error wraps ctx's cause. When Close
// cuts it short, or came before it, Drain returns at once what is left at that time, which
// workers may still get and finish; if that is anything, the error wraps [listwatch.ErrStopped].
//
// Several calls at once wait for the same end and return the same keys.
func (q *Queue[K]) Drain(ctx context.Context) ([]K, error) {
	q.beginDrain()
	var err error
	select {
	case <-q.drained:
	case <-ctx.Done():
		err = fmt.Errorf("%s: drain: %w", q.title, context.Cause(ctx))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.phase == draining {
		q.giveUpLocked()
		return q.leftLocked(), err
	}
	// Another call or the last worker was faster than ctx.
	left := q.leftLocked()
	if len(left) == len(q.unfinished) && !q.gaveUp {
		return left, nil
	}
	if err == nil {
		err = q.stopped
	}
	return left, err
}

func (q *Queue[K]) beginDrain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nowLocked()
	q.endLocked(draining)
	q.drainedLocked()
}

// endLocked goes to a later phase and drops what is delayed or parked.
func (q *Queue[K]) endLocked(to phase) {
	if to <= q.phase {
		return
	}
	q.phase = to
	if q.phase == closed {
		close(q.drained)
	}
	for q.delayed.Len() > 0 {
		e := q.delayed.Items()[q.delayed.Len()-1].entry
		q.undelayLocked(e)
		q.abandonLocked(e)
	}
	q.disarmLocked()
	q.wakeLocked()
}

// drainedLocked closes a draining queue that has nothing left to wait for.
func (q *Queue[K]) drainedLocked() {
	if q.phase == draining && q.ready.len == 0 && q.stats.Working == 0 {
		q.endLocked(closed)
	}
}

// giveUpLocked closes a draining queue, whose ready keys nobody gets any more.
func (q *Queue[K]) giveUpLocked() {
	for e := q.ready.pop(); e != nil; e = q.ready.pop() {
		q.abandonLocked(e)
	}
	for e := q.working.first; e != nil; e = e.next {
		e.again = false
	}
	q.gaveUp = true
	q.endLocked(closed)
}

// leftLocked returns what a drain has left, and what is ready or in work.
func (q *Queue[K]) leftLocked() []K {
	left := slices.Clone(q.unfinished)
	for e := range q.entries.All() {
		if e.state == Ready || e.state == Working {
			left = append(left, e.key)
		}
	}
	return left
}
