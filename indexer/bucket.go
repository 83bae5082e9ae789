package indexer

// bucket holds the objects of one value.
type bucket[V comparable] struct {
	value   V
	members []member
}

// member is an object in a bucket. The object itself is in the indexer's objects, at pos, so
// that an update with the values of before need not touch the bucket.
type member struct {
	pos uint32 // of the object
	nth uint32 // of the object's places
}

// place is where an object stands in a bucket: members[at].
type place[V comparable] struct {
	bucket *bucket[V]
	at     uint32
}

// slot has the places of one object. Most objects have one value, so the first place needs no
// memory of its own. While first has no bucket, rest is empty.
//
// Invariant: members[at] of place nth of slots[pos] says pos and nth.
type slot[V comparable] struct {
	first place[V]
	rest  *[]place[V]
}

func (s *slot[V]) len() int {
	switch {
	case s.first.bucket == nil:
		return 0
	case s.rest == nil:
		return 1
	}
	return 1 + len(*s.rest)
}

func (s *slot[V]) place(nth int) *place[V] {
	if nth == 0 {
		return &s.first
	}
	return &(*s.rest)[nth-1]
}

// find returns which place is in b, or -1.
func (s *slot[V]) find(b *bucket[V]) int {
	for nth := range s.len() {
		if s.place(nth).bucket == b {
			return nth
		}
	}
	return -1
}

// swap exchanges two places.
func (s *slot[V]) swap(i, j int) {
	p, q := s.place(i), s.place(j)
	*p, *q = *q, *p
	p.bucket.members[p.at].nth = uint32(i)
	q.bucket.members[q.at].nth = uint32(j)
}

// join adds a place behind the others.
func (s *slot[V]) join(b *bucket[V], pos uint32) {
	nth := s.len()
	p := place[V]{bucket: b, at: uint32(len(b.members))}
	b.members = append(b.members, member{pos: pos, nth: uint32(nth)})
	switch {
	case nth == 0:
		s.first = p
	case s.rest == nil:
		s.rest = &[]place[V]{p}
	default:
		*s.rest = append(*s.rest, p)
	}
}

// leave gives up the last place. The bucket goes with its last member.
func (ix *Index[T, V]) leave(s *slot[V]) {
	last := s.place(s.len() - 1)
	b, at := last.bucket, last.at
	*last = place[V]{}
	if last != &s.first {
		*s.rest = cut(*s.rest, uint32(len(*s.rest)-1))
	}
	end := len(b.members) - 1
	if end == 0 {
		delete(ix.buckets, b.value)
		ix.buckets = fit(ix.buckets, &ix.peak)
		return
	}
	if int(at) != end {
		moved := b.members[end]
		ix.slots[moved.pos].place(int(moved.nth)).at = at
	}
	b.members = cut(b.members, at)
}

// put is a method of index. The places of values that stay are kept, whatever the order in
// which the function gives them.
func (ix *Index[T, V]) put(pos uint32, i int) {
	if int(pos) == len(ix.slots) {
		ix.slots = append(ix.slots, slot[V]{})
	}
	s := &ix.slots[pos]
	values := ix.stagedFor(i)
	settled := 0 // places before this one are of the values seen so far
	for j, v := range values {
		if settled < s.len() && s.place(settled).bucket.value == v {
			settled++
			continue
		}
		b := ix.bucketOf(v)
		nth := s.find(b)
		if nth >= 0 && nth < settled {
			continue // given twice
		}
		if nth < 0 {
			if j == len(values)-1 {
				ix.shorten(s, settled)
			}
			nth = s.len()
			s.join(b, pos)
		}
		s.swap(settled, nth)
		settled++
	}
	ix.shorten(s, settled)
}

// shorten gives up all places but the first n.
func (ix *Index[T, V]) shorten(s *slot[V], n int) {
	for s.len() > n {
		ix.leave(s)
	}
}

func (ix *Index[T, V]) bucketOf(v V) *bucket[V] {
	b := ix.buckets[v]
	if b == nil {
		b = &bucket[V]{value: v}
		ix.buckets[v] = b
		ix.peak = max(ix.peak, len(ix.buckets))
	}
	return b
}

// remove is a method of index.
func (ix *Index[T, V]) remove(pos, last uint32) {
	ix.shorten(&ix.slots[pos], 0)
	if pos != last {
		moved := &ix.slots[last]
		for nth := range moved.len() {
			p := moved.place(nth)
			p.bucket.members[p.at].pos = pos
		}
	}
	ix.slots = cut(ix.slots, pos)
}

// drop is a method of index.
func (ix *Index[T, V]) drop() { ix.buckets, ix.slots = nil, nil }
