package json

const (
	// maxInterned is the longest string that is looked for among those seen before.
	maxInterned = 64
	tableSize   = 1 << 12
	tableShift  = 64 - 12
)

// stringTable remembers short strings by their hash, the last one of each. What it holds is
// bounded by its size and maxInterned; each string has memory of its own. Strings that share a
// hash push each other out, which costs memory and nothing else.
type stringTable [tableSize]string

// intern returns b as a string, one seen before if possible.
func (s *state) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > maxInterned {
		return string(b)
	}
	slot := &s.strings[hash(b)>>tableShift]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// valueTable remembers strings and numbers as they stand in an interface, so that these need
// no memory either.
type valueTable [tableSize]struct {
	// literal is the text of a number, or the string itself.
	literal string
	value   any
}

// boxed returns the string b in an interface.
func (s *state) boxed(b []byte) any {
	if len(b) > maxInterned {
		return string(b)
	}
	slot := &s.table()[hash(b)>>tableShift]
	if slot.value == nil || slot.literal != string(b) {
		slot.literal = s.intern(b)
		slot.value = slot.literal
	}
	return slot.value
}

// boxedNumber returns a number in an interface, or nil when it is out of range. It looks at
// the other end of the table than boxed, so it never meets a string of the same text.
func (s *state) boxedNumber(literal []byte, integral bool) any {
	if len(literal) > maxInterned {
		return s.untypedNumber(literal, integral)
	}
	slot := &s.table()[^hash(literal)>>tableShift]
	if slot.literal != string(literal) {
		value := s.untypedNumber(literal, integral)
		if value == nil {
			return nil
		}
		slot.literal, slot.value = string(literal), value
	}
	return slot.value
}

func (s *state) table() *valueTable {
	if s.values == nil {
		s.values = new(valueTable)
	}
	return s.values
}
