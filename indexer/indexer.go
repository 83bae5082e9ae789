package indexer

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/identity"
)

// Indexer is a store of objects by key, with indexes. Make one with [New].
//
// It is the side that writes; give readers its [Reader]. All methods are safe for concurrent
// use. Readers and other writers wait for a writer only while it puts a batch in place. It keeps the
// objects it is given, which must not be changed any more.
type Indexer[T listwatch.Object] struct {
	options Options
	uid     func(T) string
	reader  Reader[T]
	// spaces is the index by namespace; it is indexes[0]. Keys have their namespaces from it, so nothing
	// is staged for it: a key joins it when it comes.
	spaces *Index[T, string]

	// write is held by whoever changes anything but marks, and index functions run under it: shared by
	// those who write what they know, alone by those who have to look at the store first, or
	// change indexes. The fields that mu guards are written under both locks, so who has write alone may
	// read them.
	write sync.RWMutex
	// spare has what batches have left to be used again. Only who has write alone may take it away.
	spareMu sync.Mutex
	spare   []*staging[T]

	// mu guards the fields below. No user code runs under it.
	mu      sync.RWMutex
	version string
	indexes []index[T]
	// table has the positions of the objects in rows, marks, objects, and the slots of each index.
	// The objects stand close together so that a list is one copy, and a look-up by key or by
	// index finds them in the processor's cache. marks are written under the read lock, too.
	table   table
	rows    []row
	marks   []uint64
	objects []T
	// compact, if it is not nil, has the objects instead.
	compact *compact[T]
}

// index is an [Index] of any V. Remove and drop need mu.
type index[T listwatch.Object] interface {
	// staging returns an empty one.
	staging() staged[T]
	// remove takes out the object at pos; the one at last, which is the end, moves there.
	remove(pos, last uint32)
	// drop empties the index for good.
	drop()
	// look returns the figures, and the values of the object at pos unless that is nowhere. It needs mu,
	// or the write lock alone.
	look(pos int) (IndexStats, []any)
}

// nowhere is the position of no object.
const nowhere = -1

// New returns an empty store. It starts no goroutine and needs no closing.
func New[T listwatch.Object](o Options) *Indexer[T] {
	x := &Indexer[T]{
		options: o.withDefaults(),
		uid:     identity.Of[T](),
		table:   table{seed: maphash.MakeSeed()},
	}
	x.reader.x = x
	if o.Compact != nil {
		x.compact = newCompact[T](o.Name, *o.Compact)
	}
	x.spaces = newIndex(x, "", func(o T, values []string) []string { return append(values, o.GetNamespace()) })
	x.spaces.inRows = true
	x.indexes = []index[T]{x.spaces}
	return x
}

// Reader returns the side of the store that reads and adds indexes. It is always the same one.
func (x *Indexer[T]) Reader() *Reader[T] { return &x.reader }

// Get returns the object held under k.
func (x *Indexer[T]) Get(k listwatch.Key) (T, bool) {
	hash := x.table.hash(k)
	if x.compact != nil {
		return x.getCompact(hash, k)
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if pos, ok := x.find(hash, k); ok {
		return x.objects[pos], true
	}
	var none T
	return none, false
}

// Mark notes that the object held under k was listed in the snapshot of this generation, and
// returns the state that is held. A mark never goes back to a lower generation. Readers can't
// see it, and it waits for no index function.
func (x *Indexer[T]) Mark(k listwatch.Key, generation uint64) (held listwatch.Head, ok bool) {
	hash := x.table.hash(k)
	x.mu.RLock()
	defer x.mu.RUnlock()
	pos, ok := x.find(hash, k)
	if !ok {
		return listwatch.Head{}, false
	}
	x.raise(pos, generation)
	return x.head(pos), true
}

// Unmarked returns the states of all objects whose mark is not generation, in no particular
// order.
func (x *Indexer[T]) Unmarked(generation uint64) []listwatch.Head {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var heads []listwatch.Head
	for pos := range x.marks {
		if atomic.LoadUint64(&x.marks[pos]) != generation {
			heads = append(heads, x.head(uint32(pos)))
		}
	}
	return heads
}

// headOf asks the object for what the store keeps beside it.
func (x *Indexer[T]) headOf(o T) listwatch.Head {
	return listwatch.Head{
		Key:             listwatch.KeyOf(o),
		UID:             x.uid(o),
		ResourceVersion: o.GetResourceVersion(),
	}
}
