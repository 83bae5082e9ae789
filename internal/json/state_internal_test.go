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
		_ = s.document(plans.of(reflect.TypeFor[*any]()), reflect.ValueOf(&target).Elem())
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
		require.LessOrEqual(t, len(kept), maxInterned)
	}
}
