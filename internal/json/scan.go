package json

// peek skips white space and returns the byte behind it, or 0 at the end.
func (s *state) peek() byte {
	if s.i < len(s.data) {
		if c := s.data[s.i]; c > ' ' {
			return c
		}
	}
	return s.peekFar()
}

func (s *state) peekFar() byte {
	for s.i < len(s.data) {
		switch c := s.data[s.i]; c {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// colon reads what stands between a key and its value.
func (s *state) colon() bool {
	if s.peek() != ':' {
		return s.fail("no colon behind a key")
	}
	s.i++
	return true
}

// next reads what follows an element: a comma, and more is true, or end, which is left to up.
func (s *state) next(end byte) (more, ok bool) {
	switch c := s.peek(); c {
	case ',':
		s.i++
		return true, true
	case end:
		return false, true
	}
	return false, s.fail("neither comma nor end behind an element")
}

// literal reads word, of which the first byte has been seen.
func (s *state) literal(word string) bool {
	for j := range len(word) {
		if s.i >= len(s.data) || s.data[s.i] != word[j] {
			return s.fail("a word that is not true, false or null")
		}
		s.i++
	}
	return true
}

// boolean reads true or false, of which the first byte is c.
func (s *state) boolean(c byte) (value, ok bool) {
	if c == 't' {
		return true, s.literal("true")
	}
	return false, s.literal("false")
}

// number reads a number. integral is true when it has neither fraction nor exponent.
func (s *state) number() (literal []byte, integral, ok bool) {
	start := s.i
	if s.i < len(s.data) && s.data[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.data) && s.data[s.i] == '0' {
		s.i++
	} else if !s.digits() {
		return nil, false, false
	}
	integral = true
	if s.i < len(s.data) && s.data[s.i] == '.' {
		integral = false
		s.i++
		if !s.digits() {
			return nil, false, false
		}
	}
	if s.i < len(s.data) && s.data[s.i]|0x20 == 'e' {
		integral = false
		s.i++
		if s.i < len(s.data) && (s.data[s.i] == '+' || s.data[s.i] == '-') {
			s.i++
		}
		if !s.digits() {
			return nil, false, false
		}
	}
	return s.data[start:s.i], integral, true
}

// digits reads one or more digits.
func (s *state) digits() bool {
	start := s.i
	for s.i < len(s.data) && s.data[s.i]-'0' <= 9 {
		s.i++
	}
	return s.i > start || s.fail("not a value")
}

// small returns the value of an integral literal that has few enough digits to fit into any
// 64 bits, signed or not. A minus zero is not small: a float tells it from zero.
func small(literal []byte) (n int64, ok bool) {
	digits := literal
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(literal) {
		return -n, n != 0
	}
	return n, true
}
