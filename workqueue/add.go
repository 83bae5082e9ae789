package workqueue

import "time"

// Add makes the key ready, whatever delay it had; when it is in work, it is handed out again
// after that, and when it is parked, it stays so. After Close and Drain it does nothing, but
// for a key in work during a drain.
func (q *Queue[K]) Add(k K) { q.add(k, AddOptions{}, false) }

// AddAfter makes the key ready after d, at once when d is 0 or less. The earliest time that
// was asked for wins. Otherwise it is as [Queue.Add].
func (q *Queue[K]) AddAfter(k K, d time.Duration) { q.add(k, AddOptions{After: d}, false) }

// AddWith adds the key as the options say. Otherwise it is as [Queue.Add].
func (q *Queue[K]) AddWith(k K, o AddOptions) { q.add(k, o, false) }

// AddRateLimited adds the key after the time that the limiter says, which counts a failure.
// The key keeps its priority when the queue holds it. Otherwise it is as [Queue.AddAfter].
func (q *Queue[K]) AddRateLimited(k K) {
	// The limiter is not asked about a key that will never come back.
	if q.takes(k) {
		q.add(k, AddOptions{After: q.delayOf(k)}, true)
	}
}

func (q *Queue[K]) takes(k K) bool {
	hash := q.entries.Hash(k)
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.takesLocked(q.entries.Get(hash, k))
}

// takesLocked reports whether an add of e, nil for a key that is not held, is taken; if not,
// it counts.
func (q *Queue[K]) takesLocked(e *entry[K]) bool {
	if q.phase == open || q.phase == draining && e != nil && e.state == Working {
		return true
	}
	q.stats.Refused++
	return false
}

// add is the row of the state table for an add. retry: the add says nothing about priority.
func (q *Queue[K]) add(k K, o AddOptions, retry bool) {
	hash := q.entries.Hash(k)
	flow := q.flowOf(k)
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries.Get(hash, k)
	if q.phase != open && !q.takesLocked(e) {
		return
	}
	q.stats.Adds++
	if retry {
		q.stats.Retries++
	}
	if e == nil {
		now := q.nowLocked()
		e = q.newEntryLocked(k, hash, clamp(o.Priority), flow)
		q.placeLocked(e, after(now, max(o.After, 0)))
		return
	}
	if e.state == Delayed || e.state == Parked {
		// It may have come due in the meantime.
		q.nowLocked()
	}
	if !retry {
		q.prioritizeLocked(e, clamp(o.Priority), o.Replace)
	}
	switch {
	case e.state == Parked:
		e.again = true
	case e.state == Ready && o.Replace && o.After > 0:
		q.ready.remove(e)
		q.placeLocked(e, after(q.nowLocked(), o.After))
	case e.state == Delayed:
		q.hastenLocked(e, o)
	case e.state == Working:
		q.againLocked(e, o)
	}
}

// prioritizeLocked gives an entry that is held the higher of two priorities, or a new one.
func (q *Queue[K]) prioritizeLocked(e *entry[K], priority int32, replace bool) {
	switch {
	case priority == e.priority || priority < e.priority && !replace:
	case e.state != Ready:
		e.priority = priority
	case priority > e.priority:
		q.ready.raise(e, priority, q.nowLocked())
	default:
		now := q.nowLocked()
		q.ready.remove(e)
		e.priority = priority
		q.ready.push(e, now)
	}
}

// hastenLocked moves a Delayed entry to an earlier due time, or any when it is to be replaced.
func (q *Queue[K]) hastenLocked(e *entry[K], o AddOptions) {
	due := after(q.now, max(o.After, 0))
	if due >= e.due && !o.Replace {
		return
	}
	q.delayed.Remove(int(e.index))
	q.placeLocked(e, due)
}

// againLocked notes that a Working entry is to come again.
func (q *Queue[K]) againLocked(e *entry[K], o AddOptions) {
	due := int64(atOnce)
	if o.After > 0 {
		due = after(q.nowLocked(), o.After)
	}
	if !e.again || o.Replace || due < e.due {
		e.again, e.due = true, due
	}
}

// placeLocked puts an entry that is in no list and no heap where its due time belongs. Once
// the queue is not open, there is no later: the entry is dropped, and a drain notes its key.
// q.now must be up to date.
func (q *Queue[K]) placeLocked(e *entry[K], due int64) {
	if due <= q.now {
		q.readyLocked(e, q.now)
		return
	}
	if q.phase != open {
		q.abandonLocked(e)
		return
	}
	e.again = false
	q.delayLocked(e, due, Delayed)
}

// readyLocked makes an entry ready as of since, and has somebody look at it.
func (q *Queue[K]) readyLocked(e *entry[K], since int64) {
	e.state, e.again, e.since = Ready, false, since
	q.ready.push(e, since)
	q.wakeLocked()
}

// abandonLocked drops an entry that will not be handed out any more.
func (q *Queue[K]) abandonLocked(e *entry[K]) {
	if q.phase == draining {
		q.unfinished = append(q.unfinished, e.key)
	}
	q.dropLocked(e, q.entries.Hash(e.key))
}

// Cancel takes back what is not due yet: a delayed key leaves the queue, one in work will not
// come again at its later time, and one that was parked leaves unless it was added since the step
// began. It reports whether there was such a thing. What is ready or was added without delay stays.
// The failures that the limiter has counted stay, too.
func (q *Queue[K]) Cancel(k K) bool {
	hash := q.entries.Hash(k)
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.nowLocked()
	e := q.entries.Get(hash, k)
	switch {
	case e == nil || e.state == Ready:
		return false
	case e.state == Working:
		if !e.again || e.due <= now {
			return false
		}
		e.again = false
		return true
	case e.again:
		return false
	}
	q.undelayLocked(e)
	q.dropLocked(e, hash)
	q.armLocked()
	return true
}
