package reflector

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// watch watches from the position until the call ends.
func (r *Reflector[T]) watch() (input, bool) {
	c := r.newCall()
	if want := r.connect(c); want != wantNothing {
		c.close()
		return input{kind: inEnded, want: want}, true
	}
	timeout := r.watchTimeout()
	c.endAfter(sum(timeout, r.o.WatchSlack), errDeadline)
	o, mine := c.do(func() outcome {
		return outcome{err: r.source.Watch(c.ctx, listwatch.WatchOptions{
			ResourceVersion: r.ledger.position(),
			Timeout:         timeout,
			Refused:         r.refusedWatched(c),
		}, func(events ...listwatch.Event[T]) error {
			if err := c.enter(); err != nil {
				return err
			}
			defer c.leave()
			return r.take(c, events)
		})}
	}, r.afterWatch(c))
	if !mine {
		return input{}, false
	}
	return r.watched(c, o), true
}

// stream reads the collection as initial events; the call goes on as a watch behind their end
// mark.
func (r *Reflector[T]) stream(p plan) (input, bool) {
	c := r.newCall()
	if err := r.beginList(p.mode); err != nil {
		return r.watched(c, outcome{err: &sinkError{err}}), true
	}
	timeout := r.watchTimeout()
	c.watchIdle(r.o.StreamTimeout)
	s := &initial[T]{r: r, c: c, snapshot: r.snapshot, watchTimeout: timeout}
	o, mine := c.do(func() outcome {
		return outcome{err: r.source.Watch(c.ctx, listwatch.WatchOptions{
			InitialEvents: true,
			Timeout:       timeout,
			Known:         r.known(c, r.snapshot),
			Refused:       s.refused(),
		}, func(events ...listwatch.Event[T]) error {
			if err := c.enter(); err != nil {
				return err
			}
			defer c.leave()
			return s.take(events)
		})}
	}, r.afterWatch(c))
	if !mine {
		return input{}, false
	}
	return r.watched(c, o), true
}

func (r *Reflector[T]) afterWatch(c *call) func(outcome) {
	return func(o outcome) {
		r.abandoned("watch", o.err, func() { r.loop(r.watched(c, o)) })
	}
}

// watched says how a watch has ended.
func (r *Reflector[T]) watched(c *call, o outcome) input {
	r.abort()
	heard, moved, news := c.seen()
	lost, passed := r.ledger.lost()
	r.mu.Lock()
	defer r.mu.Unlock()
	in := input{
		kind: inEnded, failure: classify(o.err), elapsed: r.o.Clock.Since(c.began),
		heard: heard, moved: moved, news: news, gap: lost.open && !passed, want: r.want, op: "watch", err: o.err,
	}
	if r.machine.phase == phaseStreaming {
		in.op = "stream"
	}
	if in.err == nil && r.machine.phase == phaseWatching {
		// Told only when the end came too soon.
		in.err = listwatch.ErrUnavailable
	}
	r.live, r.want = false, wantNothing
	return in
}

// connect makes c the live watch, unless something else is wanted.
func (r *Reflector[T]) connect(c *call) want {
	r.mu.Lock()
	defer r.mu.Unlock()
	if want := r.want; want != wantNothing {
		r.want = wantNothing
		return want
	}
	r.live = true
	r.ledger.count(func(v *vitals) {
		v.watches++
		v.connectedSince = c.began
	})
	return wantNothing
}

// endWatch ends the live watch, or the next one at once, and has a list follow it.
func (r *Reflector[T]) endWatch(w want) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.want = max(r.want, w)
	if r.live {
		r.call.end(errRelist)
	}
}

func (r *Reflector[T]) watchTimeout() time.Duration {
	return sum(r.o.WatchTimeout, time.Duration(r.o.Rand()*float64(r.o.WatchJitter)))
}

// sum adds two times that are not negative; what is too long is for ever.
func sum(a, b time.Duration) time.Duration { return a + min(b, math.MaxInt64-a) }

