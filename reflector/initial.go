package reflector

import (
	"context"
	"fmt"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// initial is the reading of initial events. Until their end mark nothing is a resume point:
// what exists goes into the snapshot, and deletes pass it by without a version.
type initial[T listwatch.Object] struct {
	r            *Reflector[T]
	c            *call
	snapshot     listwatch.Snapshot[T]
	watchTimeout time.Duration
	listed       []T
	synced       bool
}

// take takes a batch, which may hold the end mark in its middle.
func (s *initial[T]) take(events []listwatch.Event[T]) error {
	if s.synced {
		return s.r.take(s.c, events)
	}
	s.c.note(false, false)
	s.r.ledger.progress(s.r.o.Clock.Now())
	for i, event := range events {
		if event.Type == listwatch.Synced {
			if err := s.commit(event.ResourceVersion); err != nil {
				return err
			}
			return s.r.take(s.c, events[i+1:])
		}
		if err := s.one(event); err != nil {
			return err
		}
	}
	return s.flush()
}

// one takes an event from before the end mark.
func (s *initial[T]) one(event listwatch.Event[T]) error {
	switch event.Type {
	case listwatch.Bookmark:
		return nil
	case listwatch.Added, listwatch.Modified:
		s.listed = append(s.listed, event.Object)
		return nil
	case listwatch.Deleted:
		h, err := head(event.Object)
		if err != nil {
			return s.refuse(h, err)
		}
		if err := s.flush(); err != nil {
			return err
		}
		event.ResourceVersion = ""
		return s.c.sink(func() error { return s.r.sink.Apply(s.c.ctx, event) })
	}
	return s.refuse(listwatch.Head{}, fmt.Errorf("%w: event of type %s", listwatch.ErrProtocol, event.Type))
}

func (s *initial[T]) refuse(h listwatch.Head, reason error) error {
	return s.c.sink(func() error { s.r.refuse(s.snapshot, h, reason); return nil })
}

func (s *initial[T]) flush() error {
	if len(s.listed) == 0 {
		return nil
	}
	err := s.c.sink(func() error {
		s.r.bring(s.listed)
		return s.r.put(s.c.ctx, s.snapshot, s.listed)
	})
	clear(s.listed)
	s.listed = s.listed[:0]
	return err
}

// commit hands over from the snapshot to the live watch, within the call.
func (s *initial[T]) commit(version string) error {
	if err := s.flush(); err != nil {
		return err
	}
	if version == "" || version == "0" {
		return fmt.Errorf("%w: an end mark without a version", listwatch.ErrProtocol)
	}
	if floor := s.r.ledger.floor(); older(version, floor) {
		return fmt.Errorf("%w: initial events of version %s after %s", listwatch.ErrProtocol, version, floor)
	}
	if e := s.r.step(input{kind: inSynced, meta: listwatch.ListMeta{ResourceVersion: version}}); e.do != doCommit {
		return context.Cause(s.c.ctx)
	}
	in := s.r.commit(version)
	if in.err != nil {
		return s.c.sink(func() error { return in.err })
	}
	s.r.step(in)
	s.synced, s.listed = true, nil
	s.c.note(true, true)
	s.c.stopIdle()
	left := s.watchTimeout - s.r.o.Clock.Since(s.c.began)
	s.c.endAfter(sum(max(left, 0), s.r.o.WatchSlack), errDeadline)
	s.r.ledger.enter(Watching, s.r.o.Clock.Now())
	s.r.connect(s.c)
	return nil
}

func (s *initial[T]) refused() func(listwatch.Head, error) error {
	listed, watched := s.r.refusedListed(s.c, s.snapshot), s.r.refusedWatched(s.c)
	return func(h listwatch.Head, reason error) error {
		if s.synced {
			return watched(h, reason)
		}
		return listed(h, reason)
	}
}
