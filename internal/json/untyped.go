package json

import (
	"reflect"
	"strconv"
)

// pair is a member of an untyped object that is not complete yet.
type pair struct {
	key   string
	value any
}

// untyped reads a value as what it is: bool, number, string, []any, map[string]any or nil.
func (s *state) untyped() (any, bool) {
	switch c := s.peek(); c {
	case '"':
		b, ok := s.str()
		if !ok {
			return nil, false
		}
		return s.boxed(b), true
	case '{':
		if !s.down() {
			return nil, false
		}
		m, ok := s.untypedObject(nil)
		return m, ok
	case '[':
		return s.untypedArray()
	case 't', 'f':
		b, ok := s.boolean(c)
		return b, ok
	case 'n':
		return nil, s.literal("null")
	default:
		literal, integral, ok := s.number()
		if !ok {
			return nil, false
		}
		return s.boxedNumber(literal, integral), true
	}
}

// untypedNumber returns a number as float64 or, if wanted and possible, int64; nil when it is
// out of range.
func (s *state) untypedNumber(literal []byte, integral bool) any {
	if s.integers && integral {
		if n, err := strconv.ParseInt(string(literal), 10, 64); err == nil {
			return n
		}
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil {
		s.outOfRange(literal, reflect.TypeFor[float64]())
		return nil
	}
	return f
}

// untypedObject reads an object, behind its opening brace, into m, or into a map of the right
// size when m is nil.
func (s *state) untypedObject(m map[string]any) (map[string]any, bool) {
	bottom, place := len(s.pairs), s.skip
	for more := s.peek() != '}'; more; {
		key, ok := s.key()
		if !ok {
			return nil, false
		}
		if place != nil {
			s.skip = place.Below(string(key))
		}
		if s.skip.Here() {
			ok = s.pass()
		} else {
			name := s.intern(key)
			var x any
			if x, ok = s.untyped(); ok {
				s.pairs = append(s.pairs, pair{name, x})
			}
		}
		if !ok {
			return nil, false
		}
		if more, ok = s.next('}'); !ok {
			return nil, false
		}
	}
	if m == nil {
		m = make(map[string]any, len(s.pairs)-bottom)
	}
	for _, e := range s.pairs[bottom:] {
		m[e.key] = e.value
	}
	clear(s.pairs[bottom:])
	s.pairs = s.pairs[:bottom]
	s.skip = place
	return m, s.up()
}

// untypedArray reads an array, of which the opening bracket has been seen.
func (s *state) untypedArray() (any, bool) {
	if !s.down() {
		return nil, false
	}
	bottom := len(s.elems)
	for more := s.peek() != ']'; more; {
		x, ok := s.untyped()
		if !ok {
			return nil, false
		}
		s.elems = append(s.elems, x)
		if more, ok = s.next(']'); !ok {
			return nil, false
		}
	}
	array := make([]any, len(s.elems)-bottom)
	copy(array, s.elems[bottom:])
	clear(s.elems[bottom:])
	s.elems = s.elems[:bottom]
	return array, s.up()
}
