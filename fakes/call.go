package fakes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// call is one list or watch that runs. The source's lock guards it.
type call struct {
	verb Verb
	// frozen: nothing passes on its connection any more.
	frozen bool
	// orders are what it was told and has not looked at.
	orders []order
}

// beginLocked notes a call that begins.
func (s *Source[T]) beginLocked(v Verb) *call {
	c := &call{verb: v}
	s.calls[c] = struct{}{}
	return c
}

func (s *Source[T]) endCall(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c)
}

func (s *Source[T]) watchesLocked() (n int) {
	for c := range s.calls {
		if c.verb == VerbWatch {
			n++
		}
	}
	return n
}

// silentLocked reports whether nothing can be sent to a call.
func (s *Source[T]) silentLocked(c *call) bool {
	return c.frozen || s.faults.lasts(c.verb, FaultHang) != nil
}

// slow makes a batch late that was ordered to be.
func (s *Source[T]) slow(ctx context.Context, v Verb) error {
	s.mu.Lock()
	o, ok := s.faults.take(v, FaultSlow)
	s.mu.Unlock()
	if !ok {
		return nil
	}
	return timing.Sleep(ctx, s.o.Clock, o.For)
}

// pass lets a list send something: it blocks while nothing can be sent, and returns what
// broke the call.
func (s *Source[T]) pass(ctx context.Context, c *call, bell *alarm) error {
	for {
		s.mu.Lock()
		silent, wake := s.silentLocked(c), s.waiterLocked()
		broken := slices.IndexFunc(c.orders, order.ends)
		var err error
		if broken >= 0 && !c.frozen {
			err = c.orders[broken].err()
		}
		s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case !silent:
			return nil
		}
		if err := bell.wait(ctx, time.Time{}, wake); err != nil {
			return err
		}
	}
}

// The faults that make an object unreadable, in a list and in a watch.
var (
	spoilers      = []FaultKind{FaultGarbage, FaultNameless, FaultWrongKind, FaultOversize}
	eventSpoilers = append(slices.Clip(spoilers), FaultUnknownEvent)
)

// spoiled refuses the object that would be sent next, if that was ordered: ok is false when it
// is not sent, and err ends the call.
func (s *Source[T]) spoiled(v Verb, h listwatch.Head, refused func(listwatch.Head, error) error) (ok bool, err error) {
	of := spoilers
	if v == VerbWatch {
		of = eventSpoilers
	}
	s.mu.Lock()
	o, hit := s.faults.take(v, of...)
	s.mu.Unlock()
	if !hit {
		return true, nil
	}
	switch o.Kind {
	case FaultNameless:
		h = listwatch.Head{ResourceVersion: h.ResourceVersion}
		err = fmt.Errorf("%w: an object without name", listwatch.ErrProtocol)
	case FaultGarbage:
		err = fmt.Errorf("object %q: %w", h.Key, listwatch.ErrDecode)
	case FaultWrongKind:
		err = fmt.Errorf("object %q: %w", h.Key, listwatch.ErrWrongKind)
	case FaultOversize:
		err = fmt.Errorf("object %q: %w", h.Key, listwatch.ErrTooLarge)
	default:
		err = fmt.Errorf("object %q: %w: an event of type %q", h.Key, listwatch.ErrProtocol, "UNKNOWN")
	}
	if refused == nil {
		return false, err
	}
	return false, refused(h, err)
}
