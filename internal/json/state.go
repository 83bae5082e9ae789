package json

import (
	stdjson "encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

// maxDepth is how deep arrays and objects may be nested.
const maxDepth = 10000

// What a state may keep between calls, so that one large document doesn't stay for ever.
const (
	maxKeptText  = 64 << 10
	maxKeptItems = 4 << 10
)

// SyntaxError reports data that is not one JSON value. When data ends too early it wraps
// [io.ErrUnexpectedEOF].
type SyntaxError struct {
	// Offset is the number of bytes before the one that is wrong.
	Offset int64
	what   string
	cause  error
}

// Error says what is wrong and where.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("json: %s at offset %d", e.what, e.Offset)
}

// Unwrap returns io.ErrUnexpectedEOF when data ended too early, else nil.
func (e *SyntaxError) Unwrap() error { return e.cause }

// state is one run over one document.
//
// Methods that read move i behind what they read, and return false after a failure that ends
// the run, which is then in err.
type state struct {
	data  []byte
	i     int
	depth int
	// err ended the run.
	err error
	// saved is the first value that did not fit; the run goes on behind it.
	saved error
	// skip is the place among the skipped paths, nil when none is below.
	skip     *jsonstream.Paths
	integers bool
	// inner is true for a string within a string, where encoding/json takes the escape \' too.
	inner bool

	// nested says for each depth whether an object or an array is passed there.
	nested  *depthBits
	text    []byte
	elems   []any
	pairs   []pair
	strings *stringTable
	values  *valueTable
	known   knownTable
	scratch []*scratch
	// expected holds what expectedOf returns, by the slots of the field sets.
	expected [][]*field
	// followers are those of the fields that are strings.
	followers []follower
	// memos are those of the plans, by their slots.
	memos []*memo
}

// scratch holds zero values of a plan's types between uses.
type scratch struct {
	// items is a slice of full length, or a map's element.
	items reflect.Value
	// first is the address of the first item.
	first address
	// spare is an empty slice that is used to make others, header its memory.
	spare  reflect.Value
	header *sliceHeader
	// last is the length of the last slice, sure when the one before was as long.
	last int
	sure bool
	// key is a map's key.
	key reflect.Value
}

func newState() *state {
	return &state{strings: new(stringTable), nested: new(depthBits)}
}

// reset drops all that belongs to a document. A stack is clear above its length at all times,
// so it is enough to clear what an ended run left below.
func (s *state) reset() {
	s.data, s.i, s.depth, s.err, s.saved, s.skip = nil, 0, 0, nil, nil, nil
	clear(s.elems)
	clear(s.pairs)
	s.text, s.elems, s.pairs = s.text[:0], s.elems[:0], s.pairs[:0]
	if cap(s.text) > maxKeptText {
		s.text = nil
	}
	if cap(s.elems) > maxKeptItems {
		s.elems = nil
	}
	if cap(s.pairs) > maxKeptItems {
		s.pairs = nil
	}
}

// document reads the whole of data into v.
func (s *state) document(p *plan, v address) error {
	if !s.value(p, v) {
		return s.err
	}
	if s.peek(); s.i < len(s.data) {
		s.fail("data behind the value")
		return s.err
	}
	return s.saved
}

// take returns the scratch of a plan, which is no longer there for others until give. It is
// nil at first, and when the plan is in use further up.
func (s *state) take(p *plan) *scratch {
	if p.slot >= len(s.scratch) {
		s.scratch = append(s.scratch, make([]*scratch, p.slot+1-len(s.scratch))...)
	}
	k := s.scratch[p.slot]
	s.scratch[p.slot] = nil
	return k
}

// give returns scratch whose values are zero again.
func (s *state) give(p *plan, k *scratch) { s.scratch[p.slot] = k }

// fail ends the run at i. It returns false.
func (s *state) fail(what string) bool {
	if s.i >= len(s.data) {
		s.err = &SyntaxError{Offset: int64(len(s.data)), what: "unexpected end of data", cause: io.ErrUnexpectedEOF}
	} else {
		s.err = &SyntaxError{Offset: int64(s.i), what: what}
	}
	return false
}

// stop ends the run with err. It returns false.
func (s *state) stop(err error) bool {
	s.err = err
	return false
}

// save keeps err as the result unless there is one. The run goes on.
func (s *state) save(err error) {
	if s.saved == nil {
		s.saved = err
	}
}

// mismatch skips a value that begins with c and can't be stored in a t.
func (s *state) mismatch(c byte, t reflect.Type) bool {
	what := "number"
	switch c {
	case '"':
		what = "string"
	case '{':
		what = "object"
	case '[':
		what = "array"
	case 't', 'f':
		what = "bool"
	}
	s.save(&stdjson.UnmarshalTypeError{Value: what, Type: t, Offset: int64(s.i)})
	return s.pass()
}

// outOfRange notes that a number does not fit into t.
func (s *state) outOfRange(literal []byte, t reflect.Type) {
	s.save(&stdjson.UnmarshalTypeError{Value: "number " + string(literal), Type: t, Offset: int64(s.i)})
}

// within adds the field's name to a type error that was saved while the field was read.
func (s *state) within(name string) {
	if err, ok := s.saved.(*stdjson.UnmarshalTypeError); ok {
		if err.Field == "" {
			err.Field = name
		} else {
			err.Field = name + "." + err.Field
		}
	}
}

// down enters an array or object.
func (s *state) down() bool {
	s.depth++
	if s.depth > maxDepth {
		return s.fail("nested too deep")
	}
	s.i++
	return true
}

// up leaves an array or object.
func (s *state) up() bool {
	s.depth--
	s.i++
	return true
}
