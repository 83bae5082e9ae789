package workqueue

import "time"

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
	// is the mean latency. Latency has the single times.
	LatencySum time.Duration
	Latency    Durations
	// WorkSum is the time that the keys that came back were in work. Divided by Done it is the
	// mean duration of a step. Work has the single times.
	WorkSum time.Duration
	Work    Durations
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
