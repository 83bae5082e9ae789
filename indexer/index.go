package indexer

import (
	"iter"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
)

// Index finds objects by values of any comparable type. [AddIndex] makes one; the zero value is
// of no use.
//
// All methods are safe for concurrent use, and what one call returns is of one state of the
// store, the same for all indexes. Slices belong to the caller, objects are shared. The objects
// of one value come in the order in which they came to have it, except that whenever one
// leaves, the last takes its place. A value of an interface type that holds something
// incomparable panics, as it does in a map.
type Index[T listwatch.Object, V comparable] struct {
	x    *Indexer[T]
	name string
	// values is the user's function. It runs under the write lock, never under mu.
	values func(w *Write[T], values []V) []V

	// staged holds the values of the writes to come, those of write i up to ends[i]. scratch
	// is lent to values, whose result may also be a slice of the user's own: that one is never
	// kept or written to. They are guarded by the indexer's write lock.
	staged  []V
	ends    []int
	scratch []V

	// faults counts failures of values.
	faults atomic.Uint64

	// buckets has no empty one. slots has one element for each object, at its
	// position. Both are
	// guarded by the indexer's mu, and nil once the index was removed.
	buckets map[V]*bucket[V]
	peak    int // of buckets, see fit
	slots   []slot[V]
}

func newIndex[T listwatch.Object, V comparable](x *Indexer[T], name string, values func(*Write[T], []V) []V) *Index[T, V] {
	return &Index[T, V]{x: x, name: name, values: values, buckets: make(map[V]*bucket[V])}
}

// Get returns the objects that have the value.
func (ix *Index[T, V]) Get(value V) []T {
	ix.x.mu.RLock()
	defer ix.x.mu.RUnlock()
	b := ix.buckets[value]
	if b == nil {
		return nil
	}
	objects := make([]T, len(b.members))
	for i, m := range b.members {
		objects[i] = ix.x.objects[m.pos]
	}
	return objects
}

// Keys returns the keys of the objects that have the value.
func (ix *Index[T, V]) Keys(value V) []listwatch.Key {
	ix.x.mu.RLock()
	defer ix.x.mu.RUnlock()
	b := ix.buckets[value]
	if b == nil {
		return nil
	}
	keys := make([]listwatch.Key, len(b.members))
	for i, m := range b.members {
		keys[i] = ix.x.entries[m.pos].head.Key
	}
	return keys
}

// All iterates over the objects that have the value in the state in which the loop begins. The
// loop's body runs without a lock.
func (ix *Index[T, V]) All(value V) iter.Seq2[listwatch.Key, T] {
	return func(yield func(listwatch.Key, T) bool) {
		entries, objects := ix.members(value)
		for i, e := range entries {
			if !yield(e.head.Key, objects[i]) {
				return
			}
		}
	}
}

func (ix *Index[T, V]) members(value V) ([]*entry, []T) {
	ix.x.mu.RLock()
	defer ix.x.mu.RUnlock()
	b := ix.buckets[value]
	if b == nil {
		return nil, nil
	}
	entries, objects := make([]*entry, len(b.members)), make([]T, len(b.members))
	for i, m := range b.members {
		entries[i], objects[i] = ix.x.entries[m.pos], ix.x.objects[m.pos]
	}
	return entries, objects
}

// Len returns the number of objects that have the value.
func (ix *Index[T, V]) Len(value V) int {
	ix.x.mu.RLock()
	defer ix.x.mu.RUnlock()
	if b := ix.buckets[value]; b != nil {
		return len(b.members)
	}
	return 0
}

// ValuesOf returns the values that the index function gives for an object, which need not be
// stored: under them it would be found. A value that could not be found again is left out. The
// function runs in the calling goroutine and with no lock held; when it panics there are no
// values, and the [Fault] is reported.
func (ix *Index[T, V]) ValuesOf(object T) (values []V) {
	w := Write[T]{Head: ix.x.headOf(object), Object: object}
	defer func() {
		if p := recover(); p != nil {
			var fault *Fault
			ix.blame(&fault, w.Head.Key, panicked(p))
			fault.Stack = debug.Stack()
			ix.x.options.OnError(fault)
			values = nil
		}
	}()
	for _, v := range ix.values(&w, nil) {
		if equal(v, v) {
			values = append(values, v)
		}
	}
	return values
}

// Values iterates over the values that objects have in the state in which the loop begins, in
// no particular order. The loop's body runs without a lock.
func (ix *Index[T, V]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		ix.x.mu.RLock()
		values := make([]V, 0, len(ix.buckets))
		for v := range ix.buckets {
			values = append(values, v)
		}
		ix.x.mu.RUnlock()
		slices.Values(values)(yield)
	}
}

func (ix *Index[T, V]) look(pos int) (stats IndexStats, values []any) {
	if pos != nowhere {
		for s, nth := &ix.slots[pos], 0; nth < s.len(); nth++ {
			values = append(values, s.place(nth).bucket.value)
		}
	}
	return IndexStats{Name: ix.name, Values: len(ix.buckets), Faults: ix.faults.Load()}, values
}

// What a batch leaves behind in memory for the next one, in values.
const (
	keepStaged  = 4096
	keepScratch = 64
)

func (ix *Index[T, V]) stage(writes []Write[T]) *Fault {
	if len(writes) == 0 {
		ix.unstage()
	}
	clear(ix.staged) // of a function that ended its goroutine
	ix.staged, ix.ends = ix.staged[:0], ix.ends[:0]
	var fault *Fault
	for i := range writes {
		if !writes[i].Delete {
			ix.evaluate(&writes[i], &fault)
		}
		ix.ends = append(ix.ends, len(ix.staged))
	}
	return fault
}

// unstage lets go of the user's values.
func (ix *Index[T, V]) unstage() {
	if cap(ix.staged) > keepStaged || cap(ix.ends) > keepStaged {
		ix.staged, ix.ends = nil, nil
	}
	if cap(ix.scratch) > keepScratch {
		ix.scratch = nil
	}
	clear(ix.staged)
	ix.staged = ix.staged[:0]
	clear(ix.scratch[:cap(ix.scratch)])
}

// evaluate stages the values of one write, but for those that can't be map keys.
func (ix *Index[T, V]) evaluate(w *Write[T], fault **Fault) {
	start := len(ix.staged)
	defer func() {
		if p := recover(); p != nil {
			clear(ix.staged[start:])
			ix.staged = ix.staged[:start]
			ix.blame(fault, w.Head.Key, panicked(p))
			if (*fault).More == 0 {
				(*fault).Stack = debug.Stack()
			}
		}
	}()
	found := ix.values(w, ix.scratch)
	for _, v := range found {
		// An interface that holds something incomparable panics here.
		if equal(v, v) {
			ix.staged = append(ix.staged, v)
		} else {
			ix.blame(fault, w.Head.Key, ErrBadValue)
		}
	}
	ix.scratch = slices.Grow(ix.scratch, len(found))
}

func (ix *Index[T, V]) blame(fault **Fault, key listwatch.Key, cause error) {
	ix.faults.Add(1)
	*fault = merge(*fault, &Fault{Indexer: ix.x.options.Name, Index: ix.name, Key: key, Cause: cause})
}

func equal[V comparable](a, b V) bool { return a == b }

// stagedFor returns the values of write i.
func (ix *Index[T, V]) stagedFor(i int) []V {
	start := 0
	if i > 0 {
		start = ix.ends[i-1]
	}
	return ix.staged[start:ix.ends[i]]
}
