package indexer

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/identity"
)

// Indexer is a store of objects by key, with indexes. Make one with [New].
//
// It is the side that writes; give readers its [Reader]. All methods are safe for concurrent
// use. Writers wait for one another; readers wait for a writer only while it puts a batch in
// place. It keeps the objects it is given, which must not be changed any more.
type Indexer[T listwatch.Object] struct {
	options Options
	uid     func(T) string
	reader  Reader[T]
	// spaces is the index by namespace; it is indexes[0].
	spaces *Index[T, string]

	// write is held by whoever changes anything but marks. Index functions run under it.
	// The fields that mu guards are written under both locks, so the holder of either may
	// read them.
	write sync.Mutex

	// mu guards the fields below. No user code runs under it.
	mu      sync.RWMutex
	version string
	indexes []index[T]
	// byKey has the positions of the objects in entries, in objects, and in each index. The
	// objects stand close together so that a list is one copy, and a look-up by key or by
	// index finds them in the processor's cache.
	byKey   map[listwatch.Key]uint32
	peak    int // of byKey, see fit
	entries []*entry
	objects []T
}

// entry is what is held beside an object. head.Key never changes and is read without a lock;
// mark is written under the read lock, too.
type entry struct {
	head listwatch.Head
	mark atomic.Uint64
}

// index is an [Index] of any V. All methods need the write lock; put, remove and drop need mu
// too.
type index[T listwatch.Object] interface {
	// stage has the index function look at what will be written, for put. Staging nothing
	// forgets what was staged.
	stage(writes []Write[T]) *Fault
	// put gives the object at pos the values staged for write i. It may be a new one.
	put(pos uint32, i int)
	// remove takes out the object at pos; the one at last, which is the end, moves there.
	remove(pos, last uint32)
	// drop empties the index for good.
	drop()
	// look returns the figures, and the values of the object at pos unless that is nowhere. It needs
	// no more than mu.
	look(pos int) (IndexStats, []any)
}

// nowhere is the position of no object.
const nowhere = -1

// New returns an empty store. It starts no goroutine and needs no closing.
func New[T listwatch.Object](o Options) *Indexer[T] {
	x := &Indexer[T]{
		options: o.withDefaults(),
		uid:     identity.Of[T](),
		byKey:   make(map[listwatch.Key]uint32),
	}
	x.reader.x = x
	x.spaces = newIndex(x, "", func(w *Write[T], values []string) []string {
		return append(values, w.Head.Key.Namespace)
	})
	x.indexes = []index[T]{x.spaces}
	return x
}

// Reader returns the side of the store that reads and adds indexes. It is always the same one.
func (x *Indexer[T]) Reader() *Reader[T] { return &x.reader }

// Get returns the object held under k.
func (x *Indexer[T]) Get(k listwatch.Key) (T, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if pos, ok := x.byKey[k]; ok {
		return x.objects[pos], true
	}
	var none T
	return none, false
}

// Mark notes that the object held under k was listed in the snapshot of this generation, and
// returns the state that is held. A mark never goes back to a lower generation. Readers can't
// see it, and it waits for no index function.
func (x *Indexer[T]) Mark(k listwatch.Key, generation uint64) (held listwatch.Head, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, _ := x.entry(k)
	if e == nil {
		return listwatch.Head{}, false
	}
	for {
		old := e.mark.Load()
		if old >= generation || e.mark.CompareAndSwap(old, generation) {
			return e.head, true
		}
	}
}

// Unmarked returns the states of all objects whose mark is not generation, in no particular
// order.
func (x *Indexer[T]) Unmarked(generation uint64) []listwatch.Head {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var heads []listwatch.Head
	for _, e := range x.entries {
		if e.mark.Load() != generation {
			heads = append(heads, e.head)
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

// entry returns the entry under k and its position, or nil. It needs one of the locks.
func (x *Indexer[T]) entry(k listwatch.Key) (*entry, uint32) {
	pos, ok := x.byKey[k]
	if !ok {
		return nil, 0
	}
	return x.entries[pos], pos
}

// addLocked makes an entry for a key that has none. It needs both locks.
func (x *Indexer[T]) addLocked(key listwatch.Key) (*entry, uint32) {
	// All keys of a namespace share one string: it is compared at every look-up.
	if b := x.spaces.buckets[key.Namespace]; b != nil {
		key.Namespace = b.value
	}
	e, pos := &entry{head: listwatch.Head{Key: key}}, uint32(len(x.entries))
	var none T
	x.byKey[key] = pos
	x.peak = max(x.peak, len(x.byKey))
	x.entries = append(x.entries, e)
	x.objects = append(x.objects, none)
	return e, pos
}

// removeLocked takes out what is at pos; the last one moves there. It needs both locks.
func (x *Indexer[T]) removeLocked(pos uint32) {
	last := uint32(len(x.entries) - 1)
	for _, index := range x.indexes {
		index.remove(pos, last)
	}
	x.byKey[x.entries[last].head.Key] = pos
	delete(x.byKey, x.entries[pos].head.Key)
	x.byKey = fit(x.byKey, &x.peak)
	x.entries = cut(x.entries, pos)
	x.objects = cut(x.objects, pos)
}

// cut moves the last element of s to pos and shortens s by one. It gives memory back when
// three quarters of it are unused.
func cut[E any](s []E, pos uint32) []E {
	last := len(s) - 1
	s[pos] = s[last]
	clear(s[last:])
	s = s[:last]
	if cap(s) > 64 && last < cap(s)/4 {
		s = append(make([]E, 0, cap(s)/2), s...)
	}
	return s
}

// fit gives memory back when seven eighths of a map are unused, which maps don't do by
// themselves. peak is the greatest length of m since it was made.
func fit[K comparable, V any](m map[K]V, peak *int) map[K]V {
	if *peak <= 1024 || len(m) > *peak/8 {
		return m
	}
	fitting := make(map[K]V, len(m))
	maps.Copy(fitting, m)
	*peak = len(m)
	return fitting
}
