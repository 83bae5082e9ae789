package fakes

import (
	"slices"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// order is a fault that waits to happen, or lasts.
type order struct {
	Fault
	// end returns what a call ends with; a nil function lets it through, or ends it cleanly.
	end func() error
	// version is where a replica stands still.
	version uint64
	// stop takes back the timer that ends it.
	stop func()
}

func (o order) err() error {
	if o.end == nil {
		return nil
	}
	return o.end()
}

// ends reports whether it is the end of a call.
func (o order) ends() bool { return o.Kind == FaultCut || o.Kind == FaultError }

// always returns a function that returns err, or nil for none.
func always(err error) func() error {
	if err == nil {
		return nil
	}
	return func() error { return err }
}

// faults are what goes wrong with a source, whose lock guards them.
type faults struct {
	// waiting are used up by what meets them: calls, changes, objects, batches.
	waiting []order
	// next are for the watches to begin, one each.
	next []order
	// lasting go on until they are taken back.
	lasting []*order
	// expired is the number of the newest continue token that is too old.
	expired uint64
}

// take returns the first order of some kinds that a call of a verb meets, and counts it.
func (f *faults) take(v Verb, kinds ...FaultKind) (order, bool) {
	for i, o := range f.waiting {
		if !o.Affects(v) || !slices.Contains(kinds, o.Kind) {
			continue
		}
		if f.waiting[i].N--; f.waiting[i].N <= 0 {
			f.waiting = slices.Delete(f.waiting, i, i+1)
		}
		return o, true
	}
	return order{}, false
}

// waits reports whether take would find something.
func (f *faults) waits(v Verb, kinds ...FaultKind) bool {
	return slices.ContainsFunc(f.waiting, func(o order) bool { return o.Affects(v) && slices.Contains(kinds, o.Kind) })
}

// lasts returns what lasts of a kind for calls of a verb, or nil.
func (f *faults) lasts(v Verb, k FaultKind) *order {
	for _, o := range f.lasting {
		if o.Kind == k && o.Affects(v) {
			return o
		}
	}
	return nil
}

// failure returns what a call that begins fails with.
func (f *faults) failure(v Verb) error {
	if o, ok := f.take(v, FaultFail); ok {
		return o.err()
	}
	if o := f.lasts(v, FaultDown); o != nil {
		return o.err()
	}
	return nil
}

// Inject orders a fault; see [FaultKind] for what each does. It returns at once. A kind that is
// not of a source is an error that wraps [listwatch.ErrUnsupported].
func (s *Source[T]) Inject(f Fault) error {
	if err := f.check(ofSource); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.wakeLocked()
	o := order{Fault: f, end: f.failure}
	switch f.Kind {
	case FaultError, FaultCut, FaultLateBookmark, FaultRepeatBookmark:
		s.watchOrderLocked(o)
	case FaultHalfOpen:
		for c := range s.calls {
			c.frozen = c.frozen || f.Affects(c.verb)
		}
	case FaultDown, FaultHang, FaultNoBookmarks, FaultShortPages, FaultLag:
		s.lastLocked(o)
	case FaultExpireTokens:
		s.faults.expired = s.tokens
	case FaultCompact:
		s.history.Compact(s.agoLocked(f.N))
	case FaultRestore:
		s.restoreLocked(s.agoLocked(max(f.N, 1)))
	case FaultPartialList: // N is where it breaks
		s.faults.waiting = append(s.faults.waiting, o)
	default:
		o.N = max(o.N, 1)
		s.faults.waiting = append(s.faults.waiting, o)
	}
	return nil
}

// Heal ends all faults that last, and forgets those that wait. What has happened has happened: a
// call whose connection is half open stays so, and what was dropped or compacted is gone.
func (s *Source[T]) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.wakeLocked()
	for _, o := range s.faults.lasting {
		o.stop()
	}
	for c := range s.calls {
		now := slices.DeleteFunc(c.orders, func(o order) bool { return !o.ends() || o.N > 0 })
		c.orders = append(now, order{})
	}
	s.faults = faults{expired: s.faults.expired}
}

// agoLocked returns the version n versions ago, or the oldest that is held.
func (s *Source[T]) agoLocked(n int) uint64 {
	newest, floor := s.history.Version(), s.history.Floor()
	if back := uint64(max(n, 0)); back < newest-floor {
		return newest - back
	}
	return floor
}

// watchOrderLocked gives an order to all running watches, or to the next one.
func (s *Source[T]) watchOrderLocked(o order) {
	if o.Kind == FaultLateBookmark || o.Kind == FaultRepeatBookmark {
		o.N = max(o.N, 1)
	}
	if o.Kind == FaultCut {
		o.end = nil
	} else {
		o.Event = true
		o.end = o.failure
	}
	if s.watchesLocked() == 0 {
		s.faults.next = append(s.faults.next, o)
	}
	s.tellLocked(VerbWatch, o)
}

// tellLocked gives an order to all running calls of a verb.
func (s *Source[T]) tellLocked(v Verb, o order) {
	for c := range s.calls {
		if c.verb == v {
			c.orders = append(c.orders, o)
		}
	}
}

// lastLocked begins what lasts, and sees to its end.
func (s *Source[T]) lastLocked(o order) {
	switch o.Kind {
	case FaultLag:
		o.version = s.agoLocked(max(o.N, 1))
	case FaultDown:
		broken := order{Fault: Fault{Kind: FaultError}, end: Fault{Kind: o.Kind}.failure}
		for _, v := range []Verb{VerbList, VerbWatch} {
			if o.Affects(v) {
				s.tellLocked(v, broken)
			}
		}
	}
	lasting := &o
	o.stop = func() {}
	s.faults.lasting = append(s.faults.lasting, lasting)
	if o.For > 0 {
		o.stop = timing.AfterFunc(s.o.Clock, o.For, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.endLocked(func(l *order) bool { return l == lasting })
		})
	}
}

// endLocked takes back what lasts.
func (s *Source[T]) endLocked(which func(*order) bool) {
	s.faults.lasting = slices.DeleteFunc(s.faults.lasting, func(o *order) bool {
		if !which(o) {
			return false
		}
		o.stop()
		return true
	})
	s.wakeLocked()
}
