package indexer

import (
	"runtime/debug"
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// What batches leave behind in memory for the next ones: how many, and in writes and values.
const (
	keepSpare   = 8
	keepStaged  = 4096
	keepScratch = 64
)

// staging is what has been found out about the writes of one batch before they are put in place, so
// while readers need not wait, nor other writers.
type staging[T listwatch.Object] struct {
	hashes  []uint32    // of the keys
	indexes []staged[T] // for all indexes but that by namespace, which is known by the key
}

// staged is a [values] of any V.
type staged[T listwatch.Object] interface {
	// stage has the index function look at what will be written.
	stage(writes []Write[T]) *Fault
	// put gives the object at pos, which may be a new one, the values of write i. It needs mu.
	put(pos uint32, i int)
	// forget lets go of the user's values.
	forget()
}

// stage finds out about the writes. It needs the write lock, shared.
func (x *Indexer[T]) stage(writes []Write[T]) (*staging[T], []error) {
	s := x.takeStaging()
	for i := range writes {
		s.hashes = append(s.hashes, x.table.hash(writes[i].Head.Key))
	}
	var faults []error
	for _, index := range s.indexes {
		if fault := index.stage(writes); fault != nil {
			faults = append(faults, fault)
		}
	}
	return s, faults
}

// takeStaging returns an empty one. One that is not given back, since an index function ended its
// goroutine, is garbage.
func (x *Indexer[T]) takeStaging() *staging[T] {
	x.spareMu.Lock()
	defer x.spareMu.Unlock()
	if n := len(x.spare) - 1; n >= 0 {
		s := x.spare[n]
		x.spare = x.spare[:n]
		return s
	}
	s := &staging[T]{}
	for _, index := range x.indexes[1:] {
		s.indexes = append(s.indexes, index.staging())
	}
	return s
}

// giveBack has the staging used again.
func (x *Indexer[T]) giveBack(s *staging[T]) {
	for _, index := range s.indexes {
		index.forget()
	}
	if s.hashes = s.hashes[:0]; cap(s.hashes) > keepStaged {
		s.hashes = nil
	}
	x.spareMu.Lock()
	defer x.spareMu.Unlock()
	if len(x.spare) < keepSpare {
		x.spare = append(x.spare, s)
	}
}

// values are those that one index function gives for the writes of a batch.
type values[T listwatch.Object, V comparable] struct {
	ix *Index[T, V]
	// found has those of write i up to ends[i]. scratch is lent to the function, whose result may
	// also be a slice of the user's own: that one is never kept or written to.
	found   []V
	ends    []int
	scratch []V
}

func (ix *Index[T, V]) staging() staged[T] { return &values[T, V]{ix: ix} }

func (s *values[T, V]) put(pos uint32, i int) {
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	s.ix.put(pos, s.found[start:s.ends[i]])
}

func (s *values[T, V]) forget() {
	clear(s.found)
	clear(s.scratch[:cap(s.scratch)])
	s.found, s.ends = s.found[:0], s.ends[:0]
	if cap(s.found) > keepStaged || cap(s.ends) > keepStaged {
		s.found, s.ends = nil, nil
	}
	if cap(s.scratch) > keepScratch {
		s.scratch = nil
	}
}

func (s *values[T, V]) stage(writes []Write[T]) (fault *Fault) {
	for len(s.ends) < len(writes) {
		s.evaluate(writes, &fault)
	}
	return fault
}

// evaluate goes on with the writes up to the first for which the function panics, and over that one.
func (s *values[T, V]) evaluate(writes []Write[T], fault **Fault) {
	start := 0
	defer func() {
		if p := recover(); p != nil {
			clear(s.found[start:])
			s.found = s.found[:start]
			s.ix.blame(fault, writes[len(s.ends)].Head.Key, panicked(p))
			if (*fault).More == 0 {
				(*fault).Stack = debug.Stack()
			}
			s.ends = append(s.ends, start)
		}
	}()
	for i := len(s.ends); i < len(writes); i++ {
		start = len(s.found)
		if !writes[i].Delete {
			s.evaluateOne(&writes[i], fault)
		}
		s.ends = append(s.ends, len(s.found))
	}
}

// evaluateOne keeps the values of one write, but for those that can't be map keys.
func (s *values[T, V]) evaluateOne(w *Write[T], fault **Fault) {
	found := s.ix.values(w.Object, s.scratch)
	for _, v := range found {
		// An interface that holds something incomparable panics here.
		if equal(v, v) {
			s.found = append(s.found, v)
		} else {
			s.ix.blame(fault, w.Head.Key, ErrBadValue)
		}
	}
	s.scratch = slices.Grow(s.scratch, len(found))
}
