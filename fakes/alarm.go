package fakes

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// alarm wakes one waiting goroutine at a due time. A ring that comes late or twice only makes
// the waiter look again, so stopping a timer need not be exact.
type alarm struct {
	clock  clock.Clock
	rung   chan struct{}
	due    time.Time
	disarm func()
}

func newAlarm(c clock.Clock) *alarm {
	return &alarm{clock: c, rung: make(chan struct{}, 1), disarm: func() {}}
}

// wait blocks until due (a zero time never is), until wake is closed, or until ctx is done; then
// it returns ctx's cause.
func (a *alarm) wait(ctx context.Context, due time.Time, wake <-chan struct{}) error {
	if !a.due.Equal(due) {
		a.disarm()
		a.due, a.disarm = due, func() {}
		if !due.IsZero() {
			a.disarm = timing.AfterFunc(a.clock, due.Sub(a.clock.Now()), a.ring)
		}
	}
	select {
	case <-wake:
	case <-a.rung:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

func (a *alarm) ring() {
	select {
	case a.rung <- struct{}{}:
	default:
	}
}

func (a *alarm) stop() { a.disarm() }
