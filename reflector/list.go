package reflector

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed3bce33ad/listwatch"
)

// beginList begins the loop's snapshot; a comparing list in progress is given up.
func (r *Reflector[T]) beginList(mode listwatch.Mode) error {
	r.begin.Lock()
	defer r.begin.Unlock()
	r.abort()
	r.mu.Lock()
	r.listing, r.want = true, wantNothing
	r.compare.disarm()
	r.mu.Unlock()
	r.listNote = r.ledger.note()
	r.ledger.listing()
	return safely("sink", func() error {
		snapshot := r.sink.Begin(mode)
		r.snapshot = snapshot
		return nil
	})
}

// abort gives up the loop's snapshot. A panic in it changes nothing: the next Begin aborts, too.
func (r *Reflector[T]) abort() {
	snapshot := r.snapshot
	r.snapshot = nil
	if snapshot != nil {
		_ = safely("sink", func() error { snapshot.Abort(); return nil })
	}
}

// list reads a page of the loop's list.
func (r *Reflector[T]) list(p plan) (in input, mine bool) {
	if p.token == "" {
		if err := r.beginList(p.mode); err != nil {
			return r.listed(outcome{err: &sinkError{err}}), true
		}
	}
	c := r.newCall()
	o, mine := r.readPage(c, p, r.snapshot, func(o outcome) {
		r.abandoned("list", o.err, func() { r.loop(r.listed(o)) })
	})
	if !mine {
		return input{}, false
	}
	return r.listed(o), true
}

func (r *Reflector[T]) listed(o outcome) input {
	if o.err != nil {
		r.abort()
	} else {
		r.ledger.progress(r.o.Clock.Now())
	}
	return input{kind: inPage, meta: o.meta, failure: classify(o.err), op: "list", err: o.err}
}

// commit ends the loop's snapshot.
func (r *Reflector[T]) commit(version string) input {
	snapshot, note, mode := r.snapshot, r.listNote, r.machine.plan.mode
	r.snapshot = nil
	in := input{kind: inCommitted, op: "list", meta: listwatch.ListMeta{ResourceVersion: version}}
	if err := safely("sink", func() error { return snapshot.Commit(version) }); err != nil {
		_ = safely("sink", func() error { snapshot.Abort(); return nil })
		in.err = &sinkError{err}
		in.failure = classify(in.err)
		return in
	}
	r.ledger.committed(version, mode, note, r.o.Clock.Now())
	r.o.Logger.Debug("list complete", "reflector", r.o.Name, "mode", mode.String(), "version", version)
	r.mu.Lock()
	r.listing = false
	r.armRelistLocked()
	r.stopWarningLocked()
	r.mu.Unlock()
	return in
}

// readPage reads one page into a snapshot.
func (r *Reflector[T]) readPage(c *call, p plan, s listwatch.Snapshot[T], abandoned func(outcome)) (outcome, bool) {
	c.watchIdle(r.o.IdleTimeout)
	o := listwatch.ListOptions{
		Match: p.match, ResourceVersion: p.version, Limit: p.limit,
		Known:   r.known(c, s),
		Refused: r.refusedListed(c, s),
	}
	if p.token != "" {
		o.Match, o.ResourceVersion, o.Continue = listwatch.MatchLatest, "", p.token
	}
	return c.do(func() outcome {
		meta, err := r.source.List(c.ctx, o, func(objects ...T) error {
			if err := c.enter(); err != nil {
				return err
			}
			defer c.leave()
			return c.sink(func() error {
				if p.mode != listwatch.Compare { // that one stores nothing newer than the position
					r.bring(objects)
				}
				return r.put(c.ctx, s, objects)
			})
		})
		return outcome{meta: meta, err: err}
	}, abandoned)
}

// probe asks for one object not older than the position, to see whether the server knows it.
func (r *Reflector[T]) probe() (input, bool) {
	r.ledger.count(func(v *vitals) { v.probes++ })
	ended := func(o outcome) input {
		return input{kind: inPage, meta: o.meta, failure: classify(o.err), op: "probe", err: o.err}
	}
	c := r.newCall()
	c.watchIdle(r.o.IdleTimeout)
	o, mine := c.do(func() outcome {
		meta, err := r.source.List(c.ctx, listwatch.ListOptions{
			Match: listwatch.MatchNotOlder, ResourceVersion: r.ledger.floor(), Limit: 1,
			Known:   func(listwatch.Head) bool { return true },
			Refused: func(listwatch.Head, error) error { return nil },
		}, func(...T) error { return nil })
		return outcome{meta: meta, err: err}
	}, func(o outcome) {
		r.abandoned("probe", o.err, func() { r.loop(ended(o)) })
	})
	if !mine {
		return input{}, false
	}
	return ended(o), true
}

// newCall makes the next call of the loop.
func (r *Reflector[T]) newCall() *call {
	c := newCall(r.ctx, r.o.Clock, r.o.Grace)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.call = c
	if r.halted.Load() {
		c.cancel(listwatch.ErrStopped)
	}
	return c
}

// known passes the source's question on to the snapshot; that it asks is progress.
func (r *Reflector[T]) known(c *call, s listwatch.Snapshot[T]) func(listwatch.Head) bool {
	return func(h listwatch.Head) (held bool) {
		if h.Key.Name == "" || h.ResourceVersion == "" || c.enter() != nil {
			return false
		}
		defer c.leave()
		_ = c.sink(func() error { held = s.Known(h); return nil })
		return held
	}
}

// refusedListed notes a listed object that cannot be taken: what is held under its key stays.
func (r *Reflector[T]) refusedListed(c *call, s listwatch.Snapshot[T]) func(listwatch.Head, error) error {
	return func(h listwatch.Head, reason error) error {
		if err := c.enter(); err != nil {
			return err
		}
		defer c.leave()
		return c.sink(func() error { r.refuse(s, h, reason); return nil })
	}
}

func (r *Reflector[T]) refuse(s listwatch.Snapshot[T], h listwatch.Head, reason error) {
	s.Known(listwatch.Head{Key: h.Key})
	if r.ledger.refuse(h, reason, r.o.Clock.Now()) {
		r.report("list", reason, strings.TrimSpace("refused "+h.Key.String()))
	}
}

// bring notes up to which version the loop's list has brought states.
func (r *Reflector[T]) bring(objects []T) {
	version := ""
	for _, object := range objects {
		version = newest(version, object.GetResourceVersion())
	}
	r.ledger.brought(version)
}

// put hands listed objects on, without those that lack a name or version.
func (r *Reflector[T]) put(ctx context.Context, s listwatch.Snapshot[T], objects []T) error {
	good, bad := objects, false
	for i, object := range objects {
		h, err := head(object)
		switch {
		case err != nil:
			r.refuse(s, h, err)
			if !bad {
				good, bad = append(make([]T, 0, len(objects)), objects[:i]...), true
			}
			continue
		case bad:
			good = append(good, object)
		}
	}
	if len(good) == 0 {
		return nil
	}
	return s.Put(ctx, good...)
}

// head reads what must be known of an object, and fails when it lacks a name or version.
func head[T listwatch.Object](object T) (listwatch.Head, error) {
	h := listwatch.Head{Key: listwatch.KeyOf(object), ResourceVersion: object.GetResourceVersion()}
	switch {
	case h.Key.Name == "":
		return h, fmt.Errorf("%w: an object without a name", listwatch.ErrProtocol)
	case h.ResourceVersion == "":
		return h, fmt.Errorf("%w: %s without a version", listwatch.ErrProtocol, h.Key)
	}
	return h, nil
}
