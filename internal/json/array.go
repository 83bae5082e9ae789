package json

import "reflect"

// How much scratch a slice type has: as many elements as maxScratch bytes hold, within bounds.
const (
	maxScratch = 8 << 10
	minItems   = 4
	maxItems   = 64
)

// slice reads an array into a slice. Elements are read into scratch, and the slice is made
// once their number is known.
func (s *state) slice(p *plan, v reflect.Value) bool {
	if !s.down() {
		return false
	}
	if s.peek() == ']' {
		v.Set(p.empty)
		return s.up()
	}
	if v.Cap() > 0 {
		// A key that came twice, or a target that was not fresh: elements keep what they had.
		return s.elements(p, v, 0)
	}
	k := s.take(p)
	if !k.items.IsValid() {
		k.items = reflect.New(p.typ).Elem()
		k.items.Grow(p.limit)
	}
	// SetLen leaves what is above the length alone, which is zero: see settle.
	k.items.SetLen(p.limit)
	for n := 0; n < p.limit; n++ {
		if !s.value(p.elem, k.items.Index(n)) {
			return false
		}
		if more, ok := s.next(']'); !ok {
			return false
		} else if !more {
			v.Grow(n + 1)
			s.settle(p, v, k, n+1)
			v.SetCap(n + 1)
			return s.up()
		}
	}
	v.Grow(2 * p.limit)
	s.settle(p, v, k, p.limit)
	if !s.elements(p, v, p.limit) {
		return false
	}
	if v.Cap() > v.Len() {
		exact := reflect.MakeSlice(p.typ, v.Len(), v.Len())
		reflect.Copy(exact, v)
		v.Set(exact)
	}
	return true
}

// settle moves n elements from scratch to v, which has room, and gives the scratch back.
func (s *state) settle(p *plan, v reflect.Value, k scratch, n int) {
	k.items.SetLen(n)
	v.SetLen(n)
	reflect.Copy(v, k.items)
	k.items.Clear()
	s.give(p, k)
}

// elements reads the elements from the n-th on into v itself, up to the end of the array.
func (s *state) elements(p *plan, v reflect.Value, n int) bool {
	for {
		if n >= v.Cap() {
			v.Grow(1)
		}
		if n >= v.Len() {
			v.SetLen(n + 1)
		}
		if !s.value(p.elem, v.Index(n)) {
			return false
		}
		n++
		if more, ok := s.next(']'); !ok {
			return false
		} else if !more {
			v.SetLen(n)
			return s.up()
		}
	}
}

// array reads into an array: elements that have no place are dropped, places without an
// element are set to zero.
func (s *state) array(p *plan, v reflect.Value) bool {
	if !s.down() {
		return false
	}
	n := 0
	for more := s.peek() != ']'; more; n++ {
		var ok bool
		if n < v.Len() {
			ok = s.value(p.elem, v.Index(n))
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
	for ; n < v.Len(); n++ {
		v.Index(n).SetZero()
	}
	return s.up()
}
