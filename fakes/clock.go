package fakes

import (
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Clock is a wall clock that can be set while timers go on undisturbed, as when a machine's time
// is corrected. Embedded is the clock that it is set against. All methods are safe for
// concurrent use. The zero value is not usable, use [NewClock].
type Clock struct {
	clock.Clock
	// shift is by how many nanoseconds Now is off.
	shift atomic.Int64
}

// NewClock returns a clock that agrees with c; nil is the real clock.
func NewClock(c clock.Clock) *Clock { return &Clock{Clock: timing.Or(c)} }

// Jump sets the clock by d, back when d is negative. Timers that run are not touched.
func (c *Clock) Jump(d time.Duration) { c.shift.Add(int64(d)) }

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	// Without its monotonic reading, which would hide a jump.
	return c.Clock.Now().Add(time.Duration(c.shift.Load())).Round(0)
}

// Since returns the time that has passed since t, as the clock shows it.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until returns the time until t, as the clock shows it.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Inject lets the clock jump: it takes [FaultJump] and nothing else.
func (c *Clock) Inject(f Fault) error {
	if err := f.check(ofClock); err != nil {
		return err
	}
	c.Jump(f.For)
	return nil
}

// Heal sets the clock right.
func (c *Clock) Heal() { c.shift.Store(0) }

var _ clock.Clock = (*Clock)(nil)
