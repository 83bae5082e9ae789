package indexer

import (
	"iter"
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// Reader reads an [Indexer] and adds indexes to it; it cannot write. Get one from
// [Indexer.Reader]; the zero value is of no use.
//
// All methods are safe for concurrent use, and what one call returns is of one state of the
// store. Slices belong to the caller, objects are shared and must not be changed. Lists,
// keys and iterations come in the order in which the keys were first stored, except that
// whenever one is deleted, the last takes its place.
type Reader[T listwatch.Object] struct {
	x *Indexer[T]
}

// Get returns the object held under k.
func (r *Reader[T]) Get(k listwatch.Key) (T, bool) { return r.x.Get(k) }

// Head returns the identity and version of the object held under k.
func (r *Reader[T]) Head(k listwatch.Key) (listwatch.Head, bool) {
	hash := r.x.table.hash(k)
	r.x.mu.RLock()
	defer r.x.mu.RUnlock()
	if pos, ok := r.x.find(hash, k); ok {
		return r.x.head(pos), true
	}
	return listwatch.Head{}, false
}

// Len returns the number of objects.
func (r *Reader[T]) Len() int {
	r.x.mu.RLock()
	defer r.x.mu.RUnlock()
	return len(r.x.rows)
}

// Version returns the version of the collection that the store equals, or "" while it is
// between two, or was written by hand.
func (r *Reader[T]) Version() string {
	r.x.mu.RLock()
	defer r.x.mu.RUnlock()
	return r.x.version
}

// List returns all objects.
func (r *Reader[T]) List() []T {
	objects, _ := r.Snapshot()
	return objects
}

// Snapshot returns all objects and the [Reader.Version] of the same moment.
func (r *Reader[T]) Snapshot() (objects []T, version string) {
	if r.x.compact != nil {
		return r.x.compactSnapshot()
	}
	r.x.mu.RLock()
	defer r.x.mu.RUnlock()
	return slices.Clone(r.x.objects), r.x.version
}

// Keys returns the keys of all objects.
func (r *Reader[T]) Keys() []listwatch.Key {
	r.x.mu.RLock()
	defer r.x.mu.RUnlock()
	return r.x.keys(len(r.x.rows))
}

// All iterates over the keys and objects of the state in which the loop begins. The loop's body
// runs without a lock: it may do anything with the store, and doesn't see what is changed
// meanwhile. A [Compact] store decodes each object when its turn has come.
func (r *Reader[T]) All() iter.Seq2[listwatch.Key, T] {
	if r.x.compact != nil {
		return func(yield func(listwatch.Key, T) bool) { eachObject(r.States(), yield) }
	}
	return func(yield func(listwatch.Key, T) bool) {
		r.x.mu.RLock()
		keys, objects := r.x.keys(len(r.x.rows)), slices.Clone(r.x.objects)
		r.x.mu.RUnlock()
		for i, k := range keys {
			if !yield(k, objects[i]) {
				return
			}
		}
	}
}

// Namespace returns all objects of a namespace; "" are those without.
func (r *Reader[T]) Namespace(namespace string) []T { return r.x.spaces.Get(namespace) }

// Namespaces returns the index by namespace, which always exists.
func (r *Reader[T]) Namespaces() *Index[T, string] { return r.x.spaces }

// Stats returns figures about the store and its indexes.
func (r *Reader[T]) Stats() Stats {
	r.x.mu.RLock()
	defer r.x.mu.RUnlock()
	s := Stats{Objects: len(r.x.rows)}
	if r.x.compact != nil {
		s.Plain = r.x.compact.plain
	}
	for _, index := range r.x.indexes[1:] {
		stats, _ := index.look(nowhere)
		s.Indexes = append(s.Indexes, stats)
	}
	return s
}

// Stats are figures about a store.
type Stats struct {
	// Objects is the number of objects.
	Objects int
	// Plain is how many of them a [Compact] store holds as they are: those that could not be
	// encoded, and those that have not been yet.
	Plain int
	// Indexes has the indexes that were added, in that order.
	Indexes []IndexStats
}

// IndexStats are figures about one index.
type IndexStats struct {
	// Name is the name given to [AddIndex].
	Name string
	// Values is the number of values that objects are found under.
	Values int
	// Faults counts how often the index function failed, see [Fault].
	Faults uint64
}
