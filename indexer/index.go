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
	// values is the user's function. It never runs under mu.
	values func(o T, values []V) []V

	// faults counts failures of values.
	faults atomic.Uint64

	// All below is guarded by the indexer's mu, and nil once the index was removed. numbers has the
	// values that objects have, and where their buckets are in buckets; free has the numbers of
	// no value. slots has one element for each object, at its position, unless they are inRows. lists
	// are those that slots name.
	numbers map[V]uint32
	buckets []bucket[V]
	free    []uint32
	slots   []slot[V]
	inRows  bool
	lists   []list
}

func newIndex[T listwatch.Object, V comparable](x *Indexer[T], name string, values func(T, []V) []V) *Index[T, V] {
	return &Index[T, V]{x: x, name: name, values: values, numbers: make(map[V]uint32), buckets: make([]bucket[V], 1)}
}

// members returns the members of a value. It needs mu.
func (ix *Index[T, V]) members(value V) []member {
	if number, ok := ix.numbers[value]; ok {
		return ix.buckets[number].members
	}
	return nil
}

// Get returns the objects that have the value.
func (ix *Index[T, V]) Get(value V) []T {
	if ix.x.compact != nil {
		return ix.getCompact(value)
	}
	ix.x.mu.RLock()
	defer ix.x.mu.RUnlock()
	return ix.objects(ix.members(value))
}

// Keys returns the keys of the objects that have the value.
func (ix *Index[T, V]) Keys(value V) []listwatch.Key {
	ix.x.mu.RLock()
	defer ix.x.mu.RUnlock()
	return ix.keys(ix.members(value))
}

// All iterates over the objects that have the value in the state in which the loop begins. The
// loop's body runs without a lock.
func (ix *Index[T, V]) All(value V) iter.Seq2[listwatch.Key, T] {
	if ix.x.compact != nil {
		return func(yield func(listwatch.Key, T) bool) { eachObject(ix.States(value), yield) }
	}
	return func(yield func(listwatch.Key, T) bool) {
		keys, objects := ix.both(value)
		for i, k := range keys {
			if !yield(k, objects[i]) {
				return
			}
		}
	}
}

// both returns the keys and the objects that have the value.
func (ix *Index[T, V]) both(value V) ([]listwatch.Key, []T) {
	ix.x.mu.RLock()
	defer ix.x.mu.RUnlock() // a value that is no key of a map panics
	members := ix.members(value)
	return ix.keys(members), ix.objects(members)
}

// objects and keys return those of the members. They need mu.
func (ix *Index[T, V]) objects(members []member) []T {
	if members == nil {
		return nil
	}
	objects := make([]T, len(members))
	for i, m := range members {
		objects[i] = ix.x.objects[m.pos]
	}
	return objects
}

func (ix *Index[T, V]) keys(members []member) []listwatch.Key {
	if members == nil {
		return nil
	}
	keys := make([]listwatch.Key, len(members))
	for i, m := range members {
		keys[i] = ix.x.key(m.pos)
	}
	return keys
}

// Len returns the number of objects that have the value.
func (ix *Index[T, V]) Len(value V) int {
	ix.x.mu.RLock()
	defer ix.x.mu.RUnlock()
	return len(ix.members(value))
}

// ValuesOf returns the values that the index function gives for an object, which need not be
// stored: under them it would be found. A value that could not be found again is left out. The
// function runs in the calling goroutine and with no lock held; when it panics there are no
// values, and the [Fault] is reported.
func (ix *Index[T, V]) ValuesOf(object T) (values []V) {
	defer func() {
		if p := recover(); p != nil {
			var fault *Fault
			ix.blame(&fault, listwatch.KeyOf(object), panicked(p))
			fault.Stack = debug.Stack()
			ix.x.options.OnError(fault)
			values = nil
		}
	}()
	for _, v := range ix.values(object, nil) {
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
		values := make([]V, 0, len(ix.numbers))
		for v := range ix.numbers {
			values = append(values, v)
		}
		ix.x.mu.RUnlock()
		slices.Values(values)(yield)
	}
}

func (ix *Index[T, V]) look(pos int) (stats IndexStats, values []any) {
	if pos != nowhere {
		for _, p := range ix.places(uint32(pos)) {
			values = append(values, ix.buckets[p.bucket].value)
		}
	}
	return IndexStats{Name: ix.name, Values: len(ix.numbers), Faults: ix.faults.Load()}, values
}

func (ix *Index[T, V]) blame(fault **Fault, key listwatch.Key, cause error) {
	ix.faults.Add(1)
	*fault = merge(*fault, &Fault{Indexer: ix.x.options.Name, Index: ix.name, Key: key, Cause: cause})
}

func equal[V comparable](a, b V) bool { return a == b }
