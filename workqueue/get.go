package workqueue

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// waiting is the calls of Get that wait for a key. Guarded by the queue's lock.
type waiting struct {
	// idle are those that nobody has woken, the latest last: it is woken first, as its
	// memory is the warmest.
	idle []chan struct{}
	// woken is how many were woken and have not come back for the lock yet. Waking more than
	// there are ready keys would be in vain.
	woken int
	// spare are channels for use again.
	spare []chan struct{}
}

// Get returns the next key and marks it as in work: it is not handed out again before Done or
// Finish. It blocks until there is one, until ctx is done (the error wraps ctx's cause, and no
// key is returned even if there is one), or until the queue has ended and has nothing left: the
// error wraps [listwatch.ErrStopped].
func (q *Queue[K]) Get(ctx context.Context) (K, error) {
	now := q.read()
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		var none K
		if ctx.Err() != nil {
			q.wakeLocked()
			return none, fmt.Errorf("%s: %w", q.title, context.Cause(ctx))
		}
		if e := q.takeLocked(now); e != nil {
			return e.key, nil
		}
		if q.phase == closed {
			return none, q.stopped
		}
		q.waitLocked(ctx)
		now = q.read()
	}
}

// takeLocked moves the next ready entry, if any, to the working ones.
func (q *Queue[K]) takeLocked(now int64) *entry[K] {
	now = q.sawLocked(now)
	e := q.ready.pop()
	if e == nil {
		return nil
	}
	q.stats.Gets++
	latency := time.Duration(now - e.since)
	q.stats.LatencySum += latency
	q.stats.Latency.count(latency)
	q.stats.Working++
	q.startSum += now
	e.state, e.since = Working, now
	q.working.push(e)
	return e
}

// waitLocked releases the lock until the caller is woken or ctx is done.
func (q *Queue[K]) waitLocked(ctx context.Context) {
	w := &q.waiting
	var wake chan struct{}
	if n := len(w.spare); n > 0 {
		wake, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		wake = make(chan struct{}, 1)
	}
	w.idle = append(w.idle, wake)
	q.mu.Unlock()
	select {
	case <-wake:
		q.mu.Lock()
		w.woken--
	case <-ctx.Done():
		q.mu.Lock()
		if i := slices.Index(w.idle, wake); i >= 0 {
			w.idle = slices.Delete(w.idle, i, i+1)
		} else {
			<-wake
			w.woken--
		}
	}
	w.spare = append(w.spare, wake)
}

// wakeLocked wakes as many waiting calls as there are keys that nobody comes for yet, or all
// when the queue has ended.
func (q *Queue[K]) wakeLocked() {
	w := &q.waiting
	for n := len(w.idle); n > 0 && (w.woken < q.ready.len || q.phase == closed); n-- {
		w.idle[n-1] <- struct{}{}
		w.idle = w.idle[:n-1]
		w.woken++
	}
}
