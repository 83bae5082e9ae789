package workqueue

import (
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// Result is what a step has to say about its key besides an error. The zero value: done.
type Result struct {
	// After asks for the key again after so long. With Await it is how long to wait for it at
	// most, and 0 means Options.ParkTimeout. With an error and no Await it is not looked at:
	// the limiter says when.
	After time.Duration
	// Await parks the key until the signal fires: it is not handed out before, whoever adds it
	// meanwhile, and costs no goroutine. With an error the key is not handed out before the
	// limiter's delay is over either. A signal that has fired already makes the key ready at
	// once, or after that delay: who awaits one without asking Fired has a hot loop. By its
	// deadline the key is handed out though the signal has not fired: a step that still needs
	// it awaits it again.
	Await *listwatch.Signal
}

// parking is what a Parked entry has more than a Delayed one. The signal refers to it, not to
// the entry, so that a signal that never fires keeps no entry alive.
type parking[K comparable] struct {
	// entry is nil before the entry is parked and after it has left.
	entry *entry[K]
	// notBefore is when the delay after an error is over.
	notBefore int64
	// stop takes the parking off the signal.
	stop func() bool
	// fired: the signal came first.
	fired bool
}

// Done ends the work on a key that Get has returned. When it was added meanwhile, it is handed
// out again when due. Done of a key that is not in work does nothing.
func (q *Queue[K]) Done(k K) {
	hash, now := q.entries.Hash(k), q.read()
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.finishLocked(hash, k, now); e != nil {
		q.settleLocked(e, hash, end{})
	}
}

// end is how the work on a key ended, besides what was added meanwhile.
type end struct {
	// due is when the key comes again, if again.
	again bool
	due   int64
	// firm: nothing that was added meanwhile brings the key back sooner.
	firm bool
}

// Finish ends the work on a key that Get has returned, as [Process] does after a step: an error
// brings the key back after the limiter's delay, success forgets its failures, and the result
// may ask for more. When the key was added meanwhile, it comes back at the earliest of these
// times; but see [Result.Await]. Finish of a key that is not in work does nothing.
func (q *Queue[K]) Finish(k K, r Result, err error) {
	hash := q.entries.Hash(k)
	if !q.isWorking(hash, k) {
		return
	}
	var delay time.Duration
	if err == nil {
		q.Forget(k)
	} else {
		delay = q.delayOf(k)
	}
	p := q.await(r.Await)
	now := q.read()
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.finishLocked(hash, k, now)
	switch {
	case e == nil:
		if p != nil {
			p.stop()
		}
	case p != nil && !p.fired && q.phase == open:
		q.parkLocked(e, p, delay, r.After)
	case p != nil:
		p.stop()
		q.settleLocked(e, hash, q.unawaitedLocked(p, delay, r.After))
	case err != nil:
		q.settleLocked(e, hash, end{again: true, due: after(q.now, delay)})
	case r.After > 0:
		q.settleLocked(e, hash, end{again: true, due: after(q.now, r.After)})
	default:
		q.settleLocked(e, hash, end{})
	}
	if err != nil && e != nil {
		q.stats.Retries++
	}
}

// unawaitedLocked is the end of a key that cannot be parked: its signal has fired, or the queue
// takes no more.
func (q *Queue[K]) unawaitedLocked(p *parking[K], delay, timeout time.Duration) end {
	due := after(q.now, delay)
	if !p.fired {
		due = max(due, after(q.now, q.parkTimeout(timeout)))
	}
	return end{again: true, due: due, firm: true}
}

func (q *Queue[K]) parkTimeout(asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	return q.o.ParkTimeout
}

func (q *Queue[K]) isWorking(hash uint32, k K) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries.Get(hash, k)
	return e != nil && e.state == Working
}

// await has the signal tell a new parking. It must not be called with the lock held.
func (q *Queue[K]) await(s *listwatch.Signal) *parking[K] {
	if s == nil {
		return nil
	}
	p := new(parking[K])
	p.stop = s.AfterFunc(func() { q.signalled(p) })
	return p
}

// finishLocked takes the entry off the working ones; nil when it isn't one.
func (q *Queue[K]) finishLocked(hash uint32, k K, now int64) *entry[K] {
	e := q.entries.Get(hash, k)
	if e == nil || e.state != Working {
		return nil
	}
	now = q.sawLocked(now)
	q.working.remove(e)
	q.stats.Working--
	q.startSum -= e.since
	q.stats.Done++
	worked := time.Duration(now - e.since)
	q.stats.WorkSum += worked
	q.stats.Work.count(worked)
	return e
}

// settleLocked gives an entry that has left the working ones, and whose key has that hash, its next
// place.
func (q *Queue[K]) settleLocked(e *entry[K], hash uint32, n end) {
	if q.phase == closed { // the key comes only if it was added before, and not sooner then
		n.again = n.firm && e.again && e.due <= q.now
	}
	if e.again && !n.firm {
		if n.again {
			n.due = min(n.due, e.due)
		} else {
			n.again, n.due = true, e.due
		}
	}
	if n.again && n.firm {
		q.returnLocked(e, n.due)
	} else if n.again {
		q.placeLocked(e, n.due)
	} else {
		q.dropLocked(e, hash)
	}
	q.drainedLocked()
}

// returnLocked is placeLocked for an entry that comes no sooner, whoever added it meanwhile. It comes
// for them, too, so no Cancel takes it back.
func (q *Queue[K]) returnLocked(e *entry[K], due int64) {
	again := e.again
	q.placeLocked(e, due)
	e.again = again && e.state == Delayed
}

// parkLocked parks an entry that has left the working ones.
func (q *Queue[K]) parkLocked(e *entry[K], p *parking[K], delay, timeout time.Duration) {
	p.entry, p.notBefore = e, after(q.now, delay)
	q.parked[e] = p
	q.delayLocked(e, max(p.notBefore, after(q.now, q.parkTimeout(timeout))), Parked)
}

// signalled is what a signal calls when it fires. A parking whose entry has left, and perhaps
// been parked again elsewhere, has no effect.
func (q *Queue[K]) signalled(p *parking[K]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.fired = true
	q.nowLocked()
	e := p.entry
	if e == nil {
		return
	}
	q.undelayLocked(e)
	q.returnLocked(e, p.notBefore)
	q.armLocked()
}

// unparkLocked takes an entry, still in state Parked, off its signal.
func (q *Queue[K]) unparkLocked(e *entry[K]) {
	p := q.parked[e]
	delete(q.parked, e)
	p.entry = nil
	p.stop()
}
