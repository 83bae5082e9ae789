package indexer

import (
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
)

// Entry is what is held under one key beside the object.
type Entry struct {
	// Head is the key, identity and version.
	Head listwatch.Head
	// Mark is the generation of the last snapshot that listed the object; 0: none has.
	Mark uint64
	// Indexes has the indexes that were added, in that order.
	Indexes []EntryIndex
}

// EntryIndex is where one object stands in one index.
type EntryIndex struct {
	// Name is the name given to [AddIndex].
	Name string
	// Values are those that the object is found under. They are part of the object.
	Values []any
}

// Explain returns what is held under k, and false when nothing is.
func (r *Reader[T]) Explain(k listwatch.Key) (Entry, bool) {
	x := r.x
	hash := x.table.hash(k)
	x.mu.RLock()
	defer x.mu.RUnlock()
	pos, ok := x.find(hash, k)
	if !ok {
		return Entry{}, false
	}
	e := Entry{Head: x.head(pos), Mark: atomic.LoadUint64(&x.marks[pos])}
	for _, index := range x.indexes[1:] {
		stats, values := index.look(int(pos))
		e.Indexes = append(e.Indexes, EntryIndex{Name: stats.Name, Values: values})
	}
	return e, true
}

// Some returns the keys of up to n objects, the first of [Reader.Keys].
func (r *Reader[T]) Some(n int) []listwatch.Key {
	r.x.mu.RLock()
	defer r.x.mu.RUnlock()
	return r.x.keys(max(0, min(n, len(r.x.rows))))
}
