package wire

import (
	"slices"

	"github.com/seed3bce33ad/listwatch/fakes"
)

// Inject orders a fault: of bytes and headers for the next answers, of anything else from the
// source. It returns at once. A kind that neither can do is an error that wraps
// [listwatch.ErrUnsupported].
func (s *Server[T]) Inject(f fakes.Fault) error {
	switch f.Kind {
	case fakes.FaultCutBytes, fakes.FaultGarbageBytes, fakes.FaultLateHeaders, fakes.FaultGoAway:
	default:
		return s.source.Inject(f)
	}
	if err := f.Validate(); err != nil {
		return err
	}
	if f.Kind == fakes.FaultLateHeaders || f.Kind == fakes.FaultGoAway {
		f.N = max(f.N, 1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = append(s.orders, f)
	return nil
}

// Heal forgets the faults that wait, and heals the source.
func (s *Server[T]) Heal() {
	s.mu.Lock()
	s.orders = nil
	s.mu.Unlock()
	s.source.Heal()
}

// take returns the first order for an answer of a verb, of some kinds, and counts it.
func (s *Server[T]) take(v fakes.Verb, kinds ...fakes.FaultKind) (f fakes.Fault, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.orders, func(f fakes.Fault) bool { return f.Affects(v) && slices.Contains(kinds, f.Kind) })
	if i < 0 {
		return fakes.Fault{}, false
	}
	f = s.orders[i]
	counted := f.Kind == fakes.FaultLateHeaders || f.Kind == fakes.FaultGoAway
	if s.orders[i].N--; !counted || s.orders[i].N == 0 {
		s.orders = slices.Delete(s.orders, i, i+1)
	}
	return f, true
}
