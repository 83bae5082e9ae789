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
func (s *state) structure(p *plan, v reflect.Value) bool {
	if !s.down() {
		return false
	}
	if s.peek() == '}' {
		return s.up()
	}
	place := s.skip
	for order := 0; ; {
		f, ok := s.fieldKey(p.fields, order)
		if !ok {
			return false
		}
		if f == nil {
			ok = s.pass()
		} else {
			clean := s.saved == nil
			ok = s.field(f, v)
			if clean && s.saved != nil {
				s.within(f.name)
			}
			order = f.next
		}
		if !ok {
			return false
		}
		s.skip = place
		if more, ok := s.next('}'); !ok {
			return false
		} else if !more {
			return s.up()
		}
	}
}

// fieldKey reads a key and returns its field, or nil when the value is to be skipped. Fields
// from order on are tried first.
func (s *state) fieldKey(fields *fieldSet, order int) (*field, bool) {
	if s.skip == nil && s.peek() == '"' {
		if f := fields.guess(s.data, s.i+1, order); f != nil {
			s.i += len(f.name) + 2
			return f, s.colon()
		}
	}
	key, ok := s.key()
	if !ok {
		return nil, false
	}
	if s.skip != nil {
		s.skip = s.skip.below(key)
		if s.skip != nil && s.skip.here {
			return nil, true
		}
	}
	return fields.find(key), true
}

// field reads a value into the field f of v. Pointers to embedded structs on the way are made.
func (s *state) field(f *field, v reflect.Value) bool {
	v = v.Field(f.index[0])
	for _, i := range f.index[1:] {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				if !v.CanSet() {
					return s.unreachable(v.Type())
				}
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	if f.quoted {
		return s.quoted(f.plan, v)
	}
	return s.value(f.plan, v)
}

// unreachable skips a value for an embedded pointer that can't be set.
func (s *state) unreachable(t reflect.Type) bool {
	s.save(fmt.Errorf("json: embedded pointer to unexported struct %v cannot be set", t.Elem()))
	return s.pass()
}

// mapping reads an object into a map, and adds to it when it is there.
func (s *state) mapping(p *plan, v reflect.Value) bool {
	if !s.down() {
		return false
	}
	place := s.skip
	var ok bool
	switch p.op {
	case opUntypedMap:
		var held map[string]any
		if !v.IsNil() {
			held = v.Convert(untypedMapType).Interface().(map[string]any)
		}
		m, read := s.untypedObject(held)
		if read && held == nil {
			v.Set(reflect.ValueOf(m))
		}
		return read
	case opStringMap:
		var m map[string]string
		if v.IsNil() {
			m = make(map[string]string)
			v.Set(reflect.ValueOf(m))
		} else {
			m = v.Convert(stringMapType).Interface().(map[string]string)
		}
		ok = s.stringMap(m)
	default:
		if v.IsNil() {
			v.Set(reflect.MakeMap(p.typ))
		}
		ok = s.anyMap(p, v)
	}
	s.skip = place
	return ok && s.up()
}

var (
	stringMapType  = reflect.TypeFor[map[string]string]()
	untypedMapType = reflect.TypeFor[map[string]any]()
)

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
		skip := place.below(key)
		name := s.intern(key)
		switch c := s.peek(); {
		case skip != nil && skip.here:
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
func (s *state) anyMap(p *plan, v reflect.Value) bool {
	if s.peek() == '}' {
		return true
	}
	k := s.take(p)
	if !k.key.IsValid() {
		k = scratch{key: reflect.New(p.typ.Key()).Elem(), items: reflect.New(p.typ.Elem()).Elem()}
	}
	place := s.skip
	for {
		key, ok := s.key()
		if !ok {
			return false
		}
		s.skip = place.below(key)
		if s.skip != nil && s.skip.here {
			ok = s.pass()
		} else {
			k.key.SetString(s.intern(key))
			if ok = s.value(p.elem, k.items); ok {
				v.SetMapIndex(k.key, k.items)
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
