package json

import (
	stdjson "encoding/json"
	"reflect"
	"strings"
	"time"
)

const (
	// maxRemembered is the size of the largest type whose results are remembered.
	maxRemembered = 128
	memoSize      = 1 << 7
	memoShift     = 64 - 7
)

// zeros is what a value of a type that is remembered is compared with.
var zeros = strings.Repeat("\x00", maxRemembered)

// memo remembers what a type's UnmarshalJSON made of short texts, the last one of each hash.
type memo struct {
	texts [memoSize]shortText
	// results is an array with a value for each text, first the address of the first.
	results reflect.Value
	first   address
}

// newMemo returns a memo for the plan's type.
func newMemo(p *plan) *memo {
	results := reflect.New(reflect.ArrayOf(memoSize, p.typ))
	return &memo{results: results.Elem(), first: results.UnsafePointer()}
}

// shortText is a text of up to maxInterned bytes, which needs no memory of its own.
type shortText struct {
	length int
	bytes  [maxInterned]byte
}

func (t *shortText) set(text []byte)     { t.length = copy(t.bytes[:], text) }
func (t *shortText) is(text []byte) bool { return string(t.bytes[:t.length]) == string(text) }

// pointers says where a type's values may hold pointers. A value can be remembered, and be
// copied again and again, when it has none but short strings and places of time.
type pointers struct {
	strings []uintptr
	// others are the offsets of the words that are nil in a value without any other pointer.
	others []uintptr
	// words has a bit for each word that is a pointer in a value that is remembered.
	words uint32
}

// pointersOf returns nil when values of type t are never remembered.
func pointersOf(t reflect.Type) *pointers {
	if t.Size() == 0 || t.Size() > maxRemembered {
		return nil
	}
	p := new(pointers)
	p.add(t, 0)
	return p
}

func (p *pointers) add(t reflect.Type, offset uintptr) {
	switch t.Kind() {
	case reflect.String:
		p.strings = append(p.strings, offset)
		p.words |= 1 << (offset / wordSize)
	case reflect.Pointer:
		// A *time.Location is never written to.
		if t == reflect.TypeFor[*time.Location]() {
			p.words |= 1 << (offset / wordSize)
		} else {
			p.others = append(p.others, offset)
		}
	case reflect.Slice, reflect.Interface, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		// The first word is nil in a nil one.
		p.others = append(p.others, offset)
	case reflect.Struct:
		for i := range t.NumField() {
			p.add(t.Field(i).Type, offset+t.Field(i).Offset)
		}
	case reflect.Array:
		for i := range t.Size() / max(t.Elem().Size(), 1) {
			p.add(t.Elem(), offset+i*t.Elem().Size())
		}
	}
}

// none reports whether the value at v has no pointers but those allowed.
func (p *pointers) none(v address) bool {
	for _, offset := range p.others {
		if *as[uintptr](at(v, offset)) != 0 {
			return false
		}
	}
	for _, offset := range p.strings {
		if len(*as[string](at(v, offset))) > maxInterned {
			return false
		}
	}
	return true
}

// unmarshaler reads a value by its UnmarshalJSON, or remembers what that did to a zero value with the
// same text.
func (s *state) unmarshaler(p *plan, v address) bool {
	raw, ok := s.raw()
	if !ok {
		return false
	}
	if p.moment {
		if t, ok := moment(raw); ok {
			*as[time.Time](v) = t
			return true
		}
	}
	if p.pointers == nil || len(raw) > maxInterned || !isZero(p, v) {
		return s.unmarshal(p, v, raw)
	}
	for p.slot >= len(s.memos) {
		s.memos = append(s.memos, nil)
	}
	m, i := s.memos[p.slot], int(hash(raw)>>memoShift)
	if m != nil && m.texts[i].is(raw) {
		copyValue(v, at(m.first, uintptr(i)*p.size), p)
		return true
	}
	if !s.unmarshal(p, v, raw) {
		return false
	}
	if p.pointers.none(v) {
		if m == nil {
			m = newMemo(p)
			s.memos[p.slot] = m
		}
		m.texts[i].set(raw)
		m.results.Index(i).Set(reflected(p, v))
	}
	return true
}

// unmarshal calls the UnmarshalJSON of the value at v.
func (s *state) unmarshal(p *plan, v address, raw []byte) bool {
	if err := methods(p, v).(stdjson.Unmarshaler).UnmarshalJSON(raw); err != nil {
		return s.stop(err)
	}
	return true
}
