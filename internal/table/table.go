// Package table is a hash table of entries that hold their own key.
//
// It differs from a map in that the caller computes the hash: once for several operations, and
// before it takes its lock. A slot holds no key, so a large key costs its memory once.
package table

import (
	"hash/maphash"
	"iter"
)

// Entry is what a [Table] holds: a pointer, not nil.
type Entry[K comparable] interface {
	comparable
	// TableKey returns the key. It must not change while the entry is in a table.
	TableKey() K
}

// Table finds entries by their key. Make one with [New]. Only Hash is safe for concurrent use.
type Table[K comparable, E Entry[K]] struct {
	seed maphash.Seed
	// slots is a power of two of them, at most three quarters in use. An entry stands in the slot
	// of its hash or in one of those that follow, and no slot between the two is free.
	slots []slot[E]
	len   int
}

type slot[E any] struct {
	hash uint64
	// entry is the zero value in a free slot.
	entry E
}

// smallest is the number of slots of a table that has anything in it.
const smallest = 8

// New returns an empty table.
func New[K comparable, E Entry[K]]() *Table[K, E] {
	return &Table[K, E]{seed: maphash.MakeSeed()}
}

// Len returns the number of entries.
func (t *Table[K, E]) Len() int { return t.len }

// Hash returns what the other methods want to know of a key. It panics if the key holds an
// interface whose value cannot be compared, as a map does.
func (t *Table[K, E]) Hash(k K) uint64 { return maphash.Comparable(t.seed, k) }

// Get returns the entry of a key, or the zero value of E.
func (t *Table[K, E]) Get(hash uint64, k K) (e E) {
	if t.len == 0 {
		return e
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.entry == e || s.hash == hash && s.entry.TableKey() == k {
			return s.entry
		}
	}
}

// Put takes an entry in, whose key must not be there.
func (t *Table[K, E]) Put(hash uint64, e E) {
	var none E
	if (t.len+1)*4 > len(t.slots)*3 {
		old := t.slots
		t.slots = make([]slot[E], max(smallest, 2*len(old)))
		for _, s := range old {
			if s.entry != none {
				t.put(s)
			}
		}
	}
	t.put(slot[E]{hash, e})
	t.len++
}

func (t *Table[K, E]) put(s slot[E]) {
	mask := uint64(len(t.slots) - 1)
	i := s.hash & mask
	var none E
	for t.slots[i].entry != none {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// Delete takes out an entry, which must be there.
func (t *Table[K, E]) Delete(hash uint64, e E) {
	var none E
	mask := uint64(len(t.slots) - 1)
	free := hash & mask
	for t.slots[free].entry != e {
		free = (free + 1) & mask
	}
	// Those behind move up, unless that would put them before the slot of their hash.
	for i := (free + 1) & mask; t.slots[i].entry != none; i = (i + 1) & mask {
		if home := t.slots[i].hash & mask; (i-home)&mask >= (i-free)&mask {
			t.slots[free] = t.slots[i]
			free = i
		}
	}
	t.slots[free] = slot[E]{}
	t.len--
}

// Reset takes everything out and gives the memory back.
func (t *Table[K, E]) Reset() { t.slots, t.len = nil, 0 }

// All returns the entries in no particular order. The table must not change meanwhile.
func (t *Table[K, E]) All() iter.Seq[E] {
	return func(yield func(E) bool) {
		var none E
		for i := range t.slots {
			if t.slots[i].entry != none && !yield(t.slots[i].entry) {
				return
			}
		}
	}
}
