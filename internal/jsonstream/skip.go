package jsonstream

import (
	"encoding/binary"
	"math/bits"
)

// text uses up a string, the opening quote being at pos. A line break in it cannot be: it is
// where a string that was never ended would run on into the next value.
func (s *Scanner) text() error {
	s.pos++
	for {
		buf := s.buf[:s.end]
		for i := s.pos + plainRun(buf[s.pos:]); i < len(buf); i++ {
			switch buf[i] {
			case '"':
				s.pos = i + 1
				return nil
			case '\n':
				s.pos = i
				return s.fault("a line break in a string")
			case '\\':
				i++
				if i == len(buf) {
					s.pos = i
					if err := s.fill(); err != nil {
						return unexpected(err)
					}
					i, buf = s.pos, s.buf[:s.end]
				}
				i += plainRun(buf[i+1:])
			default:
				s.odd = s.odd || buf[i] < ' '
			}
		}
		s.pos = s.end
		if err := s.fill(); err != nil {
			return unexpected(err)
		}
	}
}

// plainRun returns how many bytes at the start of b text need not look at: up to a byte that it must
// look at, or to the last few.
func plainRun(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		// x-ones has a high bit that x has not where a byte of x is 0 (or borrowed from by one), and
		// w-ones*' ' where a byte of w is a control character.
		quote, escape := w^(ones*'"'), w^(ones*'\\')
		if m := ((quote-ones)&^quote | (escape-ones)&^escape | (w-ones*' ')&^w) & highs; m != 0 {
			return n + bits.TrailingZeros64(m)/8 // the lowest has borrowed from none
		}
	}
	return n
}

// scalar uses up a number, a word or whatever stands there instead.
func (s *Scanner) scalar() error {
	for start := s.Offset(); ; {
		for s.pos < s.end {
			switch s.buf[s.pos] {
			case ',', '}', ']', ':', ' ', '\t', '\r', '\n', '"', '{', '[':
				if s.Offset() == start {
					return s.fault("a value was expected")
				}
				return nil
			}
			s.pos++
		}
		if err := s.fill(); err != nil {
			return unexpected(err)
		}
	}
}

// nested uses up an object or an array without looking into it, the opening bracket being at
// pos.
func (s *Scanner) nested() error {
	s.depth = 0
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case '"':
				if err := s.text(); err != nil {
					return err
				}
				continue
			case '{', '[':
				if s.depth == mostDepth {
					return s.fault("nested too deeply")
				}
				if c == '{' {
					s.kinds[s.depth/64] |= 1 << (s.depth % 64)
				} else {
					s.kinds[s.depth/64] &^= 1 << (s.depth % 64)
				}
				s.depth++
			case '}', ']':
				s.depth--
				if brace := s.kinds[s.depth/64]>>(s.depth%64)&1 == 1; brace != (c == '}') {
					return s.fault("brackets don't match")
				}
				if s.depth == 0 {
					s.pos++
					return nil
				}
			}
			s.pos++
		}
		if err := s.fill(); err != nil {
			return unexpected(err)
		}
	}
}
