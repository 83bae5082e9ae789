package workqueue

import (
	"math"
	"time"
)

// Stats are the figures of a queue at one time. The counts and sums only grow: what a
// monitoring system wants to see is their rate.
type Stats struct {
	// Ready, Delayed, Working and Parked are the numbers of keys by [State].
	Ready, Delayed, Working, Parked int
	// Adds counts the adds that were taken, Retries those among them that a limiter delayed and
	// the steps that failed.
	Adds, Retries uint64
	// Refused counts the adds that came too late: after Close, or during or after Drain.
	Refused uint64
	// Gets counts the keys handed out, Done those that came back.
	Gets, Done uint64
	// LatencySum is the time that the keys handed out were ready before that. Divided by Gets it
	// is the mean latency.
	LatencySum time.Duration
	// WorkSum is the time that the keys that came back were in work. Divided by Done it is the
	// mean duration of a step.
	WorkSum time.Duration
	// RunningSum is the time that the keys in work have been so, LongestRunning the longest.
	RunningSum, LongestRunning time.Duration
	// OldestReady is how long the key that waits longest has been in its place.
	OldestReady time.Duration
}

// Stats returns the figures as of now. It costs little, but with Policy.Flow it looks at every
// flow that has ready keys. It works after Close, too.
func (q *Queue[K]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.nowLocked()
	s := q.stats
	s.Ready = q.ready.len
	s.Parked = len(q.parked)
	s.Delayed = q.delayed.Len() - s.Parked
	s.RunningSum = time.Duration(now*int64(s.Working) - q.startSum)
	if q.working.first != nil {
		s.LongestRunning = time.Duration(now - q.working.first.since)
	}
	s.OldestReady = time.Duration(now - q.ready.oldest(now))
	return s
}

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

// Items returns all keys that the queue holds, in no particular order. It is for people who
// look for a key: it holds the lock while it copies, and asks the limiter about each key after.
func (q *Queue[K]) Items() []Item[K] {
	items := q.items()
	for i := range items {
		items[i].Failures = q.Requeues(items[i].Key)
	}
	return items
}

func (q *Queue[K]) items() []Item[K] {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nowLocked()
	items := make([]Item[K], 0, q.entries.Len())
	for e := range q.entries.All() {
		i := Item[K]{
			Key: e.key, State: e.state, Again: e.again, Priority: int(e.priority), Flow: e.lane.flow,
			Since: q.start.Add(time.Duration(e.since)),
		}
		if e.state != Ready && e.due != atOnce && (e.state != Working || e.again) && e.due != math.MaxInt64 {
			i.Due = q.start.Add(time.Duration(e.due))
		}
		items = append(items, i)
	}
	return items
}