// take hands a batch of live events to the sink; then the position moves.
func (r *Reflector[T]) take(c *call, events []listwatch.Event[T]) error {
	kept, position, objects := r.sift(events)
	defer clear(r.batch)
	if len(kept) > 0 {
		if err := c.sink(func() error { return r.sink.Apply(c.ctx, kept...) }); err != nil {
			return err
		}
	}
	moved, passed := r.ledger.taken(position, objects, r.o.Clock.Now())
	c.note(moved, moved && objects)
	if passed {
		r.compareSoon()
	}
	return nil
}

// sift leaves out what is at or below the position, and what cannot be taken: a gap. It
// returns the position behind the batch and whether an object is in it. Events of one version
// stand together in one batch, so a version is only a duplicate of the position before it.
func (r *Reflector[T]) sift(events []listwatch.Event[T]) (kept []listwatch.Event[T], position string, objects bool) {
	before := r.ledger.position()
	position = before
	kept, same := events, true
	for i, event := range events {
		keep, err := r.judge(&event, before, position)
		if err != nil {
			r.lose(headOf(event), err)
		}
		if keep && event.Type != listwatch.Bookmark {
			objects = true
			r.acceptedEvent(event)
			if event.ResourceVersion == "" {
				r.ledger.sees(event.Object.GetResourceVersion())
			}
		}
		if keep && event.ResourceVersion != "" {
			position = event.ResourceVersion
		}
		if same && !(keep && event.Type == events[i].Type) {
			same = false
			r.batch = append(r.batch[:0], events[:i]...)
		}
		if keep && !same {
			r.batch = append(r.batch, event)
		}
	}
	if !same {
		kept = r.batch
	}
	return kept, position, objects
}

// judge says whether an event is to be handed on, and what is wrong when it is to be, but
// cannot. Before is the position before the batch, position the one within it.
func (r *Reflector[T]) judge(event *listwatch.Event[T], before, position string) (keep bool, err error) {
	version := event.ResourceVersion
	switch event.Type {
	case listwatch.Added, listwatch.Modified, listwatch.Deleted:
		if _, err := head(event.Object); err != nil || version == "" {
			return err == nil, err
		}
	case listwatch.Bookmark, listwatch.Synced:
		// A second end mark is a bookmark like any other.
		event.Type = listwatch.Bookmark
		if version == "" {
			return false, nil
		}
	default:
		return false, fmt.Errorf("%w: event of type %s", listwatch.ErrProtocol, event.Type)
	}
	order, err := listwatch.CompareVersions(version, position)
	switch {
	case version == before:
		return false, nil
	case err == nil && order < 0:
		return false, fmt.Errorf("%w: %s after %s", errWentBack, version, position)
	}
	return true, nil
}

// headOf returns what can be told of an event that cannot be taken.
func headOf[T listwatch.Object](event listwatch.Event[T]) listwatch.Head {
	h := listwatch.Head{ResourceVersion: event.ResourceVersion}
	switch event.Type {
	case listwatch.Added, listwatch.Modified, listwatch.Deleted:
		h.Key = listwatch.KeyOf(event.Object)
	}
	return h
}

func (r *Reflector[T]) acceptedEvent(event listwatch.Event[T]) {
	if r.ledger.refusals.Load() > 0 {
		r.ledger.accept(listwatch.KeyOf(event.Object), event.ResourceVersion)
	}
}

// refusedWatched notes a live event that cannot be taken: a gap. The watch goes on.
func (r *Reflector[T]) refusedWatched(c *call) func(listwatch.Head, error) error {
	return func(h listwatch.Head, reason error) error {
		if err := c.enter(); err != nil {
			return err
		}
		defer c.leave()
		r.lose(h, reason)
		return nil
	}
}

// lose notes a gap and, when it is new, reports it and has a comparing list repair it. An old state
// that comes again says that the source has begun anew, so more may have been lost.
func (r *Reflector[T]) lose(h listwatch.Head, reason error) {
	back := errors.Is(reason, errWentBack)
	news, passed := r.ledger.lose(h, back)
	if h.Key.Name != "" && !back {
		r.ledger.refuse(h, reason, r.o.Clock.Now())
	}
	if news {
		r.report("watch", reason, strings.TrimSuffix("gap at "+h.Key.String(), " at "))
	}
	if news || passed && h.Key.Name != "" {
		r.compareSoon()
	}
}
