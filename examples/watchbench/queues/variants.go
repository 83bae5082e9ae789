package queues

import (
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/measure"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// distinct is keys that are each added once a round.
func distinct(q queue, keys, rounds, workers int) (work.Metrics, error) {
	return newCrew(q, workers, nil).rounds(makeKeys(keys), rounds, func(_ int, k key) { q.Add(k) })
}

// hot is few keys that are added again and again. What is measured is one Add, beside eight workers.
func hot(q queue, s size) (work.Metrics, error) {
	keys := makeKeys(s.hotKeys)
	c := newCrew(q, 8, nil)
	defer c.end()
	return timed("add", s.adds, func() {
		for n := range s.adds {
			q.Add(keys[n%len(keys)])
		}
	})
}

// delayed is keys that come later than anybody waits, at times of their own.
func delayed(q queue, s size) (work.Metrics, error) {
	keys := makeKeys(s.delayed)
	before := measure.Heap()
	m, err := timed("key", len(keys), func() {
		for n, k := range keys {
			q.AddAfter(k, time.Hour+time.Duration(n*7919%len(keys))*time.Millisecond)
		}
	})
	if err != nil {
		return nil, err
	}
	m["heap_B_per_key"] = (measure.Heap() - before) / float64(len(keys))
	runtime.KeepAlive(keys)
	return m, nil
}

// due is keys that come due within a short span, and are done by one worker.
func due(q queue, s size) (work.Metrics, error) {
	return newCrew(q, 1, nil).rounds(makeKeys(s.due), 1, func(n int, k key) {
		q.AddAfter(k, s.span*time.Duration(n%1000+1)/1000)
	})
}

// rateLimited is keys that have failed once, and succeed when they come again. Both sides have
// the limiter that doubles from 5 ms on, alone: client-go's default has a bucket of ten keys
// a second beside it, which nothing could be measured with.
func rateLimited(q queue, s size) (work.Metrics, error) {
	return newCrew(q, 1, q.Forget).rounds(makeKeys(s.keys), s.rounds, func(_ int, k key) { q.AddRateLimited(k) })
}

// levels is the number of priorities.
const levels = 10

// priorities is distinct keys of several priorities, in random order.
func priorities(q queue, s size, workers int) (work.Metrics, error) {
	random := rand.New(rand.NewPCG(1, 2))
	priority := make([]int, s.ranked)
	for n := range priority {
		priority[n] = random.IntN(levels)
	}
	return newCrew(q, workers, nil).rounds(makeKeys(s.ranked), s.rounds, func(n int, k key) { q.AddPriority(k, priority[n]) })
}
