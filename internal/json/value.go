package json

import (
	"encoding"
	"encoding/base64"
	stdjson "encoding/json"
	"reflect"
	"strconv"
)

// value reads a value into v, which is of the plan's type.
func (s *state) value(p *plan, v address) bool {
	c := s.peek()
	switch p.op {
	case opString:
		if c == '"' {
			b, ok := s.str()
			if ok {
				*as[string](v) = s.intern(b)
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
			return s.bytes(as[[]byte](v))
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
		return s.anything(as[any](v))
	case opUnmarshaler:
		return s.unmarshaler(p, v)
	case opText:
		if c == '"' {
			return s.textUnmarshaler(p, v)
		}
	case opStd:
		return s.std(methods(p, v))
	default:
		if c != 'n' {
			return s.scalar(p, v, c)
		}
	}
	if c == 'n' {
		return s.null(p, v)
	}
	return s.mismatch(c, p.typ)
}

// anything reads a value into an empty interface. One that holds a pointer is read into what
// that points to.
func (s *state) anything(v *any) bool {
	if *v != nil && reflect.TypeOf(*v).Kind() == reflect.Pointer {
		return s.std(v)
	}
	x, ok := s.untyped()
	if ok {
		*v = x
	}
	return ok
}

// scalar reads a boolean or a number that begins with c.
func (s *state) scalar(p *plan, v address, c byte) bool {
	if p.op == opBool && (c == 't' || c == 'f') {
		b, ok := s.boolean(c)
		if ok {
			*as[bool](v) = b
		}
		return ok
	}
	if p.op == opNumber && c == '"' {
		return s.quotedNumber(as[string](v))
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
func (s *state) setNumber(p *plan, v address, literal []byte, integral bool) {
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
			setInt(p, v, n)
			return
		}
	case opUint:
		u, err := uint64(n), error(nil)
		if !easy || n < 0 {
			u, err = strconv.ParseUint(string(literal), 10, 64)
		}
		if err == nil && u<<(64-p.bits)>>(64-p.bits) == u {
			setUint(p, v, u)
			return
		}
	case opFloat:
		// An integer that a float64 holds exactly is rounded once, when it becomes a float32.
		if easy && n < 1<<53 && n > -1<<53 {
			setFloat(p, v, float64(n))
			return
		}
		if f, err := strconv.ParseFloat(string(literal), p.bits); err == nil {
			setFloat(p, v, f)
			return
		}
	case opNumber:
		*as[string](v) = s.intern(literal)
		return
	}
	s.outOfRange(literal, p.typ)
}

// quotedNumber reads a string that holds a number.
func (s *state) quotedNumber(v *string) bool {
	b, ok := s.str()
	if !ok {
		return false
	}
	if !isNumber(b) {
		return s.stop(&stdjson.UnmarshalTypeError{Value: "string " + strconv.Quote(string(b)), Type: numberType, Offset: int64(s.i)})
	}
	*v = s.intern(b)
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
func (s *state) null(p *plan, v address) bool {
	if !s.literal("null") {
		return false
	}
	if !p.sealed {
		setNil(p, v)
	}
	return true
}

// pointer reads into what v points to, which is made when v is nil.
func (s *state) pointer(p *plan, v address) bool {
	to := as[address](v)
	if *to == nil {
		if p.sealed {
			return s.unreachable(p.typ.Elem())
		}
		*to = made(p.elem)
	}
	return s.value(p.elem, *to)
}

func (s *state) textUnmarshaler(p *plan, v address) bool {
	b, ok := s.str()
	if !ok {
		return false
	}
	if err := methods(p, v).(encoding.TextUnmarshaler).UnmarshalText(b); err != nil {
		return s.stop(err)
	}
	return true
}

// std has encoding/json read the value into what v points to.
func (s *state) std(v any) bool {
	raw, ok := s.raw()
	if !ok {
		return false
	}
	if err := stdjson.Unmarshal(raw, v); err != nil {
		s.save(err)
	}
	return true
}

// bytes reads a string of base64.
func (s *state) bytes(v *[]byte) bool {
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
	*v = out[:n]
	return true
}
