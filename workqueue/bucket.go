package workqueue

import (
	"time"

	"github.com/benbjohnson/clock"
	"golang.org/x/time/rate"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Bucket is a [Limiter] by a token bucket that all keys share: it bounds the rate of retries,
// not of the work. Combine it with a limiter by key: see [Max].
//
// A token that was taken for a key is spent, even if the key is cancelled or forgotten. The
// zero value never delays. It is safe for concurrent use as long as its fields are not changed.
type Bucket[K comparable] struct {
	// Rate is the bucket; others may use it, too. Defaults to none: no delay.
	Rate *rate.Limiter
	// Cap is the longest delay; a key that gets it takes no token, so a burst of any size makes
	// nobody else wait longer. Negative: no cap. Defaults to 1000 s.
	Cap time.Duration
	// Clock is the time of the bucket. Defaults to the real one.
	Clock clock.Clock
}

// When takes a token and returns how long it is until that one is there.
func (b *Bucket[K]) When(K) time.Duration {
	if b.Rate == nil {
		return 0
	}
	longest := b.Cap
	switch {
	case longest == 0:
		longest = 1000 * time.Second
	case longest < 0:
		longest = rate.InfDuration
	}
	now := timing.Or(b.Clock).Now()
	token := b.Rate.ReserveN(now, 1)
	// A bucket without size gives no token ever: DelayFrom says InfDuration.
	delay := token.DelayFrom(now)
	if delay > longest {
		token.CancelAt(now)
		return longest
	}
	return delay
}

// Forget does nothing: a bucket knows no keys.
func (b *Bucket[K]) Forget(K) {}

// Requeues returns 0: a bucket knows no keys.
func (b *Bucket[K]) Requeues(K) int { return 0 }
