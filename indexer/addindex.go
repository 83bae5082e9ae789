package indexer

import (
	"fmt"
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// AddIndex adds an index of the values that the function gives for an object: none, one or
// many. A value given twice counts once.
//
// It may be called at any time. Objects that are held already are in the index when AddIndex
// returns; writers wait meanwhile, readers don't. The function must be a pure function of the
// object. It runs with no lock that readers take, so it may read the store, but it must not
// write to it or add an index. Writers run it beside one another.
// When it panics, the object is stored and is just not in this
// index; see [Fault]. A name that is taken gives an error that wraps [ErrIndexExists], a
// missing name or function one that wraps [ErrBadIndex].
func AddIndex[T listwatch.Object, V comparable](r *Reader[T], name string, values func(T) []V) (*Index[T, V], error) {
	if values == nil {
		return nil, fmt.Errorf("indexer %s: index %q: %w: no function", r.x.options.Name, name, ErrBadIndex)
	}
	return AddIndexFunc(r, name, func(o T, found []V) []V { return append(found, values(o)...) })
}

// AddIndexFunc is [AddIndex] for a function that appends the values to the slice that it is
// given and returns the result. This form needs no memory for a slice of its own. The slice is
// only lent.
func AddIndexFunc[T listwatch.Object, V comparable](r *Reader[T], name string, values func(T, []V) []V) (*Index[T, V], error) {
	x := r.x
	if name == "" || values == nil {
		return nil, fmt.Errorf("indexer %s: index %q: %w: no name or function", x.options.Name, name, ErrBadIndex)
	}
	ix := newIndex(x, name, values)
	fault, err := ix.add()
	if err != nil {
		return nil, err
	}
	if fault != nil {
		x.options.OnError(fault)
	}
	return ix, nil
}

// One makes an index function of one that gives a single value; a zero value is a value, too:
// an index function that leaves objects out returns no slice for them. It allocates a slice for
// each call; [AddIndexFunc] does without.
func One[T listwatch.Object, V comparable](value func(T) V) func(T) []V {
	return func(o T) []V { return []V{value(o)} }
}

// RemoveIndex removes an index by its name, and reports whether there was one. From then on the
// [Index] is empty. The index by namespace has no name and stays.
func (r *Reader[T]) RemoveIndex(name string) bool {
	x := r.x
	x.write.Lock()
	defer x.write.Unlock()
	i := x.findLocked(name)
	if name == "" || i < 0 {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.indexes[i].drop()
	x.indexes, x.spare = slices.Delete(x.indexes, i, i+1), nil
	return true
}

// findLocked returns where the index of that name is in indexes, or -1. It needs the write
// lock.
func (x *Indexer[T]) findLocked(name string) int {
	return slices.IndexFunc(x.indexes, func(index index[T]) bool {
		stats, _ := index.look(nowhere)
		return stats.Name == name
	})
}

// buildStep is how many objects are indexed at a time.
const buildStep = 256

// add indexes the objects that are held, and lets readers and writers see the index.
func (ix *Index[T, V]) add() (fault *Fault, err error) {
	x := ix.x
	x.write.Lock()
	defer x.write.Unlock()
	if x.findLocked(ix.name) >= 0 {
		return nil, fmt.Errorf("indexer %s: index %q: %w", x.options.Name, ix.name, ErrIndexExists)
	}
	// In a compact store each object is decoded for it. Nobody else can see ix yet, so put needs no mu.
	writes, values := make([]Write[T], 0, buildStep), ix.staging()
	for pos := range uint32(len(x.rows)) {
		writes = append(writes, Write[T]{Head: x.head(pos), Object: x.at(pos)})
		if len(writes) < buildStep && int(pos) < len(x.rows)-1 {
			continue
		}
		fault = merge(fault, values.stage(writes))
		for i := range writes {
			values.put(uint32(len(ix.slots)), i)
		}
		values.forget()
		writes = writes[:0]
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.indexes, x.spare = append(x.indexes, ix), nil
	return fault, nil
}
