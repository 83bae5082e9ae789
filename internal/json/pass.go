package json

import (
	"encoding/binary"
	"math/bits"
)

// pass reads a value and drops it. It finds what is wrong in it as any reader would.
func (s *state) pass() bool {
	bottom, object := s.depth, false
	for {
		if object && !s.passKey() {
			return false
		}
		switch c := s.peek(); c {
		case '"':
			if !s.passString() {
				return false
			}
		case '{', '[':
			if !s.down() {
				return false
			}
			object = c == '{'
			s.nested.set(s.depth, object)
			if s.peek() != c+2 {
				continue
			}
			s.up()
		default:
			if !s.passScalar(c) {
				return false
			}
		}
		if more, ok := s.passEnds(bottom); !more {
			return ok
		}
		object = s.nested.get(s.depth)
	}
}

// passEnds reads the ends of arrays and objects, down to bottom or up to a comma, and that. more
// is false at the end of it all, and after a failure.
func (s *state) passEnds(bottom int) (more, ok bool) {
	for s.depth > bottom {
		object := s.nested.get(s.depth)
		switch c := s.peek(); {
		case c == ',':
			s.i++
			return true, true
		case object && c == '}' || !object && c == ']':
			s.up()
		default:
			return false, s.fail("neither comma nor end behind an element")
		}
	}
	return false, true
}

// passKey reads a key with its colon and drops it.
func (s *state) passKey() bool {
	if s.peek() != '"' {
		return s.fail("no key where one must be")
	}
	if !s.passString() {
		return false
	}
	if s.i < len(s.data) && s.data[s.i] == ':' {
		s.i++
		return true
	}
	return s.colon()
}

// passScalar reads a value that begins with c and is neither object, array nor string.
func (s *state) passScalar(c byte) bool {
	switch c {
	case 't', 'f':
		_, ok := s.boolean(c)
		return ok
	case 'n':
		return s.literal("null")
	}
	_, _, ok := s.number()
	return ok
}

// passString reads a string and drops it.
func (s *state) passString() bool {
	i := s.i + 1
	for {
		if i+8 <= len(s.data) {
			m := marks(binary.LittleEndian.Uint64(s.data[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) / 8
		} else if i = plain(s.data, i, false); i >= len(s.data) {
			s.i = i
			return s.fail("")
		}
		s.i = i
		switch s.data[i] {
		case '"':
			s.i++
			return true
		case '\\':
			if _, ok := s.escape(); !ok {
				return false
			}
			i = s.i
		default:
			return s.fail("a control character in a string")
		}
	}
}

// raw reads a value and returns its bytes, without white space around it.
func (s *state) raw() ([]byte, bool) {
	c := s.peek()
	start := s.i
	switch c {
	case '"':
		if !s.passString() {
			return nil, false
		}
	case '{':
		if !s.passObject() {
			return nil, false
		}
	default:
		if !s.pass() {
			return nil, false
		}
	}
	return s.data[start:s.i:s.i], true
}

// depthBits holds one bit for each depth.
type depthBits [maxDepth/64 + 1]uint64

func (d *depthBits) get(depth int) bool { return d[depth/64]>>(depth%64)&1 != 0 }

func (d *depthBits) set(depth int, bit bool) {
	d[depth/64] &^= 1 << (depth % 64)
	if bit {
		d[depth/64] |= 1 << (depth % 64)
	}
}
