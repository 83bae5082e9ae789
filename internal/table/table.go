// Package table is a hash table of entries that hold their own key.
//
// It differs from a map in that the caller computes the hash: once for several operations, and
// before it takes its lock. A slot takes 12 bytes and holds no key, so a large key costs its memory once.
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
	// hashes and entries are the slots: a power of two of them, at most four fifths in use. An entry
	// stands in the slot of its hash or in one of those that follow, and no slot between the two is
	// free. The hash of a free one is 0. Hashes stand by themselves, so that a look for a key that is
	// not there reads one or two cache lines.
	hashes  []uint32
	entries []E
	len     int
}

// smallest is the number of slots of a table that has anything in it.
const smallest = 8

// New returns an empty table.
func New[K comparable, E Entry[K]]() *Table[K, E] {
	return &Table[K, E]{seed: maphash.MakeSeed()}
}

// Len returns the number of entries.
func (t *Table[K, E]) Len() int { return t.len }

// Hash returns what the other methods want to know of a key; it is not 0. It panics if the key holds
// an interface whose value cannot be compared, as a map does.
func (t *Table[K, E]) Hash(k K) uint32 { return uint32(maphash.Comparable(t.seed, k)) | 1<<31 }

// Get returns the entry of a key, or the zero value of E.
func (t *Table[K, E]) Get(hash uint32, k K) (e E) {
	if t.len == 0 {
		return e
	}
	mask := uint32(len(t.hashes) - 1)
	for i := hash & mask; t.hashes[i] != 0; i = (i + 1) & mask {
		if t.hashes[i] == hash && t.entries[i].TableKey() == k {
			return t.entries[i]
		}
	}
	return e
}

// Put takes an entry in, whose key must not be there.
func (t *Table[K, E]) Put(hash uint32, e E) {
	if (t.len+1)*5 > len(t.hashes)*4 {
		hashes, entries := t.hashes, t.entries
		n := max(smallest, 2*len(hashes))
		t.hashes, t.entries = make([]uint32, n), make([]E, n)
		for i, hash := range hashes {
			if hash != 0 {
				t.put(hash, entries[i])
			}
		}
	}
	t.put(hash, e)
	t.len++
}

func (t *Table[K, E]) put(hash uint32, e E) {
	mask := uint32(len(t.hashes) - 1)
	i := hash & mask
	for t.hashes[i] != 0 {
		i = (i + 1) & mask
	}
	t.hashes[i], t.entries[i] = hash, e
}

// Delete takes out an entry, which must be there.
func (t *Table[K, E]) Delete(hash uint32, e E) {
	mask := uint32(len(t.hashes) - 1)
	free := hash & mask
	for t.entries[free] != e { // all slots are looked at for NaN, whose hash is another each time
		free = (free + 1) & mask
	}
	// Those behind move up, unless that would put them before the slot of their hash.
	for i := (free + 1) & mask; t.hashes[i] != 0; i = (i + 1) & mask {
		if home := t.hashes[i] & mask; (i-home)&mask >= (i-free)&mask {
			t.hashes[free], t.entries[free] = t.hashes[i], t.entries[i]
			free = i
		}
	}
	var none E
	t.hashes[free], t.entries[free] = 0, none
	t.len--
}

// Reset takes everything out and gives the memory back.
func (t *Table[K, E]) Reset() { t.hashes, t.entries, t.len = nil, nil, 0 }

// All returns the entries in no particular order. The table must not change meanwhile.
func (t *Table[K, E]) All() iter.Seq[E] {
	return func(yield func(E) bool) {
		for i, hash := range t.hashes {
			if hash != 0 && !yield(t.entries[i]) {
				return
			}
		}
	}
}
