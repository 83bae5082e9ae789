package indexer

import "github.com/seed3bce33ad/listwatch"

// State is one state of an object, as a store held it at some moment. It costs no decoding of
// its own in a [Compact] store, so it is for those who look at many and need the objects of
// few. The zero value is a state of nothing.
//
// It keeps what it was made of alive, also when the store has moved on. It is safe for
// concurrent use.
type State[T listwatch.Object] struct {
	// Head is the key, identity and version.
	Head listwatch.Head

	object  T         // when compact is nil
	packed  *state[T] // when it is not
	compact *compact[T]
	keep    bool // what is decoded, for who asks again
}

// Object returns the object, which is shared and must not be changed. It decodes a state of a
// [Compact] store, but not when the object was read or written lately.
func (s State[T]) Object() T {
	if s.compact == nil {
		return s.object
	}
	return s.compact.object(s.packed, s.keep)
}

// Decoded returns the object if that needs no decoding now: of an ordinary store it never does, of a
// [Compact] one it does not when the object was read or written lately.
func (s State[T]) Decoded() (object T, ok bool) {
	if s.compact == nil {
		return s.object, true
	}
	if k := s.packed.kept.Load(); k != nil {
		return k.object, true
	}
	return object, false
}

// States returns the states of all objects, in the order of [Reader.List].
func (r *Reader[T]) States() []State[T] {
	r.x.mu.RLock()
	defer r.x.mu.RUnlock()
	states := make([]State[T], len(r.x.rows))
	for pos := range states {
		states[pos] = r.x.stateLocked(uint32(pos), len(states))
	}
	return states
}

// State returns the state held under k.
func (r *Reader[T]) State(k listwatch.Key) (State[T], bool) {
	hash := r.x.table.hash(k)
	r.x.mu.RLock()
	defer r.x.mu.RUnlock()
	if pos, ok := r.x.find(hash, k); ok {
		return r.x.stateLocked(pos, 1), true
	}
	return State[T]{}, false
}

// States returns the states of the objects that have the value, in the order of [Index.Get].
func (ix *Index[T, V]) States(value V) []State[T] {
	ix.x.mu.RLock()
	defer ix.x.mu.RUnlock()
	members := ix.members(value)
	if members == nil {
		return nil
	}
	states := make([]State[T], len(members))
	for i, m := range members {
		states[i] = ix.x.stateLocked(m.pos, len(states))
	}
	return states
}

// stateLocked returns the state at a position, as one of n that are read together. It needs mu.
func (x *Indexer[T]) stateLocked(pos uint32, n int) State[T] {
	s := State[T]{Head: x.head(pos)}
	if x.compact == nil {
		s.object = x.objects[pos]
	} else {
		s.packed, s.compact, s.keep = x.compact.states[pos], x.compact, x.compact.few(n)
	}
	return s
}
