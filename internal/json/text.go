package json

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Eight bytes are looked at in one word: each constant holds a byte eight times.
const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

// marks sets the top bit of the bytes of w that are a quote, a backslash or a control
// character. A byte above the lowest one marked may be marked by mistake.
func marks(w uint64) uint64 {
	quote, slash := w^('"'*ones), w^('\\'*ones)
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & tops
}

// plain returns the index of the first byte of data at or behind i that is a quote, a
// backslash, a control character or, when ascii, not ASCII; or len(data).
func plain(data []byte, i int, ascii bool) int {
	var high uint64
	if ascii {
		high = tops
	}
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		if m := marks(w) | w&high; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(data); i++ {
		c := data[i]
		if c == '"' || c == '\\' || c < ' ' || ascii && c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// str reads a string, of which the opening quote has been seen, and returns what it means: a
// part of data, or of text until the next call.
func (s *state) str() ([]byte, bool) {
	start := s.i + 1
	i := start
	for i+8 <= len(s.data) {
		w := binary.LittleEndian.Uint64(s.data[i:])
		if m := marks(w) | w&tops; m != 0 {
			i += bits.TrailingZeros64(m) / 8
			if s.data[i] == '"' {
				s.i = i + 1
				return s.data[start:i], true
			}
			break
		}
		i += 8
	}
	return s.strFar(start, i)
}

// strFar is str for a string that is plain up to end, and needs work there or ends close to
// the end of data.
func (s *state) strFar(start, end int) ([]byte, bool) {
	end = plain(s.data, end, true)
	if end < len(s.data) && s.data[end] == '"' {
		s.i = end + 1
		return s.data[start:end], true
	}
	text := append(s.text[:0], s.data[start:end]...)
	s.i = end
	for s.i < len(s.data) {
		c := s.data[s.i]
		switch {
		case c == '"':
			s.i++
			s.text = text
			return text, true
		case c == '\\':
			r, ok := s.escape()
			if !ok {
				return nil, false
			}
			text = utf8.AppendRune(text, r)
		case c < ' ':
			return nil, s.fail("a control character in a string")
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(s.data[s.i:])
			text = utf8.AppendRune(text, r)
			s.i += size
		default:
			end := plain(s.data, s.i, true)
			text = append(text, s.data[s.i:end]...)
			s.i = end
		}
	}
	return nil, s.fail("")
}

// escape reads an escape, or two that are one character.
func (s *state) escape() (rune, bool) {
	s.i++
	if s.i >= len(s.data) {
		return 0, s.fail("")
	}
	c := s.data[s.i]
	s.i++
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case '\'':
		if s.inner {
			return rune(c), true
		}
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return s.unicode()
	}
	s.i--
	return 0, s.fail("an unknown escape in a string")
}

// unicode reads the digits of an escape, and its other half when it is one of a pair. A half
// alone becomes U+FFFD.
func (s *state) unicode() (rune, bool) {
	r, ok := s.hex()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if s.i+1 >= len(s.data) || s.data[s.i] != '\\' || s.data[s.i+1] != 'u' {
		return unicode.ReplacementChar, true
	}
	first := s.i
	s.i += 2
	low, ok := s.hex()
	if !ok {
		return 0, false
	}
	r = utf16.DecodeRune(r, low)
	if r == unicode.ReplacementChar {
		s.i = first
	}
	return r, true
}

// hex reads four hexadecimal digits.
func (s *state) hex() (r rune, ok bool) {
	for range 4 {
		if s.i >= len(s.data) {
			return 0, s.fail("")
		}
		c := s.data[s.i]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, s.fail("not a hexadecimal digit")
		}
		r = r<<4 | rune(c)
		s.i++
	}
	return r, true
}
