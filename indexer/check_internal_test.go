package indexer

import (
	"fmt"

	"github.com/seed3bce33ad/listwatch"
)

// Check returns an error when the store's parts contradict each other.
func (x *Indexer[T]) Check() error {
	n := len(x.byKey)
	if len(x.entries) != n || len(x.objects) != n {
		return fmt.Errorf("%d keys, %d entries, %d objects", n, len(x.entries), len(x.objects))
	}
	for pos, e := range x.entries {
		if at, ok := x.byKey[e.head.Key]; !ok || int(at) != pos || listwatch.KeyOf(x.objects[pos]) != e.head.Key {
			return fmt.Errorf("entry %d: %+v", pos, e)
		}
	}
	for _, e := range x.entries[n:cap(x.entries)] {
		if e != nil {
			return fmt.Errorf("%v is kept after its removal", e.head)
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

func (ix *Index[T, V]) check() error {
	if len(ix.slots) != len(ix.x.entries) {
		return fmt.Errorf("%d slots for %d entries", len(ix.slots), len(ix.x.entries))
	}
	places := 0
	for pos := range ix.slots {
		s := &ix.slots[pos]
		places += s.len()
		for nth := range s.len() {
			p := s.place(nth)
			m := p.bucket.members[p.at]
			if int(m.pos) != pos || int(m.nth) != nth {
				return fmt.Errorf("place %d of slot %d: %+v", nth, pos, m)
			}
		}
	}
	for _, s := range ix.slots[len(ix.slots):cap(ix.slots)] {
		if s.len() != 0 {
			return fmt.Errorf("a slot of %v is kept after its removal", s.first.bucket.value)
		}
	}
	members := 0
	for v, b := range ix.buckets {
		members += len(b.members)
		if b.value != v || len(b.members) == 0 {
			return fmt.Errorf("bucket %v: %+v", v, b)
		}
	}
	if members != places {
		return fmt.Errorf("%d members for %d places", members, places)
	}
	if len(ix.scratch) != 0 {
		return fmt.Errorf("scratch is not empty: %v", ix.scratch)
	}
	for _, v := range append(ix.scratch[:cap(ix.scratch)], ix.staged[:cap(ix.staged)]...) {
		var none V
		if v != none {
			return fmt.Errorf("%v is kept after the write", v)
		}
	}
	return nil
}
