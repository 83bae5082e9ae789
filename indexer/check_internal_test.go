package indexer

import (
	"fmt"

	"github.com/seed3bce33ad/listwatch"
)

// Check returns an error when the store's parts contradict each other.
func (x *Indexer[T]) Check() error {
	n := x.table.len
	if len(x.rows) != n || len(x.marks) != n {
		return fmt.Errorf("%d keys, %d rows, %d marks", n, len(x.rows), len(x.marks))
	}
	if c := x.compact; c != nil {
		if err := c.check(len(x.objects), n); err != nil {
			return err
		}
	} else if len(x.objects) != n {
		return fmt.Errorf("%d keys, %d objects", n, len(x.objects))
	}
	for pos := range uint32(n) {
		k, r := x.key(pos), x.rows[pos]
		if at, ok := x.find(x.table.hash(k), k); !ok || at != pos || listwatch.KeyOf(x.at(pos)) != k || r.number != numberOf(r.version) {
			return fmt.Errorf("row %d, %s: %+v", pos, k, r)
		}
	}
	used := 0
	for _, s := range x.table.slots {
		if s.row != 0 {
			used++
		}
	}
	if used != n {
		return fmt.Errorf("%d slots in use for %d objects", used, n)
	}
	for _, r := range x.rows[n:cap(x.rows)] {
		if r != (row{}) {
			return fmt.Errorf("%+v is kept after its removal", r)
		}
	}
	for _, s := range x.spare {
		if err := s.check(); err != nil {
			return err
		}
	}
	for _, index := range x.indexes {
		if err := index.(interface{ check() error }).check(); err != nil {
			stats, _ := index.look(nowhere)
			return fmt.Errorf("index %s: %w", stats.Name, err)
		}
	}
	return nil
}

func (c *compact[T]) check(objects, n int) error {
	plain := 0
	for _, s := range c.states {
		if s.sample == nil {
			plain++
		}
		if c.recent.Contains(s) != (s.sample != nil && s.kept.Load() != nil) || s.sample == nil && s.kept.Load() == nil {
			return fmt.Errorf("state %+v", s)
		}
	}
	if objects != 0 || len(c.states) != n || plain != c.plain || c.recent.Len() > c.options.Recent {
		return fmt.Errorf("%d objects, %d states for %d keys, %d plain ones, should be %d, %d recent", objects, len(c.states), n, plain, c.plain, c.recent.Len())
	}
	for _, s := range append(c.replaced[:cap(c.replaced)], c.states[n:cap(c.states)]...) {
		if s != nil {
			return fmt.Errorf("%+v is kept after the write", s)
		}
	}
	for _, f := range c.fresh[len(c.fresh):cap(c.fresh)] {
		if f.state != nil || f.now != nil || f.text != nil {
			return fmt.Errorf("%+v is kept after it was encoded", f)
		}
	}
	return nil
}

func (ix *Index[T, V]) check() error {
	objects := len(ix.x.rows)
	if len(ix.slots) != objects && !ix.inRows {
		return fmt.Errorf("%d slots for %d objects", len(ix.slots), objects)
	}
	places, lists := 0, 0
	for pos := range uint32(objects) {
		own := ix.places(pos)
		places += len(own)
		for nth, p := range own {
			if m := ix.buckets[p.bucket].members[p.at]; m != (member{pos, uint32(nth)}) {
				return fmt.Errorf("place %d of object %d: %+v", nth, pos, m)
			}
		}
		if p := ix.place(pos)[0]; p.bucket == listed {
			if lists++; len(own) < 2 || ix.lists[p.at].pos != pos {
				return fmt.Errorf("object %d has list %d: %+v", pos, p.at, ix.lists[p.at])
			}
		}
	}
	for pos, s := range ix.slots {
		var none V
		if own := ix.places(uint32(pos)); s.value != none && (len(own) != 1 || ix.buckets[own[0].bucket].value != s.value) {
			return fmt.Errorf("object %d has value %v at %v", pos, s.value, own)
		}
	}
	if lists != len(ix.lists) {
		return fmt.Errorf("%d lists for %d objects", len(ix.lists), lists)
	}
	return ix.checkBuckets(places)
}

func (ix *Index[T, V]) checkBuckets(places int) error {
	members := 0
	for v, number := range ix.numbers {
		b := ix.buckets[number]
		members += len(b.members)
		if b.value != v || len(b.members) == 0 {
			return fmt.Errorf("bucket %v: %+v", v, b)
		}
	}
	if members != places {
		return fmt.Errorf("%d members for %d places", members, places)
	}
	if len(ix.buckets) != 1+len(ix.numbers)+len(ix.free) {
		return fmt.Errorf("%d buckets for %d values and %d free", len(ix.buckets), len(ix.numbers), len(ix.free))
	}
	for _, number := range append([]uint32{unplaced}, ix.free...) {
		var none V
		if b := ix.buckets[number]; b.value != none || b.members != nil {
			return fmt.Errorf("bucket of %v is kept after its removal", b.value)
		}
	}
	return nil
}

func (s *staging[T]) check() error {
	if len(s.hashes) != 0 {
		return fmt.Errorf("%d hashes are kept after the write", len(s.hashes))
	}
	for _, index := range s.indexes {
		if err := index.(interface{ check() error }).check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *values[T, V]) check() error {
	if len(s.scratch) != 0 || len(s.found) != 0 || len(s.ends) != 0 {
		return fmt.Errorf("index %s: not empty: %v, %v, %v", s.ix.name, s.scratch, s.found, s.ends)
	}
	for _, v := range append(s.scratch[:cap(s.scratch)], s.found[:cap(s.found)]...) {
		var none V
		if v != none {
			return fmt.Errorf("index %s: %v is kept after the write", s.ix.name, v)
		}
	}
	return nil
}
