package reflector

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// call is one call of the source: its context, its deadline, and the guard of its callbacks.
//
// It runs in the goroutine of its caller. When it doesn't return within the grace after its
// context is done it is abandoned: a new goroutine goes on in its caller's place, and the old
// one ends as soon as the source lets it.
type call struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	clock  clock.Clock
	grace  time.Duration
	began  time.Time

	mu sync.Mutex // guards all below
	// goOn is what is called when the call is abandoned; nil before do.
	goOn func()
	// over: the call has returned or was abandoned, so callbacks are refused. Dated: its context is
	// done, and the grace has begun.
	over, dated bool
	stops       []func()
	// sunk is the first failure of the sink within the call.
	sunk               error
	heard, moved, news bool
	// idle is how long there may be no progress, since last; 0: no such deadline.
	idle time.Duration
	last time.Time
	// inside counts the callbacks in progress. A call that is doomed is abandoned when there
	// are none, so that what a callback does never overlaps with what follows the call.
	inside int
	doomed bool
}

type outcome struct {
	meta listwatch.ListMeta
	err  error
}

func newCall(ctx context.Context, c clock.Clock, grace time.Duration) *call {
	k := &call{clock: c, grace: grace, began: c.Now()}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	return k
}

// do calls f. Mine is false when f was abandoned: then taken has been started in a goroutine
// of its own with the outcome instead, and the caller must touch nothing and return.
func (c *call) do(f func() outcome, abandoned func(outcome)) (o outcome, mine bool) {
	c.mu.Lock()
	c.goOn = func() {
		abandoned(outcome{err: fmt.Errorf("%w: %w", errIgnores, context.Cause(c.ctx))})
	}
	c.mu.Unlock()
	if c.ctx.Err() != nil {
		c.armGrace()
	}
	returned := false
	defer func() {
		if p := recover(); p != nil {
			o = outcome{err: &panicError{where: "source", value: p, stack: debug.Stack()}}
		} else if !returned { // runtime.Goexit: this goroutine is lost
			c.end(fmt.Errorf("%w: the source ended its goroutine", listwatch.ErrProtocol))
			c.abandon()
			return
		}
		o.err = c.verdict(o.err)
		mine = c.close()
	}()
	o = f()
	returned = true
	return o, true
}

// verdict puts the reason in the place of its consequence.
func (c *call) verdict(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ctx.Err() != nil && (err != nil || c.sunk != nil):
		return context.Cause(c.ctx)
	case c.sunk != nil:
		return c.sunk
	}
	return err
}

// close ends the call; only the first one succeeds.
func (c *call) close() bool {
	c.mu.Lock()
	stops, first := c.stops, !c.over
	c.over, c.stops = true, nil
	c.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	c.cancel(listwatch.ErrStopped)
	return first
}

// abandon ends the call in the place of a source that doesn't.
func (c *call) abandon() {
	c.mu.Lock()
	c.doomed = true
	wait := c.inside > 0
	c.mu.Unlock()
	if !wait && c.close() {
		c.goOn()
	}
}

// atEnd has stop called when the call is over.
func (c *call) atEnd(stop func()) {
	c.mu.Lock()
	over := c.over
	c.stops = append(c.stops, stop)
	c.mu.Unlock()
	if over {
		stop()
	}
}

// after calls f once after d, unless the call is over.
func (c *call) after(d time.Duration, f func()) {
	c.atEnd(timing.AfterFunc(c.clock, d, func() {
		if c.open() {
			f()
		}
	}))
}

// end has the source return: it cancels the context, and the grace begins. Whoever cancels a context
// around it must call end as well.
func (c *call) end(cause error) {
	c.cancel(cause)
	c.armGrace()
}

func (c *call) armGrace() {
	c.mu.Lock()
	arm := c.goOn != nil && !c.over && !c.dated
	c.dated = c.dated || arm
	c.mu.Unlock()
	if arm {
		c.after(c.grace, c.abandon)
	}
}

// endAfter ends the call after d.
func (c *call) endAfter(d time.Duration, cause error) {
	c.after(d, func() { c.end(cause) })
}

// open reports whether callbacks are still welcome.
func (c *call) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.over
}

// watchIdle ends the call when it makes no progress for d; d <= 0: never.
func (c *call) watchIdle(d time.Duration) {
	c.mu.Lock()
	c.idle, c.last = d, c.began
	c.mu.Unlock()
	if d > 0 {
		c.after(d, c.checkIdle)
	}
}

// stopIdle ends the supervision that watchIdle began.
func (c *call) stopIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = 0
}

// checkIdle looks at the time of the last progress, so that progress need not touch a timer.
func (c *call) checkIdle() {
	now := c.clock.Now()
	c.mu.Lock()
	if now.Before(c.last) {
		c.last = now // the clock has gone back
	}
	wait := c.last.Add(c.idle).Sub(now)
	if c.inside > 0 {
		wait = c.idle
	}
	over := c.idle <= 0
	c.mu.Unlock()
	switch {
	case over:
	case wait > 0:
		c.after(wait, c.checkIdle)
	default:
		c.end(errNoProgress)
	}
}

// enter begins a callback; it fails when the call is over.
func (c *call) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return fmt.Errorf("%w: the call is over", listwatch.ErrStopped)
	}
	c.inside++
	return nil
}

// leave ends a callback. The time spent in it is not the source's.
func (c *call) leave() {
	c.mu.Lock()
	c.inside--
	if c.idle > 0 {
		c.last = c.clock.Now()
	}
	doomed := c.doomed && c.inside == 0
	c.mu.Unlock()
	if doomed {
		c.abandon()
	}
}

// sink runs f, which hands something to the sink, and keeps its failure.
func (c *call) sink(f func() error) error {
	err := safely("sink", f)
	if err == nil {
		return nil
	}
	var sunk *sinkError
	if !errors.As(err, &sunk) {
		err = &sinkError{err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sunk == nil {
		c.sunk = err
	}
	return err
}

// note keeps what a batch of a watch has shown.
func (c *call) note(moved, news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = true
	c.moved, c.news = c.moved || moved, c.news || news
}

func (c *call) seen() (heard, moved, news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard, c.moved, c.news
}

// safely makes an error of a panic of f.
func safely(where string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{where: where, value: p, stack: debug.Stack()}
		}
	}()
	return f()
}
