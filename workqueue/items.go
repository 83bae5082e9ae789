package workqueue

import (
	"math"
	"time"
)

// Item is one key that a queue holds.
type Item[K comparable] struct {
	// Key is the key.
	Key K
	// State says where it stands.
	State State
	// Since is when it came into that state.
	Since time.Time
	// Due is when a Delayed key becomes ready, a Parked one at the latest, and a Working one
	// again. Zero: no such time, or at once.
	Due time.Time
	// Again: it was added while Working or Parked.
	Again bool
	// Priority is what it was given, age not included.
	Priority int
	// Flow is what Policy.Flow said.
	Flow string
	// Failures is what the limiter has counted; a key with some is failing.
	Failures int
}

// Name returns the name that Options gave.
func (q *Queue[K]) Name() string { return q.o.Name }

// Items returns all keys that the queue holds, in no particular order. It is for people who
// look for a key: it holds the lock while it copies, and asks the limiter about each key after.
func (q *Queue[K]) Items() []Item[K] { return q.some(math.MaxInt) }

// Item returns what the queue holds under a key. A key that it does not hold has no State; its
// Failures are told nevertheless.
func (q *Queue[K]) Item(k K) (i Item[K], ok bool) {
	i.Key = k
	hash := q.entries.Hash(k)
	q.mu.Lock()
	q.nowLocked()
	e := q.entries.Get(hash, k)
	if ok = e != nil; ok {
		i = q.itemLocked(e)
	}
	q.mu.Unlock()
	i.Failures = q.Requeues(k)
	return i, ok
}

// Find is [Queue.Item] for callers that do not know the type of the keys: it reports false also
// when k is not of that type.
func (q *Queue[K]) Find(k any) (Item[any], bool) {
	key, ok := k.(K)
	if !ok {
		return Item[any]{Key: k}, false
	}
	i, ok := q.Item(key)
	return i.untyped(), ok
}

// Some returns up to n keys of each state, for callers that do not know the type of the keys:
// those longest in work, and of the ready and the waiting ones about those whose turn comes first.
// It holds the lock for as long as it takes to copy them.
func (q *Queue[K]) Some(n int) []Item[any] {
	items := q.some(n)
	all := make([]Item[any], len(items))
	for n := range items {
		all[n] = items[n].untyped()
	}
	return all
}

func (i Item[K]) untyped() Item[any] {
	return Item[any]{
		Key: i.Key, State: i.State, Since: i.Since, Due: i.Due, Again: i.Again,
		Priority: i.Priority, Flow: i.Flow, Failures: i.Failures,
	}
}

func (q *Queue[K]) some(n int) []Item[K] {
	items := q.copy(n)
	for i := range items {
		items[i].Failures = q.Requeues(items[i].Key)
	}
	return items
}

// copy returns up to n items of each state.
func (q *Queue[K]) copy(n int) []Item[K] {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nowLocked()
	var left [Parked + 1]int
	for s := range left {
		left[s] = n
	}
	total := min(n, q.ready.len) + min(n, q.stats.Working) + min(n, q.delayed.Len())
	items := make([]Item[K], 0, total)
	take := func(e *entry[K]) (more bool) {
		if left[e.state] > 0 {
			left[e.state]--
			items = append(items, q.itemLocked(e))
		}
		return left[e.state] > 0
	}
	for e := q.working.first; e != nil && take(e); e = e.next {
	}
	q.ready.each(take)
	for _, s := range q.delayed.Items() {
		if !take(s.entry) && left[Delayed] == 0 && left[Parked] == 0 {
			break
		}
	}
	return items
}

func (q *Queue[K]) itemLocked(e *entry[K]) Item[K] {
	i := Item[K]{
		Key: e.key, State: e.state, Again: e.again, Priority: int(e.priority), Flow: e.lane.flow,
		Since: q.timeLocked(e.since),
	}
	if e.state != Ready && e.due != atOnce && (e.state != Working || e.again) && e.due != math.MaxInt64 {
		i.Due = q.timeLocked(e.due)
	}
	return i
}

// timeLocked returns a time of the queue's as the clock would tell it now.
func (q *Queue[K]) timeLocked(t int64) time.Time {
	return q.start.Add(time.Duration(t - q.back.Load()))
}
