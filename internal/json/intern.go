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
type stringTable [tableSize]interned

// interned is a place of the table.
type interned struct {
	text string
	// tag is the rest of the hash: strings that differ are mostly told apart without a look at them.
	tag uint32
	// next is the place of the string that followed this one in a field last.
	next uint16
	// plain is true when the text stands in data as it is.
	plain bool
}

// intern returns b as a string, one seen before if possible.
func (s *state) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > maxInterned {
		return string(b)
	}
	return s.strings[s.place(b)].text
}

// place returns the place of the string b, which is not too long.
func (s *state) place(b []byte) uint16 {
	h := hash(b)
	slot := &s.strings[h>>tableShift]
	if slot.tag != uint32(h) || slot.text != string(b) {
		slot.text, slot.tag, slot.plain = string(b), uint32(h), plain(b, 0, false) == len(b)
	}
	return uint16(h >> tableShift)
}

// follower expects the next string of a field.
type follower struct {
	// last is the place of the field's last string.
	last uint16
	// sure counts how often the string expected was the one that came.
	sure uint8
}

// most is how sure a follower can be.
const mostSure = 3

// fieldText reads a string into the field f, of which the quote is at i. A field's strings come
// mostly in the order in which they came before: then the one that is expected is looked for in data.
func (s *state) fieldText(f *field, to *string) bool {
	for f.follower >= len(s.followers) {
		s.followers = append(s.followers, follower{})
	}
	e := &s.followers[f.follower]
	expected := s.strings[e.last].next
	if e.sure > 0 && s.stands(&s.strings[expected]) {
		text := s.strings[expected].text
		*to, s.i, e.last, e.sure = text, s.i+len(text)+2, expected, mostSure
		return true
	}
	b, ok := s.str()
	if !ok {
		return false
	}
	if len(b) == 0 || len(b) > maxInterned {
		*to = s.intern(b)
		return true
	}
	came := s.place(b)
	if came == expected {
		e.sure = mostSure
	} else if e.sure > 0 {
		e.sure--
	}
	s.strings[e.last].next, e.last = came, came
	*to = s.strings[came].text
	return true
}

// stands reports whether data has the text of t between quotes at i.
func (s *state) stands(t *interned) bool {
	end := s.i + 1 + len(t.text)
	return t.plain && end < len(s.data) && s.data[end] == '"' && string(s.data[s.i+1:end]) == t.text
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
