package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/backoff"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// schedule says when the next comparing list is due. It is guarded by the reflector's lock.
type schedule struct {
	// generation tells a timer that was stopped too late.
	generation uint64
	stop       func()
	// soon: the timer is one for a repair, not the periodic one.
	soon bool
	// cancel ends the comparing list in progress; nil when there is none.
	cancel context.CancelCauseFunc
	pause  backoff.State
	// unpaged: pages can't be trusted. Whole: they expired under the last list, so the next one
	// is asked for in one piece. Latest: the server could not list the position.
	unpaged, whole, latest bool
}

// disarm stops the timer and the list in progress.
func (s *schedule) disarm() {
	s.generation++
	s.soon = false
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	if s.cancel != nil {
		s.cancel(errSuperseded) // it may end later than the next one
		s.cancel = nil
	}
}

// armLocked has a comparing list begin after d, instead of when it was due before.
func (r *Reflector[T]) armLocked(d time.Duration, soon bool) {
	s := &r.compare
	s.generation++
	if s.stop != nil {
		s.stop()
	}
	generation := s.generation
	s.soon = soon
	s.stop = timing.AfterFunc(r.o.Clock, d, func() { r.compareDue(generation) })
}

// armRelistLocked arms the periodic list.
func (r *Reflector[T]) armRelistLocked() {
	if period := r.o.Relist; period > 0 && !r.halting() {
		r.armLocked(period-time.Duration(r.o.Rand()*float64(period)/10), false)
	}
}

// armSoonLocked arms a repair, with backoff and not before hint.
func (r *Reflector[T]) armSoonLocked(hint time.Duration) {
	var d time.Duration
	r.compare.pause, d = r.o.pause().Next(r.compare.pause, r.o.Clock.Now(), r.o.Rand())
	r.armLocked(max(d, hint), true)
}

// compareSoon has a repair begin unless one is due or at work: that one looks for more to do
// when it ends.
func (r *Reflector[T]) compareSoon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.listing && !r.compare.soon && r.compare.cancel == nil && !r.halting() {
		r.armSoonLocked(0)
	}
}

// compareDue begins a comparing list. Versions that can't be ordered don't allow one beside a
// watch, and a watch that may be dead would repair nothing beyond the position: then the watch ends,
// and an ordinary list takes its place.
func (r *Reflector[T]) compareDue(generation uint64) {
	_, err := listwatch.CompareVersions(r.ledger.position(), "0")
	opaque, alive := err != nil, r.ledger.alive(r.o.Clock.Now())
	r.mu.Lock()
	if generation != r.compare.generation || r.active == 0 || r.halting() {
		r.mu.Unlock()
		return
	}
	periodic := !r.compare.soon
	r.compare.soon, r.compare.stop = false, nil
	if opaque || periodic && !alive {
		r.mu.Unlock()
		r.endWatch(wantList)
		return
	}
	defer r.mu.Unlock()
	ctx, cancel := context.WithCancelCause(r.ctx)
	r.compare.cancel = cancel
	r.active++
	p := plan{mode: listwatch.Compare, match: listwatch.MatchNotOlder, limit: r.o.PageSize}
	if r.compare.unpaged || r.compare.whole {
		p.limit = 0
	}
	if r.compare.latest {
		p.match = listwatch.MatchLatest
	}
	r.group.Go(func() { r.newComparison(ctx, cancel, p).run() })
}

// comparison is one comparing list beside the watch. It doesn't retry: the next one does.
type comparison[T listwatch.Object] struct {
	r        *Reflector[T]
	ctx      context.Context
	cancel   context.CancelCauseFunc
	snapshot listwatch.Snapshot[T]
	plan     plan
	// What was known when it began: a gap that the position had passed is repaired by it.
	floor  string
	note   uint64
	gap    gap
	passed bool
}

func (r *Reflector[T]) newComparison(ctx context.Context, cancel context.CancelCauseFunc, p plan) *comparison[T] {
	c := &comparison[T]{r: r, ctx: ctx, cancel: cancel, plan: p, floor: r.ledger.floor(), note: r.ledger.note()}
	c.gap, c.passed = r.ledger.lost()
	if p.match == listwatch.MatchNotOlder {
		c.plan.version = c.floor
	}
	return c
}

func (c *comparison[T]) run() {
	if err := c.begin(); err != nil {
		c.end(err)
		return
	}
	for {
		call := newCall(c.ctx, c.r.o.Clock, c.r.o.Grace)
		unhook := context.AfterFunc(c.ctx, call.armGrace)
		call.atEnd(func() { unhook() })
		o, mine := c.r.readPage(call, c.plan, c.snapshot, func(o outcome) {
			c.r.abandoned("compare", o.err, func() { c.end(o.err) })
		})
		if !mine {
			return
		}
		if done, err := c.page(o); done || err != nil {
			c.end(err)
			return
		}
	}
}

func (c *comparison[T]) begin() error {
	c.r.begin.Lock()
	defer c.r.begin.Unlock()
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	c.r.ledger.count(func(v *vitals) { v.compares++ })
	return safely("sink", func() error {
		c.snapshot = c.r.sink.Begin(listwatch.Compare)
		return nil
	})
}

// page takes a page, and commits after the last one.
func (c *comparison[T]) page(o outcome) (done bool, err error) {
	if o.err != nil {
		return false, o.err
	}
	c.r.ledger.progress(c.r.o.Clock.Now())
	version, token := o.meta.ResourceVersion, o.meta.Continue
	if fault := c.plan.fault(o.meta); fault != "" {
		return false, fmt.Errorf("%w: %s", listwatch.ErrProtocol, fault)
	}
	if older(version, c.floor) {
		return false, fmt.Errorf("%w: list of version %s after %s", listwatch.ErrTooLargeVersion, version, c.floor)
	}
	if token != "" {
		c.plan = c.plan.next(o.meta)
		return false, nil
	}
	if err := safely("sink", func() error { return c.snapshot.Commit(version) }); err != nil {
		return false, &sinkError{err}
	}
	if c.passed {
		c.r.ledger.mend(c.gap)
	}
	c.r.ledger.committed(version, listwatch.Compare, c.note, c.r.o.Clock.Now())
	return true, nil
}

// end says what follows: the next list, or the end of the watch when the server doesn't know
// its position.
func (c *comparison[T]) end(err error) {
	r := c.r
	superseded := c.ctx.Err() != nil
	if err != nil {
		// Another list aborts it by its Begin.
		if c.snapshot != nil && (!superseded || r.halting()) {
			_ = safely("sink", func() error { c.snapshot.Abort(); return nil })
		}
		if !superseded && !errors.Is(err, errIgnores) {
			r.report("compare", err, "")
		}
	}
	lost, passed := r.ledger.lost()
	f := classify(err)
	r.mu.Lock()
	if superseded = c.ctx.Err() != nil; !superseded {
		r.compare.cancel = nil
	}
	switch {
	case superseded, r.listing:
	case err != nil:
		r.compare.unpaged = r.compare.unpaged || errors.Is(err, listwatch.ErrProtocol)
		r.compare.whole = f.class == classExpired && c.plan.token != ""
		r.compare.latest = f.class == classExpired && c.plan.token == "" || f.class == classUnsupported
		r.armSoonLocked(f.hint)
	case lost.open && passed:
		r.compare.whole, r.compare.latest = false, false
		r.armSoonLocked(0)
	default:
		r.compare.whole, r.compare.latest = false, false
		r.armRelistLocked()
	}
	r.mu.Unlock()
	c.cancel(errSuperseded)
	if f.class == classTooNew && !superseded {
		r.endWatch(wantLatest)
	}
	r.ended()
}
