package workqueue

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/heap"
	"github.com/seed3bce33ad/listwatch/internal/table"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Queue hands out keys of what is to be worked on, each to one worker at a time.
//
// A key that is added several times before it is handed out is handed out once. It has one due
// time, one priority and one place, whichever way it was added. All methods are safe for
// concurrent use; only Get and Drain block. No goroutine runs while nothing is due. A queue
// that is not needed any more is closed, so that its timer does not keep it. Make one with [New];
// the zero value does not work.
type Queue[K comparable] struct {
	o       Options
	clock   clock.Clock
	start   time.Time
	limiter Limiter[K]
	flow    func(K) string
	// title begins the errors, stopped is the error of a queue that has ended.
	title   string
	stopped error
	// back is how far the clock was set back in all. It is written with the lock held.
	back atomic.Int64

	// mu guards all below. Signals' locks are taken under it; user code is never called under it.
	mu sync.Mutex
	// entries holds every key that the queue holds. An entry is in one place more, by state:
	// Ready in ready, Working in working, Delayed and Parked in delayed.
	entries *table.Table[K, *entry[K]]
	ready   readySet[K]
	working list[K]
	delayed heap.Heap[slot[K]]
	// parked holds what a Parked entry has more than a Delayed one.
	parked map[*entry[K]]*parking[K]
	// now is the latest time seen.
	now int64
	seq uint32
	// phase says what is still taken.
	phase phase
	// drained is closed when phase becomes closed.
	drained chan struct{}
	// gaveUp: a drain ended before its time.
	gaveUp bool
	// unfinished is what a drain had to leave.
	unfinished []K
	timer      timer
	waiting    waiting
	stats      Stats
	// startSum is the sum of since over the working entries.
	startSum int64
	// spare is a stack of entries for use again.
	spare *entry[K]
	// size is the number of entries that there is memory for, high the largest number since
	// the queue was empty.
	size, high int
}

// phase is how far a queue has come to its end.
type phase uint8

const (
	// open: everything is taken.
	open phase = iota
	// draining: only keys in work are taken again, and only to be handed out at once.
	draining
	// closed: nothing is taken. What is ready, and what was re-added in work before, is handed out.
	closed
)

// New returns an empty queue. It panics when an option makes no sense or when there is more
// than one policy.
func New[K comparable](o Options, policy ...Policy[K]) *Queue[K] {
	title := "workqueue"
	if o.Name != "" {
		title += " " + o.Name
	}
	if err := o.validate(len(policy)); err != nil {
		panic(fmt.Errorf("%s: %w", title, err))
	}
	o = o.withDefaults()
	q := &Queue[K]{
		o:       o,
		clock:   timing.Or(o.Clock),
		title:   title,
		stopped: fmt.Errorf("%s: %w", title, listwatch.ErrStopped),
		entries: table.New[K, *entry[K]](),
		parked:  make(map[*entry[K]]*parking[K]),
		drained: make(chan struct{}),
	}
	if len(policy) == 1 {
		q.limiter, q.flow = policy[0].Limiter, policy[0].Flow
	}
	if q.limiter == nil {
		q.limiter = new(Exponential[K])
	}
	q.start = q.clock.Now()
	q.ready.init(int64(o.Aging))
	return q
}

// Len returns the number of keys that are ready to be handed out. Delayed, parked and working
// keys don't count, not even when they were added again.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nowLocked()
	return q.ready.len
}

// read returns the time, which goes on from where it was when the clock is set back. The frequent
// calls do it before they take the lock.
func (q *Queue[K]) read() int64 { return int64(q.clock.Since(q.start)) + q.back.Load() }

// stale is how far a time that was read before the lock was taken may be behind without another look.
const stale = int64(time.Millisecond)

// nowLocked is sawLocked of the present time.
func (q *Queue[K]) nowLocked() int64 { return q.sawLocked(q.read()) }

// sawLocked brings the queue up to a time that was read, or to a later one that it has seen
// already: what has come due becomes ready, even when the timer is late.
func (q *Queue[K]) sawLocked(now int64) int64 {
	if now < q.now-stale {
		now = q.read()
		q.back.Add(max(q.now-now, 0))
	}
	q.now = max(q.now, now)
	if q.delayed.Len() > 0 && q.delayed.Top().due <= q.now {
		q.promoteLocked()
	}
	return q.now
}

// after returns the time d behind now, or the end of time.
func after(now int64, d time.Duration) int64 {
	if due := now + int64(d); due >= now {
		return due
	}
	return int64(^uint64(0) >> 1)
}

// guarded calls f, which is a user's. A panic is logged and reported.
func (q *Queue[K]) guarded(what string, k K, f func()) (ok bool) {
	defer func() {
		if !ok {
			q.o.Logger.Error("workqueue: "+what+" panicked", "queue", q.o.Name, "key", k,
				"panic", recover(), "stack", string(debug.Stack()))
		}
	}()
	f()
	return true
}

// flowOf returns the flow of a key. It must not be called with the lock held.
func (q *Queue[K]) flowOf(k K) (flow string) {
	if q.flow != nil {
		q.guarded("Flow", k, func() { flow = q.flow(k) })
	}
	return flow
}

// limiterFault is the delay of a key whose limiter has panicked.
const limiterFault = time.Second

// delayOf asks the limiter. It must not be called with the lock held.
func (q *Queue[K]) delayOf(k K) (delay time.Duration) {
	if !q.guarded("Limiter.When", k, func() { delay = q.limiter.When(k) }) {
		return limiterFault
	}
	return max(delay, 0)
}

// Forget tells the limiter that the key has succeeded or is given up: its next failure is the
// first. It does not take the key out of the queue.
func (q *Queue[K]) Forget(k K) {
	q.guarded("Limiter.Forget", k, func() { q.limiter.Forget(k) })
}

// Requeues returns how often the limiter was asked about the key since the last Forget.
func (q *Queue[K]) Requeues(k K) (failures int) {
	q.guarded("Limiter.Requeues", k, func() { failures = q.limiter.Requeues(k) })
	return failures
}
