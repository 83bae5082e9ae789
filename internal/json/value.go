package json

import (
	"encoding"
	"encoding/base64"
	stdjson "encoding/json"
	"reflect"
	"strconv"
)

// value reads a value into v, which is addressable and of the plan's type.
func (s *state) value(p *plan, v reflect.Value) bool {
	c := s.peek()
	switch p.op {
	case opString:
		if c == '"' {
			b, ok := s.str()
			if ok {
				v.SetString(s.intern(b))
			}
			return ok
		}
	case opStruct:
		if c == '{' {
			return s.structure(p, v)
		}
	case opPointer:
		if c != 'n' {
			return s.pointer(p, v)
		}
	case opSlice:
		if c == '[' {
			return s.slice(p, v)
		}
		if c == '"' && p.base64 {
			return s.bytes(v)
		}
	case opStringMap, opUntypedMap, opMap:
		if c == '{' {
			return s.mapping(p, v)
		}
	case opArray:
		if c == '[' {
			return s.array(p, v)
		}
	case opAny:
		return s.anything(v)
	case opUnmarshaler:
		return s.unmarshaler(v)
	case opText:
		if c == '"' {
			return s.textUnmarshaler(v)
		}
	case opStd:
		return s.std(v)
	default:
		if c != 'n' {
			return s.scalar(p, v, c)
		}
	}
	if c == 'n' {
		return s.null(v)
	}
	return s.mismatch(c, p.typ)
}

// anything reads a value into an empty interface. One that holds a pointer is read into what
// that points to.
func (s *state) anything(v reflect.Value) bool {
	if !v.IsNil() && v.Elem().Kind() == reflect.Pointer {
		return s.std(v)
	}
	x, ok := s.untyped()
	if !ok {
		return false
	}
	if x == nil {
		v.SetZero()
	} else {
		v.Set(reflect.ValueOf(x))
	}
	return true
}

// scalar reads a boolean or a number that begins with c.
func (s *state) scalar(p *plan, v reflect.Value, c byte) bool {
	if p.op == opBool && (c == 't' || c == 'f') {
		b, ok := s.boolean(c)
		if ok {
			v.SetBool(b)
		}
		return ok
	}
	if p.op == opNumber && c == '"' {
		return s.quotedNumber(v)
	}
	if p.op == opBool || p.op == opNone || c != '-' && c-'0' > 9 {
		return s.mismatch(c, p.typ)
	}
	literal, integral, ok := s.number()
	if !ok {
		return false
	}
	s.setNumber(p, v, literal, integral)
	return true
}

// setNumber sets v to a number. integral promises that literal is of digits alone, but for a
// minus in front.
func (s *state) setNumber(p *plan, v reflect.Value, literal []byte, integral bool) {
	n, easy := int64(0), false
	if integral {
		n, easy = small(literal)
	}
	switch p.op {
	case opInt:
		var err error
		if !easy {
			n, err = strconv.ParseInt(string(literal), 10, 64)
		}
		if err == nil && n<<(64-p.bits)>>(64-p.bits) == n {
			v.SetInt(n)
			return
		}
	case opUint:
		u, err := uint64(n), error(nil)
		if !easy || n < 0 {
			u, err = strconv.ParseUint(string(literal), 10, 64)
		}
		if err == nil && u<<(64-p.bits)>>(64-p.bits) == u {
			v.SetUint(u)
			return
		}
	case opFloat:
		// An integer that a float64 holds exactly is rounded once, when it becomes a float32.
		if easy && n < 1<<53 && n > -1<<53 {
			v.SetFloat(float64(n))
			return
		}
		if f, err := strconv.ParseFloat(string(literal), p.bits); err == nil {
			v.SetFloat(f)
			return
		}
	case opNumber:
		v.SetString(s.intern(literal))
		return
	}
	s.outOfRange(literal, p.typ)
}

// quotedNumber reads a string that holds a number.
func (s *state) quotedNumber(v reflect.Value) bool {
	b, ok := s.str()
	if !ok {
		return false
	}
	if !isNumber(b) {
		return s.stop(&stdjson.UnmarshalTypeError{Value: "string " + strconv.Quote(string(b)), Type: numberType, Offset: int64(s.i)})
	}
	v.SetString(s.intern(b))
	return true
}

// isNumber reports whether b is a number and nothing else.
func isNumber(b []byte) bool {
	inner := state{data: b}
	_, _, ok := inner.number()
	return ok && inner.i == len(b)
}

// null reads null, of which the first byte has been seen. Types that can't be nil stay as
// they are.
func (s *state) null(v reflect.Value) bool {
	if !s.literal("null") {
		return false
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Map, reflect.Slice:
		if v.CanSet() {
			v.SetZero()
		}
	}
	return true
}

// pointer reads into what v points to, which is made when v is nil.
func (s *state) pointer(p *plan, v reflect.Value) bool {
	if v.IsNil() {
		if !v.CanSet() {
			return s.unreachable(p.typ)
		}
		v.Set(reflect.New(p.typ.Elem()))
	}
	return s.value(p.elem, v.Elem())
}

func (s *state) unmarshaler(v reflect.Value) bool {
	raw, ok := s.raw()
	if !ok {
		return false
	}
	if err := v.Addr().Interface().(stdjson.Unmarshaler).UnmarshalJSON(raw); err != nil {
		return s.stop(err)
	}
	return true
}

func (s *state) textUnmarshaler(v reflect.Value) bool {
	b, ok := s.str()
	if !ok {
		return false
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(b); err != nil {
		return s.stop(err)
	}
	return true
}

// std has encoding/json read the value.
func (s *state) std(v reflect.Value) bool {
	raw, ok := s.raw()
	if !ok {
		return false
	}
	if err := stdjson.Unmarshal(raw, v.Addr().Interface()); err != nil {
		s.save(err)
	}
	return true
}

// bytes reads a string of base64.
func (s *state) bytes(v reflect.Value) bool {
	b, ok := s.str()
	if !ok {
		return false
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(b)))
	n, err := base64.StdEncoding.Decode(out, b)
	if err != nil {
		s.save(err)
		return true
	}
	v.SetBytes(out[:n])
	return true
}
