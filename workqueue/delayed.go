package workqueue

import (
	"time"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// timer is the one timer of a queue. It is set for the earliest due time or sooner: one that
// has become too early is left to fire, finds nothing due and is set again.
type timer struct {
	stop func()
	due  int64
	// generation tells a timer that fires although it was stopped that it is not the current one.
	generation uint64
}

// batch is how many entries are made ready under one hold of the lock.
const batch = 1024

// delayLocked puts an entry into the heap.
func (q *Queue[K]) delayLocked(e *entry[K], due int64, state State) {
	q.seq++
	e.state, e.due, e.since, e.seq = state, due, q.now, q.seq
	q.delayed.Push(slot[K]{due, e})
	q.armLocked()
}

// undelayLocked takes a Delayed or Parked entry out of the heap, and off its signal.
func (q *Queue[K]) undelayLocked(e *entry[K]) {
	q.delayed.Remove(int(e.index))
	if e.state == Parked {
		q.unparkLocked(e)
	}
}

// promoteLocked makes ready what is due by q.now, at most a batch of it. Keys of one due time
// come in the order of their adds.
func (q *Queue[K]) promoteLocked() {
	for range batch {
		if q.delayed.Len() == 0 || q.delayed.Top().due > q.now {
			break
		}
		e := q.delayed.Top().entry
		q.undelayLocked(e)
		q.readyLocked(e, e.due)
	}
	q.armLocked()
}

// armLocked sets the timer if there is none, or one that fires too late.
func (q *Queue[K]) armLocked() {
	if q.delayed.Len() == 0 {
		q.disarmLocked()
		return
	}
	due := q.delayed.Top().due
	if q.timer.stop != nil && q.timer.due <= due {
		return
	}
	q.disarmLocked()
	generation := q.timer.generation
	q.timer.due = due
	q.timer.stop = timing.AfterFunc(q.clock, time.Duration(max(due-q.now, 1)), func() { q.fire(generation) })
}

func (q *Queue[K]) disarmLocked() {
	if q.timer.stop == nil {
		return
	}
	q.timer.stop()
	q.timer.stop = nil
	q.timer.generation++
}

// fire is the timer's.
func (q *Queue[K]) fire(generation uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if generation != q.timer.generation {
		return
	}
	q.timer.stop = nil
	q.timer.generation++
	now := q.read()
	q.back.Add(max(q.timer.due-now, 0)) // the timer tells the time when the clock was set back
	q.sawLocked(max(now, q.timer.due))
	q.armLocked()
}
