package listwatch

import "sync"

// Signal is something that happens once. Waiting on it costs no goroutine.
//
// The zero value is ready, and has not fired. All methods are safe for concurrent use. A
// Signal must not be copied.
type Signal struct {
	mu    sync.Mutex
	fired bool
	done  chan struct{}
	// after holds what is to be called, by a number that tells stop which one to drop.
	after map[uint64]func()
	next  uint64
}

// Fire lets the signal happen: it closes Done, then calls the functions given to AfterFunc,
// in the calling goroutine and in no particular order. A second Fire does nothing.
func (s *Signal) Fire() {
	s.mu.Lock()
	if s.fired {
		s.mu.Unlock()
		return
	}
	s.fired = true
	after := s.after
	s.after = nil
	if s.done != nil {
		close(s.done)
	}
	s.mu.Unlock()
	for _, f := range after {
		defer f() // so that a panic of one does not take the call from the others
	}
}

// Fired reports whether the signal has happened.
func (s *Signal) Fired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fired
}

// Done returns a channel that is closed when the signal happens.
func (s *Signal) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		s.done = make(chan struct{})
		if s.fired {
			close(s.done)
		}
	}
	return s.done
}

// AfterFunc has f called once when the signal happens, by the goroutine that fires it; when
// it has happened already, f is called before AfterFunc returns. No lock of the signal is
// held meanwhile. f must be quick and must not block.
//
// Stop takes the call back; it reports whether it did, and is false when f has been called or
// is about to be.
func (s *Signal) AfterFunc(f func()) (stop func() bool) {
	s.mu.Lock()
	if s.fired {
		s.mu.Unlock()
		f()
		return func() bool { return false }
	}
	if s.after == nil {
		s.after = make(map[uint64]func())
	}
	id := s.next
	s.next++
	s.after[id] = f
	s.mu.Unlock()
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, waiting := s.after[id]
		delete(s.after, id)
		if len(s.after) == 0 {
			s.after = nil // a map does not shrink
		}
		return waiting
	}
}
