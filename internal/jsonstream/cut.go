package jsonstream

// Cut uses up the next value and puts it into v, with the fields that shape names.
func (s *Scanner) Cut(shape *Shape, v *Value) error {
	*v = Value{}
	if _, err := s.inside(); err != nil {
		return err
	}
	start := s.Offset()
	s.cut, s.mark, s.odd = v, s.pos, false
	err := s.value(shape)
	v.Odd = s.odd
	if err == nil {
		v.Size = s.Offset() - start
		if v.Size > s.limit && s.mark >= 0 {
			s.overflow()
		}
		if s.mark >= 0 {
			v.Bytes = s.buf[s.mark:s.pos:s.pos]
		}
	}
	s.cut, s.mark, s.hold = nil, -1, -1
	return err
}

// Skip uses up the next value.
func (s *Scanner) Skip() error {
	if _, err := s.inside(); err != nil {
		return err
	}
	return s.value(nil)
}

// value uses up the value that begins at pos.
func (s *Scanner) value(shape *Shape) error {
	switch c := s.buf[s.pos]; {
	case c == '"':
		return s.text()
	case c == '{' && shape != nil:
		return s.object(shape, nil)
	case c == '{' || c == '[':
		return s.nested()
	}
	return s.scalar()
}

// member uses up the value of a member and notes it when m says so.
func (s *Scanner) member(m *Member) error {
	if m == nil {
		return s.Skip()
	}
	c, err := s.inside()
	switch {
	case err != nil:
		return err
	case m.In == nil:
		s.hold = s.pos
	case m.Slot != 0 && c != 'n':
		// It takes the place of one before it, whose members don't count any more.
		m.In.forget(s.cut)
	}
	from := s.pos - s.mark
	if err := s.value(m.In); err != nil {
		return err
	}
	held := s.hold
	s.hold = -1
	if m.Slot == 0 || m.First && s.cut.fields[m.Slot].set {
		return nil
	}
	switch {
	case s.mark >= 0:
		if string(s.buf[s.mark+from:s.pos]) != "null" {
			s.cut.fields[m.Slot] = field{set: true, from: from, to: s.pos - s.mark}
			if s.wanted--; s.wanted == 0 {
				return errEnough
			}
		}
	case held >= 0:
		if b := s.buf[held:s.pos]; string(b) != "null" {
			s.cut.fields[m.Slot] = field{set: true, copied: append([]byte(nil), b...)}
		}
	default:
		s.cut.fields[m.Slot] = field{}
	}
	return nil
}

// object uses up an object, the opening brace being at pos. Its members are for the function,
// or when that is nil for the shape.
func (s *Scanner) object(shape *Shape, member func(key []byte) error) error {
	s.pos++
	for first := true; ; first = false {
		c, err := s.inside()
		switch {
		case err != nil:
			return err
		case c == '}' && first:
			s.pos++
			return nil
		case c != '"':
			return s.fault("a key was expected")
		}
		key, err := s.key()
		if err != nil {
			return err
		}
		if member != nil {
			err = member(key)
		} else {
			err = s.member(shape.find(key))
		}
		if err != nil {
			return err
		}
		if done, err := s.separator('}'); done || err != nil {
			return err
		}
	}
}

// key uses up a key and its colon. A key too long to be held comes out as "".
func (s *Scanner) key() ([]byte, error) {
	s.hold = s.pos
	if err := s.text(); err != nil {
		return nil, err
	}
	n := s.pos - s.hold // when nothing is held any more, n is of no use either
	c, err := s.inside()
	switch {
	case err != nil:
		return nil, err
	case c != ':':
		return nil, s.fault("a colon was expected")
	}
	var key []byte
	if s.hold >= 0 {
		key = lend(s.buf[s.hold : s.hold+n])
	}
	s.hold = -1
	s.pos++
	return key, nil
}
