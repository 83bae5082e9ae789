package workqueue

import (
	"math"
	"sync"
	"time"
)

// Exponential is a [Limiter] that doubles the delay of a key with each of its failures.
//
// It remembers each key that has failed until Forget: the memory is bounded by the number of
// failing keys as long as every key that is given up is forgotten, as [Process] does upon
// success. The zero value is ready. It is safe for concurrent use; its fields must not be
// changed once it is in use, and it must not be copied.
type Exponential[K comparable] struct {
	// Base is the delay after the first failure. Defaults to 5 ms.
	Base time.Duration
	// Max is the longest delay. Defaults to 1000 s.
	Max time.Duration

	// mu guards failures.
	mu       sync.Mutex
	failures map[K]int
}

// When returns Base doubled for each failure before, at most Max. It never overflows.
func (x *Exponential[K]) When(k K) time.Duration {
	return x.delay(x.count(k))
}

func (x *Exponential[K]) count(k K) (before int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failures == nil {
		x.failures = make(map[K]int)
	}
	before = x.failures[k]
	if before < math.MaxInt {
		x.failures[k] = before + 1
	}
	return before
}

func (x *Exponential[K]) delay(doublings int) time.Duration {
	base, longest := x.Base, x.Max
	if base <= 0 {
		base = 5 * time.Millisecond
	}
	if longest <= 0 {
		longest = 1000 * time.Second
	}
	if doublings >= 63 || base > longest>>doublings {
		return longest
	}
	return base << doublings
}

// Forget makes the next failure of the key its first.
func (x *Exponential[K]) Forget(k K) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.failures, k)
	if len(x.failures) == 0 {
		x.failures = nil // a map does not shrink
	}
}

// Requeues returns the number of failures of the key.
func (x *Exponential[K]) Requeues(k K) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failures[k]
}
