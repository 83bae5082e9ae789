package workqueue

import "time"

// Limiter says how long a failed key is to wait. Its methods must be safe for concurrent use.
// They are never called under a lock of the queue.
type Limiter[K comparable] interface {
	// When counts a failure of the key and returns the delay before it is tried again.
	When(k K) time.Duration
	// Forget drops what is kept about the key.
	Forget(k K)
	// Requeues returns how many failures of the key were counted since it was last forgotten.
	Requeues(k K) int
}

// Max returns a limiter that asks all the given ones, and takes the longest delay and the
// highest count. With none it never delays.
func Max[K comparable](limiters ...Limiter[K]) Limiter[K] {
	return longest[K](append([]Limiter[K](nil), limiters...))
}

type longest[K comparable] []Limiter[K]

func (l longest[K]) When(k K) (delay time.Duration) {
	for _, limiter := range l {
		delay = max(delay, limiter.When(k))
	}
	return delay
}

func (l longest[K]) Forget(k K) {
	for _, limiter := range l {
		limiter.Forget(k)
	}
}

func (l longest[K]) Requeues(k K) (failures int) {
	for _, limiter := range l {
		failures = max(failures, limiter.Requeues(k))
	}
	return failures
}
