package json

import (
	"encoding"
	"fmt"
)

// quoted reads the value of a field with the option "string": a string that holds the value,
// or null.
func (s *state) quoted(p *plan, v address) bool {
	switch s.peek() {
	case 'n':
		return s.value(p, v)
	case '"':
		b, ok := s.str()
		return ok && s.unquoted(p, v, b)
	}
	s.misquoted(nil, p)
	return s.pass()
}

// misquoted notes that a field with the option "string" can't hold what came.
func (s *state) misquoted(item []byte, p *plan) {
	s.save(fmt.Errorf("json: %q in a field with the option string cannot be read into %v", item, p.typ))
}

// unquoted stores what stood in the string. Nobody has checked its syntax.
func (s *state) unquoted(p *plan, v address, item []byte) bool {
	null := string(item) == "null"
	switch {
	case len(item) == 0:
		s.misquoted(item, p)
		return true
	case p.op == opPointer && item[0] == 'n':
		if null {
			setNil(p, v)
		} else {
			s.misquoted(item, p)
		}
		return true
	case p.op == opPointer:
		to := as[address](v)
		if *to == nil {
			*to = made(p.elem)
		}
		return s.unquoted(p.elem, *to, item)
	case p.op == opUnmarshaler:
		return s.unmarshal(p, v, item)
	case null:
		return true
	}
	s.unquotedScalar(p, v, item)
	return s.err == nil
}

// unquotedScalar stores a boolean, a number or a string within the string.
func (s *state) unquotedScalar(p *plan, v address, item []byte) {
	text, isText := unquote(item)
	switch {
	case p.op == opText && isText:
		if err := methods(p, v).(encoding.TextUnmarshaler).UnmarshalText(text); err != nil {
			s.stop(err)
		}
	case p.op == opBool && (string(item) == "true" || string(item) == "false"):
		*as[bool](v) = item[0] == 't'
	case isText && (p.op == opString || p.op == opNumber && isNumber(text)):
		*as[string](v) = s.intern(text)
	case (p.op == opInt || p.op == opUint || p.op == opFloat || p.op == opNumber) && (item[0] == '-' || item[0]-'0' <= 9):
		s.setNumber(p, v, item, false)
	default:
		s.misquoted(item, p)
	}
}

// unquote returns what a string with its quotes means, when item is one and nothing else.
func unquote(item []byte) ([]byte, bool) {
	if item[0] != '"' {
		return nil, false
	}
	inner := state{data: item, inner: true}
	text, ok := inner.str()
	return text, ok && inner.i == len(item)
}
