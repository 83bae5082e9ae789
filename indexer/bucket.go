package indexer

import (
	"math"
	"slices"
)

// bucket holds the objects of one value.
type bucket[V comparable] struct {
	value   V
	members []member
}

// member is an object in a bucket. The object itself is in the indexer's objects, at pos, so
// that an update with the values of before need not touch the members.
type member struct {
	pos uint32 // of the object
	nth uint32 // of the object's places
}

// place is where an object stands in an index: it is member at of a bucket. Most objects have one
// value; one that has several has a list of its places, and here is the number of that list.
//
// Invariant: member at of place nth of the object at pos says pos and nth.
type place struct {
	bucket uint32 // a number, or unplaced or listed
	at     uint32
}

const (
	unplaced = 0
	listed   = math.MaxUint32
)

// slot is where one object stands, and its value if it has only one: that of the state held now, so
// that an update which has the same string again need not look at the bucket, nor at bytes.
type slot[V comparable] struct {
	value V
	place [1]place
}

// list has the places of an object that has more than one.
type list struct {
	pos    uint32 // of the object
	places []place
}

// place returns the only place of the object at pos, or what says where its places are. Those of the
// index by namespace are in the rows.
func (ix *Index[T, V]) place(pos uint32) *[1]place {
	if ix.inRows {
		return &ix.x.rows[pos].space
	}
	return &ix.slots[pos].place
}

// places returns the places of the object at pos.
func (ix *Index[T, V]) places(pos uint32) []place {
	switch p := ix.place(pos); p[0].bucket {
	case unplaced:
		return nil
	case listed:
		return ix.lists[p[0].at].places
	default:
		return p[:]
	}
}

// join adds a place in a bucket behind the others.
func (ix *Index[T, V]) join(pos, number uint32) {
	b, s, n := &ix.buckets[number], &ix.place(pos)[0], len(ix.places(pos))
	p := place{bucket: number, at: uint32(len(b.members))}
	b.members = append(b.members, member{pos: pos, nth: uint32(n)})
	switch n {
	case 0:
		*s = p
	case 1:
		ix.lists = append(ix.lists, list{pos, []place{*s, p}})
		*s = place{bucket: listed, at: uint32(len(ix.lists) - 1)}
	default:
		l := &ix.lists[s.at]
		l.places = append(l.places, p)
	}
}

// leave gives up the last place. The bucket goes with its last member.
func (ix *Index[T, V]) leave(pos uint32) {
	places, s := ix.places(pos), &ix.place(pos)[0]
	n := len(places) - 1
	left := places[n]
	switch n {
	case 0:
		*s = place{}
	case 1:
		number := s.at
		*s = places[0]
		ix.lists = cut(ix.lists, number)
		if int(number) < len(ix.lists) {
			ix.place(ix.lists[number].pos)[0].at = number
		}
	default:
		l := &ix.lists[s.at]
		l.places = cut(l.places, uint32(n))
	}
	b := &ix.buckets[left.bucket]
	end := len(b.members) - 1
	if end == 0 {
		delete(ix.numbers, b.value)
		*b = bucket[V]{}
		ix.free = append(ix.free, left.bucket)
		return
	}
	if int(left.at) != end {
		moved := b.members[end]
		ix.places(moved.pos)[moved.nth].at = left.at
	}
	b.members = cut(b.members, left.at)
}

// put has the object at pos found under these values alone. It may be a new one.
func (ix *Index[T, V]) put(pos uint32, values []V) {
	if int(pos) == len(ix.slots) {
		ix.slots = append(ix.slots, slot[V]{})
	}
	s, one := &ix.slots[pos], len(values) == 1
	if !one || s.value != values[0] || s.place[0].bucket == unplaced || s.place[0].bucket == listed {
		ix.settle(pos, values)
	}
	if s.place[0].bucket != unplaced && s.place[0].bucket != listed {
		s.value = values[0] // the others, if there are some, are the same
	} else {
		var none V
		s.value = none
	}
}

// settle gives the object at pos the places of the values. Those of values that stay are kept,
// whatever the order in which they are given.
func (ix *Index[T, V]) settle(pos uint32, values []V) {
	settled := 0 // places before this one are of the values seen so far
	for j, v := range values {
		places := ix.places(pos)
		if settled < len(places) && ix.buckets[places[settled].bucket].value == v {
			settled++
			continue
		}
		number := ix.numberOf(v)
		nth := slices.IndexFunc(places, func(p place) bool { return p.bucket == number })
		if nth >= 0 && nth < settled {
			continue // given twice
		}
		if nth < 0 {
			if j == len(values)-1 {
				ix.shorten(pos, settled)
			}
			nth = len(ix.places(pos))
			ix.join(pos, number)
		}
		ix.swap(ix.places(pos), settled, nth)
		settled++
	}
	ix.shorten(pos, settled)
	ix.fit()
}

// swap exchanges two places of an object.
func (ix *Index[T, V]) swap(places []place, i, j int) {
	if i == j {
		return
	}
	places[i], places[j] = places[j], places[i]
	p, q := places[i], places[j]
	ix.buckets[p.bucket].members[p.at].nth = uint32(i)
	ix.buckets[q.bucket].members[q.at].nth = uint32(j)
}

// shorten gives up all places but the first n.
func (ix *Index[T, V]) shorten(pos uint32, n int) {
	for len(ix.places(pos)) > n {
		ix.leave(pos)
	}
}

// numberOf returns the number of the bucket of a value, which may be a new one that is still empty.
func (ix *Index[T, V]) numberOf(v V) uint32 {
	if number, ok := ix.numbers[v]; ok {
		return number
	}
	number := uint32(len(ix.buckets))
	if n := len(ix.free); n > 0 {
		number, ix.free = ix.free[n-1], ix.free[:n-1]
		ix.buckets[number].value = v
	} else {
		ix.buckets = append(ix.buckets, bucket[V]{value: v})
	}
	ix.numbers[v] = number
	return number
}

// fit gives memory back when seven eighths of the numbers are unused, for which it gives out new ones.
func (ix *Index[T, V]) fit() {
	if len(ix.buckets) <= 1024 || len(ix.numbers) > len(ix.buckets)/8 {
		return
	}
	numbers, buckets := make(map[V]uint32, len(ix.numbers)), make([]bucket[V], 1, len(ix.numbers)+1)
	for v, old := range ix.numbers {
		b := ix.buckets[old]
		for _, m := range b.members {
			ix.places(m.pos)[m.nth].bucket = uint32(len(buckets))
		}
		numbers[v] = uint32(len(buckets))
		buckets = append(buckets, b)
	}
	ix.numbers, ix.buckets, ix.free = numbers, buckets, nil
}

// drop is a method of index.
func (ix *Index[T, V]) drop() {
	ix.numbers, ix.buckets, ix.free, ix.slots, ix.lists = nil, nil, nil, nil, nil
}

// remove is a method of index.
func (ix *Index[T, V]) remove(pos, last uint32) {
	ix.shorten(pos, 0)
	ix.fit()
	if pos != last {
		for _, p := range ix.places(last) {
			ix.buckets[p.bucket].members[p.at].pos = pos
		}
		if p := ix.place(last)[0]; p.bucket == listed {
			ix.lists[p.at].pos = pos
		}
	}
	if !ix.inRows {
		ix.slots = cut(ix.slots, pos)
	}
}
