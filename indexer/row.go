package indexer

import (
	"math"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
)

// row is what is held beside an object. It is as long as a line of the processor's cache, since
// every look-up and every write reads one.
type row struct {
	// name is that of the key, whose namespace is the value of a bucket of the index by
	// namespace, in which the object stands at space.
	name    string
	uid     string
	version string
	number  uint64 // of version, see numberOf
	space   [1]place
}

// numberOf returns a decimal version as a number and one, and 0 for any other version and for one
// that is too long. Two numbers that are not 0 have the order of their versions.
func numberOf(version string) uint64 {
	if version == "" || len(version) > 19 {
		return 0
	}
	n := uint64(0)
	for i := range len(version) {
		digit := version[i] - '0'
		if digit > 9 {
			return 0
		}
		n = 10*n + uint64(digit)
	}
	return n + 1
}

// find returns where the object of a key is. It needs one of the locks.
func (x *Indexer[T]) find(hash uint32, k listwatch.Key) (pos uint32, ok bool) {
	if x.table.len == 0 {
		return 0, false
	}
	for i := x.table.first(hash); ; i = x.table.next(i) {
		s := &x.table.slots[i]
		if s.row == 0 {
			return 0, false
		}
		if s.hash == hash && s.name == k.Name && x.spaces.buckets[s.space].value == k.Namespace {
			return s.row - 1, true
		}
	}
}

// renumberSpaces follows when namespaces have got other numbers. It needs both locks.
func (x *Indexer[T]) renumberSpaces() {
	for i := range x.table.slots {
		if s := &x.table.slots[i]; s.row != 0 {
			s.space = x.rows[s.row-1].space[0].bucket
		}
	}
}

// key returns the key of the object at pos. It needs one of the locks, as head does.
func (x *Indexer[T]) key(pos uint32) listwatch.Key {
	r := &x.rows[pos]
	return listwatch.Key{Namespace: x.spaces.buckets[r.space[0].bucket].value, Name: r.name}
}

func (x *Indexer[T]) head(pos uint32) listwatch.Head {
	r := &x.rows[pos]
	return listwatch.Head{Key: x.key(pos), UID: r.uid, ResourceVersion: r.version}
}

// keys returns the keys of the first n objects. It needs one of the locks.
func (x *Indexer[T]) keys(n int) []listwatch.Key {
	keys := make([]listwatch.Key, n)
	for pos := range keys {
		keys[pos] = x.key(uint32(pos))
	}
	return keys
}

// raise marks the object at pos, whose mark never goes back. It needs mu.
func (x *Indexer[T]) raise(pos uint32, generation uint64) {
	mark := &x.marks[pos]
	for {
		old := atomic.LoadUint64(mark)
		if old >= generation || atomic.CompareAndSwapUint64(mark, old, generation) {
			return
		}
	}
}

// addLocked makes a row for a key that has none, with its namespace. It needs both locks.
func (x *Indexer[T]) addLocked(hash uint32, key listwatch.Key) uint32 {
	if uint64(len(x.rows)) == math.MaxUint32-1 {
		panic("indexer: too many objects")
	}
	pos := uint32(len(x.rows))
	x.rows = append(x.rows, row{name: key.Name})
	x.marks = append(x.marks, 0)
	if c := x.compact; c != nil {
		c.states = append(c.states, nil)
	} else {
		var none T
		x.objects = append(x.objects, none)
	}
	space := x.spaces.numberOf(key.Namespace)
	x.spaces.join(pos, space)
	x.table.put(tableSlot{name: key.Name, hash: hash, row: pos + 1, space: space})
	return pos
}

// removeLocked takes out what is at pos; the last one moves there. It needs both locks.
func (x *Indexer[T]) removeLocked(hash, pos uint32) {
	last := uint32(len(x.rows) - 1)
	x.table.remove(hash, pos)
	if pos != last {
		x.table.move(x.table.hash(x.key(last)), last, pos)
	}
	spaces := len(x.spaces.buckets)
	for _, index := range x.indexes {
		index.remove(pos, last)
	}
	x.rows = cut(x.rows, pos)
	if len(x.spaces.buckets) < spaces {
		x.renumberSpaces()
	}
	x.marks = cut(x.marks, pos)
	if c := x.compact; c != nil {
		c.dropLocked(pos)
		c.states = cut(c.states, pos)
	} else {
		x.objects = cut(x.objects, pos)
	}
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
