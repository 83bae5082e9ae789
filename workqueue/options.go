package workqueue

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/benbjohnson/clock"
)

// Options configure a [Queue]. The zero value works.
type Options struct {
	// Name says in errors and logs which queue it is. Several queues may have one name.
	// Defaults to "".
	Name string
	// Clock is the time the queue lives by. Defaults to the real one.
	Clock clock.Clock
	// Logger hears what steps return as errors, and what user code panics with. Defaults to
	// [slog.Default].
	Logger *slog.Logger
	// Aging is how long a ready key waits to gain one level of priority, so that nothing
	// starves. Negative: keys don't age, and a busy high priority starves a lower one.
	// Defaults to one second.
	Aging time.Duration
	// ParkTimeout is how long a key stays parked for a signal that does not come, when its
	// [Result] does not say. Then it is handed out, though what it waits for has not happened.
	// Defaults to 30 s.
	ParkTimeout time.Duration
}

// Policy is the part of a queue's configuration that depends on the type of its keys. The
// zero value works.
type Policy[K comparable] struct {
	// Limiter says how long a failed key waits. The queue calls it without holding a lock; one
	// that panics is logged, and the key waits one second. Defaults to an [Exponential] of the
	// queue's own.
	Limiter Limiter[K]
	// Flow returns the flow (a namespace, a tenant) that a key belongs to. Flows get fair
	// shares: within one priority they take turns. It is called in Add and its kin, without a
	// lock; one that panics is logged, and the key goes to the flow "". Defaults to none: all
	// keys are of one flow.
	Flow func(K) string
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Aging == 0 {
		o.Aging = time.Second
	}
	if o.ParkTimeout == 0 {
		o.ParkTimeout = 30 * time.Second
	}
	return o
}

func (o Options) validate(policies int) error {
	var faults []error
	if o.ParkTimeout < 0 {
		faults = append(faults, fmt.Errorf("ParkTimeout is negative: %s", o.ParkTimeout))
	}
	if policies > 1 {
		faults = append(faults, fmt.Errorf("%d policies, at most one makes sense", policies))
	}
	return errors.Join(faults...)
}

// AddOptions say how a key is added. The zero value is Add's.
type AddOptions struct {
	// After delays the key. 0 or less: at once. Defaults to 0.
	After time.Duration
	// Priority: a higher one is handed out first. A key keeps the highest it was given for as
	// long as the queue holds it, re-queues included. Defaults to 0.
	Priority int
	// Replace puts After and Priority in the place of what the key had, even if that makes it
	// later or lower. A parked key stays parked. Defaults to false: the earlier due time and
	// the higher priority win.
	Replace bool
}
