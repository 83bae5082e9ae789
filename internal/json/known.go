package json

import "bytes"

const (
	knownTexts = 1 << 3
	knownShift = 64 - 3
	// minKnown and maxKnown are the lengths of the texts that are kept.
	minKnown = 64
	maxKnown = 4 << 10
)

// knownTable holds texts of objects that were right, the last one of each hash of their beginnings: what
// an object's managers have set is mostly the same as in the object before, and is a third of its text.
type knownTable [knownTexts][]byte

// passObject reads an object, of which the brace has been seen, and drops it. One that is known to be
// right is not looked at again: where the text of an object stands, it ends where that does.
func (s *state) passObject() bool {
	// A text so short holds no more than half as many objects in each other.
	if len(s.data)-s.i < minKnown || s.depth > maxDepth-maxKnown/2 {
		return s.pass()
	}
	text := &s.known[hash(s.data[s.i:s.i+minKnown])>>knownShift]
	if len(*text) > 0 && bytes.HasPrefix(s.data[s.i:], *text) {
		s.i += len(*text)
		return true
	}
	start := s.i
	if !s.pass() {
		return false
	}
	if n := s.i - start; n >= minKnown && n <= maxKnown {
		*text = append((*text)[:0], s.data[start:s.i]...)
	}
	return true
}
