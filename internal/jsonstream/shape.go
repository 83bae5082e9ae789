package jsonstream

// Shape names the members of an object that [Scanner.Cut] is to note on its way. A nil Shape
// notes nothing. A Shape is not changed once built and may be shared.
type Shape struct{ members []Member }

// Member is one member of a [Shape].
type Member struct {
	// Name is the member's key, compared exactly.
	Name string
	// Slot is under which number [Value.Field] finds the member's value; 0: it is not noted.
	Slot int
	// First says that of several members of that key the first counts that is not null, not the last.
	First bool
	// In is the shape of the member's own members; nil: they are not looked at.
	In *Shape
}

// Slots is the number of slots that a shape can use, slot 0 included.
const Slots = 12

// NewShape returns a shape of the members. It panics when a slot is out of range.
func NewShape(members ...Member) *Shape {
	for _, m := range members {
		if m.Slot < 0 || m.Slot >= Slots {
			panic("jsonstream: slot out of range")
		}
	}
	return &Shape{members: members}
}

// find returns the member of that key, or nil.
func (s *Shape) find(key []byte) *Member {
	for i := range s.members {
		if s.members[i].Name == string(key) {
			return &s.members[i]
		}
	}
	return nil
}

// forget empties the slots of the shape in v.
func (s *Shape) forget(v *Value) {
	for _, m := range s.members {
		v.fields[m.Slot] = field{}
		if m.In != nil {
			m.In.forget(v)
		}
	}
}

// Value is one JSON value, cut out of a stream by [Scanner.Cut]. Its bytes are lent until the
// scanner reads again: until the next call of before has returned.
type Value struct {
	// Bytes is the value, from its first to its last byte. Nil when TooLarge.
	Bytes []byte
	// Size is the number of its bytes.
	Size int64
	// TooLarge says that Size is over the scanner's limit. Fields may still be there.
	TooLarge bool
	// Odd says that a string in it has a control character: then it is not JSON.
	Odd bool

	fields [Slots]field
}

// field is the value of one slot: a span of the value being cut, or, once its bytes can't be
// kept, a copy.
type field struct {
	set      bool
	from, to int
	copied   []byte
}

// Field returns the JSON of the member that the shape has put into slot, or nil when the value
// has no such member. Of several of one key the last one counts that is not null, or the first one. The
// members of several objects of one key count together, which is what decoding into a struct
// makes of them, unless the object is noted itself: then those of the last one.
func (v *Value) Field(slot int) []byte {
	f := &v.fields[slot]
	switch {
	case !f.set:
		return nil
	case f.copied != nil:
		return f.copied
	}
	return v.Bytes[f.from:f.to]
}
