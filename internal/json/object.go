package json

import (
	"fmt"
	"reflect"
)

// key reads a key and the colon behind it. It returns what str does.
func (s *state) key() ([]byte, bool) {
	if s.peek() != '"' {
		return nil, s.fail("no key where one must be")
	}
	key, ok := s.str()
	return key, ok && s.colon()
}

// structure reads an object into a struct.
func (s *state) structure(p *plan, v address) bool {
	if !s.down() {
		return false
	}
	if s.peek() == '}' {
		return s.up()
	}
	place, expected := s.skip, s.expectedOf(p.fields)
	for order := 0; ; {
		f := expected[order]
		if f == nil || !f.beginsAt(s.data, s.i) || !f.endsAt(s.data, s.i) {
			var ok bool
			if f, ok = s.fieldKey(p.fields, expected, order); !ok {
				return false
			}
		} else {
			s.i += len(f.text)
			if s.skip != nil {
				s.skip = s.skip.Below(f.name)
			}
		}
		if f != nil {
			order = f.next
		}
		if !s.member(f, v) {
			return false
		}
		s.skip = place
		switch s.peek() {
		case ',':
			s.i++
		case '}':
			return s.up()
		default:
			return s.fail("neither comma nor end behind an element")
		}
	}
}

// expectedOf returns, for each place in the order of fields, the field that came there last.
func (s *state) expectedOf(fields *fieldSet) []*field {
	if fields.slot < len(s.expected) {
		if e := s.expected[fields.slot]; e != nil {
			return e
		}
	}
	e := make([]*field, len(fields.order)+1)
	copy(e, fields.order)
	for fields.slot >= len(s.expected) {
		s.expected = append(s.expected, nil)
	}
	s.expected[fields.slot] = e
	return e
}

// member reads the value of the field f of v. It skips one that has no field, or is to be skipped.
func (s *state) member(f *field, v address) bool {
	if f == nil || s.skip.Here() {
		return s.pass()
	}
	clean := s.saved == nil
	var ok bool
	if f.isText && s.peek() == '"' {
		return s.fieldText(f, as[string](at(v, f.offset)))
	}
	if f.direct {
		ok = s.value(f.plan, at(v, f.offset))
	} else {
		ok = s.field(f, v)
	}
	if clean && s.saved != nil {
		s.within(f.name)
	}
	return ok
}

// fieldKey reads a key that is not the one expected at this place in the order, and returns its
// field, or nil when there is none.
func (s *state) fieldKey(fields *fieldSet, expected []*field, order int) (*field, bool) {
	s.peek()
	if f := fields.guess(s.data, s.i, order); f != nil {
		expected[order] = f
		s.i += len(f.text)
		if s.skip != nil {
			s.skip = s.skip.Below(f.name)
		}
		return f, true
	}
	key, ok := s.key()
	if !ok {
		return nil, false
	}
	if s.skip != nil {
		s.skip = s.skip.Below(string(key))
	}
	f := fields.find(key)
	if f != nil {
		expected[order] = f
	}
	return f, true
}

// field reads a value into the field f of v. Pointers to embedded structs on the way are made.
func (s *state) field(f *field, v address) bool {
	for _, h := range f.hops {
		to := as[address](at(v, h.offset))
		if *to == nil {
			if h.sealed {
				return s.unreachable(h.typ)
			}
			*to = reflect.New(h.typ).UnsafePointer()
		}
		v = *to
	}
	v = at(v, f.offset)
	if f.quoted {
		return s.quoted(f.plan, v)
	}
	return s.value(f.plan, v)
}

// unreachable skips a value for an embedded pointer to a t that can't be set.
func (s *state) unreachable(t reflect.Type) bool {
	s.save(fmt.Errorf("json: embedded pointer to unexported struct %v cannot be set", t))
	return s.pass()
}

// mapping reads an object into a map, and adds to it when it is there.
func (s *state) mapping(p *plan, v address) bool {
	if !s.down() {
		return false
	}
	place := s.skip
	var ok bool
	switch p.op {
	case opUntypedMap:
		held := as[map[string]any](v)
		m, read := s.untypedObject(*held)
		if read {
			*held = m
		}
		return read
	case opStringMap:
		held := as[map[string]string](v)
		if *held == nil {
			*held = make(map[string]string)
		}
		ok = s.stringMap(*held)
	default:
		m := reflected(p, v)
		if m.IsNil() {
			m.Set(reflect.MakeMap(p.typ))
		}
		ok = s.anyMap(p, m)
	}
	s.skip = place
	return ok && s.up()
}

// stringMap reads the members of an object of strings.
func (s *state) stringMap(m map[string]string) bool {
	if s.peek() == '}' {
		return true
	}
	place := s.skip
	for {
		key, ok := s.key()
		if !ok {
			return false
		}
		skip := place.Below(string(key))
		name := s.intern(key)
		switch c := s.peek(); {
		case skip.Here():
			ok = s.pass()
		case c == '"':
			var b []byte
			if b, ok = s.str(); ok {
				m[name] = s.intern(b)
			}
		case c == 'n':
			ok = s.literal("null")
			m[name] = ""
		default:
			ok = s.mismatch(c, stringType)
			m[name] = ""
		}
		if !ok {
			return false
		}
		if more, ok := s.next('}'); !ok || !more {
			return ok
		}
	}
}

// anyMap reads the members of an object into a map whose keys are strings.
func (s *state) anyMap(p *plan, m reflect.Value) bool {
	if s.peek() == '}' {
		return true
	}
	k := s.take(p)
	if k == nil {
		item := reflect.New(p.typ.Elem())
		k = &scratch{key: reflect.New(p.typ.Key()).Elem(), items: item.Elem(), first: item.UnsafePointer()}
	}
	place := s.skip
	for {
		key, ok := s.key()
		if !ok {
			return false
		}
		s.skip = place.Below(string(key))
		if s.skip.Here() {
			ok = s.pass()
		} else {
			k.key.SetString(s.intern(key))
			if ok = s.value(p.elem, k.first); ok {
				m.SetMapIndex(k.key, k.items)
				k.items.SetZero()
			}
		}
		if !ok {
			return false
		}
		if more, ok := s.next('}'); !ok {
			return false
		} else if !more {
			k.key.SetZero()
			s.give(p, k)
			return true
		}
	}
}
