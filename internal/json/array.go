package json

import "reflect"

// How much scratch a slice type has: as many elements as maxScratch bytes hold, within bounds.
const (
	maxScratch = 8 << 10
	minItems   = 4
	maxItems   = 64
)

// slice reads an array into a slice. When the last two slices of the type were of one length,
// this one is made at that length at once. Else elements are read into scratch, and the slice is
// made once their number is known.
func (s *state) slice(p *plan, v address) bool {
	if !s.down() {
		return false
	}
	held := as[sliceHeader](v)
	if s.peek() == ']' {
		*held = p.empty
		return s.up()
	}
	if held.cap > 0 {
		// A key that came twice, or a target that was not fresh: elements keep what they had.
		return s.elements(p, held, 0)
	}
	k := s.take(p)
	if k == nil {
		k = newScratch(p)
	}
	if !k.sure {
		return s.gather(p, held, k)
	}
	n := k.last
	k.makeSlice(held, n)
	s.give(p, k)
	if !s.elements(p, held, 0) {
		return false
	}
	if held.len != n {
		s.trim(p, held)
	}
	return true
}

// newScratch returns scratch for a type of slices.
func newScratch(p *plan) *scratch {
	items := reflect.New(p.typ)
	items.Elem().Grow(p.limit)
	spare := reflect.New(p.typ)
	return &scratch{
		items: items.Elem(), first: as[sliceHeader](items.UnsafePointer()).data,
		spare: spare.Elem(), header: as[sliceHeader](spare.UnsafePointer()),
	}
}

// makeSlice sets held to a new slice with room for n elements.
func (k *scratch) makeSlice(held *sliceHeader, n int) {
	k.spare.Grow(n)
	*held = sliceHeader{k.header.data, 0, n}
	*k.header = sliceHeader{}
}

// learn notes the length of a slice.
func (k *scratch) learn(p *plan, n int) { k.sure, k.last = n == k.last && n <= p.limit, n }

// gather reads elements into scratch first.
func (s *state) gather(p *plan, held *sliceHeader, k *scratch) bool {
	// What is above the length of items is zero: see settle.
	for n := 0; n < p.limit; n++ {
		if !s.value(p.elem, at(k.first, uintptr(n)*p.elem.size)) {
			return false
		}
		if more, ok := s.next(']'); !ok {
			return false
		} else if !more {
			k.learn(p, n+1)
			s.settle(p, held, k, n+1, n+1)
			return s.up()
		}
	}
	s.settle(p, held, k, p.limit, 2*p.limit)
	if !s.elements(p, held, p.limit) {
		return false
	}
	s.trim(p, held)
	return true
}

// settle makes a slice with the given room, moves n elements from scratch to it, and gives the
// scratch back.
func (s *state) settle(p *plan, held *sliceHeader, k *scratch, n, room int) {
	k.items.SetLen(n)
	k.makeSlice(held, room)
	held.len = n
	*k.header = *held
	reflect.Copy(k.spare, k.items)
	*k.header = sliceHeader{}
	k.items.Clear()
	s.give(p, k)
}

// trim moves the elements to a slice without spare capacity, when there is any.
func (s *state) trim(p *plan, held *sliceHeader) {
	if k := s.scratch[p.slot]; k != nil {
		k.learn(p, held.len)
	}
	if held.cap > held.len {
		full := reflect.NewAt(p.typ, address(held)).Elem()
		exact := reflect.MakeSlice(p.typ, held.len, held.len)
		reflect.Copy(exact, full)
		full.Set(exact)
	}
}

// elements reads the elements from the n-th on into the slice itself, up to the end of the array.
func (s *state) elements(p *plan, held *sliceHeader, n int) bool {
	for {
		if n >= held.cap {
			reflect.NewAt(p.typ, address(held)).Elem().Grow(1)
		}
		held.len = max(held.len, n+1)
		if !s.value(p.elem, at(held.data, uintptr(n)*p.elem.size)) {
			return false
		}
		n++
		if more, ok := s.next(']'); !ok {
			return false
		} else if !more {
			held.len = n
			return s.up()
		}
	}
}

// array reads into an array: elements that have no place are dropped, places without an
// element are set to zero.
func (s *state) array(p *plan, v address) bool {
	if !s.down() {
		return false
	}
	n, length := 0, p.typ.Len()
	for more := s.peek() != ']'; more; n++ {
		var ok bool
		if n < length {
			ok = s.value(p.elem, at(v, uintptr(n)*p.elem.size))
		} else {
			ok = s.pass()
		}
		if !ok {
			return false
		}
		if more, ok = s.next(']'); !ok {
			return false
		}
	}
	for ; n < length; n++ {
		reflected(p, v).Index(n).SetZero()
	}
	return s.up()
}
