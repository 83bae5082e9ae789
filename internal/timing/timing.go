// Package timing is the one way in which this module uses an injected clock.
//
// It uses only Now, Since, Until, AfterFunc and Stop of it. Stop is a hint: a callback may run
// although it returned true, so callers check a generation or a due time in the callback.
package timing

import (
	"context"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
)

var realClock = clock.New()

// Or returns c, or the real clock when c is nil.
func Or(c clock.Clock) clock.Clock {
	if c == nil {
		return realClock
	}
	return c
}

// AfterFunc calls f once after d, in a goroutine of the clock's. d must be positive: what is
// due at once is the caller's to do. Stop is a hint, see the package's comment.
func AfterFunc(c clock.Clock, d time.Duration, f func()) (stop func()) {
	d = max(d, 1)
	if c == realClock { // which would wrap the timer in a larger one
		t := time.AfterFunc(d, f)
		return func() { t.Stop() }
	}
	t := c.AfterFunc(d, f)
	return func() { t.Stop() }
}

// Sleep blocks for d, or until ctx is done; then it returns ctx's cause. A d of 0 or less
// returns at once.
func Sleep(ctx context.Context, c clock.Clock, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	due := make(chan struct{})
	once := sync.OnceFunc(func() { close(due) })
	stop := AfterFunc(c, d, once)
	defer stop()
	select {
	case <-due:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
