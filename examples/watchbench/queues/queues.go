// Package queues has the workloads of the work queue by itself: keys from one producer to some
// workers, at once, later, after failures, and by priority.
package queues

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/measure"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/sides"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// size is how much a run does; a quick run does a sixteenth of it.
type size struct {
	// keys are added in each of so many rounds.
	keys, rounds int
	// hotKeys are added so many times.
	hotKeys, adds int
	// delayed keys wait for an hour at least; due ones come within the span.
	delayed, due int
	span         time.Duration
	// ranked keys have priorities, in as many rounds.
	ranked int
}

var full = size{
	keys: 200_000, rounds: 3, hotKeys: 1_000, adds: 5_000_000,
	delayed: 1_000_000, due: 1_000_000, span: time.Second, ranked: 100_000,
}

func (s size) quick() size {
	const part = 16 // a power of two, with which tables are as full as in the full size
	return size{s.keys / part, s.rounds, s.hotKeys, s.adds / part, s.delayed / part, s.due / part, s.span / part, s.ranked / part}
}

// key is what is queued on all sides: all queues are generic, and the key of either library is two
// strings.
type key = listwatch.Key

// queue is what all sides can do.
type queue interface {
	Add(k key)
	// Get blocks until there is a key, and reports false when the queue was shut down.
	Get() (key, bool)
	Done(k key)
	ShutDown()
	later
}

// later is what makes keys come later.
type later interface {
	AddAfter(k key, d time.Duration)
	AddRateLimited(k key)
	Forget(k key)
	// AddPriority is Add with a priority; client-go's queue has none.
	AddPriority(k key, priority int)
}

// variant is one row of the workload.
type variant struct {
	name  string
	sides []string
	run   func(q queue, s size) (work.Metrics, error)
}

func variants() []variant {
	plain, ranked := []string{sides.Listwatch, sides.ClientGo}, []string{sides.Listwatch, sides.ControllerRuntime}
	var all []variant
	for _, workers := range []int{1, 2, 8, 64} {
		all = append(all, variant{"distinct-" + strconv.Itoa(workers), plain, func(q queue, s size) (work.Metrics, error) {
			return distinct(q, s.keys, s.rounds, workers)
		}})
	}
	all = append(all, variant{"hot", plain, hot}, variant{"delayed", plain, delayed}, variant{"due", plain, due},
		variant{"rate-limited", plain, rateLimited})
	for _, workers := range []int{1, 8} {
		all = append(all, variant{"priorities-" + strconv.Itoa(workers), ranked, func(q queue, s size) (work.Metrics, error) {
			return priorities(q, s, workers)
		}})
	}
	return all
}

// Cases returns workload Q, the work queue.
func Cases() []work.Case { return cases(full) }

func cases(s size) []work.Case {
	var all []work.Case
	for _, v := range variants() {
		for _, side := range v.sides {
			all = append(all, work.Case{
				Workload: "Q", Name: v.name, Side: side, Quick: true,
				Run: func(_ context.Context, quick bool) (work.Metrics, error) {
					q, err := newQueue(side)
					if err != nil {
						return nil, err
					}
					defer q.ShutDown()
					if quick {
						return v.run(q, s.quick())
					}
					return v.run(q, s)
				},
			})
		}
	}
	return all
}

func newQueue(side string) (queue, error) {
	switch side {
	case sides.Listwatch:
		return newOurs(), nil
	case sides.ClientGo:
		return newTheirs(), nil
	case sides.ControllerRuntime:
		return newRanked(), nil
	}
	return nil, fmt.Errorf("no queue of %q", side)
}

func makeKeys(n int) []key {
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{Namespace: "namespace-" + strconv.Itoa(i%100), Name: "name-" + strconv.Itoa(i)}
	}
	return keys
}

// crew is workers that get keys and are done with them at once.
type crew struct {
	queue queue
	// step is what a worker does with a key; may be nil.
	step  func(key)
	left  atomic.Int64
	done  chan struct{} // gets a token when none is left
	group sync.WaitGroup
}

func newCrew(q queue, workers int, step func(key)) *crew {
	c := &crew{queue: q, step: step, done: make(chan struct{}, 1)}
	for range workers {
		c.group.Go(c.work)
	}
	return c
}

func (c *crew) work() {
	for {
		k, ok := c.queue.Get()
		if !ok {
			return
		}
		if c.step != nil {
			c.step(k)
		}
		c.queue.Done(k)
		if c.left.Add(-1) == 0 {
			c.done <- struct{}{}
		}
	}
}

// round adds keys and waits until all are done.
func (c *crew) round(keys []key, add func(n int, k key)) {
	c.left.Store(int64(len(keys)))
	for n, k := range keys {
		add(n, k)
	}
	<-c.done
}

// end shuts the queue down and waits for the workers.
func (c *crew) end() {
	c.queue.ShutDown()
	c.group.Wait()
}

// rounds has a new crew do so many rounds, and returns what a key took.
func (c *crew) rounds(keys []key, rounds int, add func(n int, k key)) (work.Metrics, error) {
	defer c.end()
	return timed("key", len(keys)*rounds, func() {
		for range rounds {
			c.round(keys, add)
		}
	})
}

// timed returns what one of n took that f does.
func timed(what string, n int, f func()) (work.Metrics, error) {
	start, err := measure.Now()
	if err != nil {
		return nil, err
	}
	f()
	var used measure.Usage
	if err := used.Add(start); err != nil {
		return nil, err
	}
	return work.Metrics{"ns_per_" + what: measure.Per(used.Wall, n), "cpu_ns_per_" + what: measure.Per(used.CPU, n)}, nil
}
