package json

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A state keeps no value of a document but short strings and numbers, and no more memory than its bounds.
func TestResetKeepsNothing(t *testing.T) {
	wide := `{"a":[` + strings.Repeat(`{"b":"\n"},`, 2*maxKeptItems) + `0],` + strings.Repeat(`"k":1,`, 2*maxKeptItems)
	long := `"\n` + strings.Repeat("x", 2*maxKeptText) + `"`
	for _, document := range []string{`{"a":[1,{"b":2}]}`, `{"a":[1,{"b":2,"c":[3,`, wide, wide + `"z":0}`, long} {
		s := newState()
		var target any
		s.data = []byte(document)
		_ = s.document(plans.of(reflect.TypeFor[*any]()), address(&target))
		s.reset()
		require.Zero(t, s.data)
		require.LessOrEqual(t, cap(s.text), maxKeptText)
		require.LessOrEqual(t, cap(s.elems), maxKeptItems)
		require.LessOrEqual(t, cap(s.pairs), maxKeptItems)
		for _, e := range s.elems[:cap(s.elems)] {
			require.Nil(t, e)
		}
		for _, e := range s.pairs[:cap(s.pairs)] {
			require.Zero(t, e)
		}
	}
}

// The tables hold at most one string or number of at most maxInterned bytes in each place.
func TestInternIsBounded(t *testing.T) {
	s := newState()
	for i := range 3 * tableSize {
		text := fmt.Sprintf("%0*d", i%100+1, i)
		require.Equal(t, text, s.intern([]byte(text)))
		require.Equal(t, text, s.boxed([]byte(text)))
		require.InDelta(t, i, s.boxedNumber([]byte(text), true), 0)
	}
	for _, kept := range s.values {
		require.LessOrEqual(t, len(kept.literal), maxInterned)
	}
	for _, kept := range s.strings {
		require.LessOrEqual(t, len(kept.text), maxInterned)
	}
}

type numbered struct {
	Text   string
	Number int
}

func (n *numbered) UnmarshalJSON(b []byte) error {
	n.Text = string(b)
	return nil
}

// There are at most memoSize results of a type, of texts and strings of at most maxInterned bytes.
func TestMemosAreBounded(t *testing.T) {
	s := newState()
	p := plans.of(reflect.TypeFor[*numbered]())
	for i := range 10 * memoSize {
		text := "1" + fmt.Sprintf("%0*d", i%100, i)
		s.data, s.i = []byte(text), 0
		var v numbered
		require.True(t, s.value(p, address(&v)))
		require.Equal(t, numbered{Text: text}, v)
	}
	m := s.memos[p.slot]
	require.Equal(t, memoSize, m.results.Len())
	require.Len(t, m.texts, memoSize)
	remembered := 0
	for i := range m.texts {
		text := string(m.texts[i].bytes[:m.texts[i].length])
		require.Equal(t, text, m.results.Index(i).Interface().(numbered).Text)
		if text != "" {
			remembered++
		}
	}
	require.Greater(t, remembered, memoSize/2)
}

// There are at most knownTexts known texts of at most maxKnown bytes.
func TestKnownTextsAreBounded(t *testing.T) {
	s := newState()
	for n := range 2 * maxKnown {
		s.data, s.i = fmt.Appendf(nil, `{"%d":"%s"}  `, n, strings.Repeat("x", n)), 0
		raw, ok := s.raw()
		require.True(t, ok)
		require.Len(t, raw, len(s.data)-2)
	}
	require.Len(t, s.known, knownTexts)
	for _, text := range s.known {
		require.NotEmpty(t, text)
		require.LessOrEqual(t, cap(text), maxKnown+maxKnown/4)
	}
}
