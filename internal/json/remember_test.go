package json_test

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/internal/json"
)

// The types below count the calls of their UnmarshalJSON.

var calls int

type plainCounted struct {
	Text  string
	Place *time.Location
	List  []int
	Pair  [2]struct{ P *int }
}

func (c *plainCounted) UnmarshalJSON(b []byte) error {
	calls++
	switch {
	case b[0] == '[':
		return errors.New("an array")
	case strings.Contains(string(b), "long"):
		c.Text += strings.Repeat("long", 100)
	case strings.Contains(string(b), "list"):
		c.List = append(c.List, 1)
	case strings.Contains(string(b), "pointer"):
		c.Pair[1].P = new(int)
	default:
		c.Text, c.Place = c.Text+string(b), time.UTC
	}
	return nil
}

type (
	mapCounted   map[string]int
	anyCounted   struct{ V any }
	errorCounted struct{ V error }
	funcCounted  struct{ V func() }
	chanCounted  struct{ V chan int }
	wideCounted  [200]byte
	emptyCounted struct{}
)

func (c *mapCounted) UnmarshalJSON([]byte) error {
	calls++
	*c = mapCounted{"a": 1}
	return nil
}

func (c *anyCounted) UnmarshalJSON([]byte) error   { calls++; c.V = 1; return nil }
func (c *errorCounted) UnmarshalJSON([]byte) error { calls++; c.V = errors.New("v"); return nil }
func (c *funcCounted) UnmarshalJSON([]byte) error  { calls++; c.V = func() {}; return nil }
func (c *chanCounted) UnmarshalJSON([]byte) error  { calls++; c.V = make(chan int); return nil }
func (c *wideCounted) UnmarshalJSON([]byte) error  { calls++; c[150] = 1; return nil }
func (c *emptyCounted) UnmarshalJSON([]byte) error { calls++; return nil }

// counted returns how often UnmarshalJSON is called when document is read into two Ts, in one call:
// between calls all that is remembered may be lost.
func counted[T any](t *testing.T, document string) int {
	t.Helper()
	var values []T
	calls = 0
	require.NoError(t, new(json.Decoder).Unmarshal([]byte("["+document+","+document+"]"), &values))
	require.Len(t, values, 2)
	return calls
}

// What UnmarshalJSON made of a short text is copied when it holds no pointers but short strings and
// a *time.Location.
func TestResultsAreRemembered(t *testing.T) {
	require.Equal(t, 1, counted[plainCounted](t, `"a"`))
	require.Equal(t, 1, counted[*plainCounted](t, `"a"`))
	require.Equal(t, 2, counted[[]plainCounted](t, `["a",{"b" : 1},"a", {"b" : 1} ]`))
	require.Equal(t, 1, counted[map[string]plainCounted](t, `{"x":null,"y":null}`))

	require.Equal(t, 2, counted[plainCounted](t, `"`+strings.Repeat("a", 63)+`"`), "a long text")
	require.Equal(t, 2, counted[plainCounted](t, `"long"`), "a long string")
	require.Equal(t, 2, counted[plainCounted](t, `"list"`), "a slice")
	require.Equal(t, 2, counted[plainCounted](t, `"pointer"`), "a pointer within an array")
	require.Equal(t, 2, counted[mapCounted](t, `"a"`), "a map")
	require.Equal(t, 2, counted[anyCounted](t, `"a"`), "an interface")
	require.Equal(t, 2, counted[errorCounted](t, `"a"`), "an interface with methods")
	require.Equal(t, 2, counted[funcCounted](t, `"a"`), "a function")
	require.Equal(t, 2, counted[chanCounted](t, `"a"`), "a channel")
	require.Equal(t, 2, counted[wideCounted](t, `"a"`), "a large type")
	require.Equal(t, 2, counted[emptyCounted](t, `"a"`), "a type that holds nothing")
}

func TestErrorsAreNotRemembered(t *testing.T) {
	var d json.Decoder
	calls = 0
	for range 3 {
		require.Error(t, d.Unmarshal([]byte(`[1]`), new(plainCounted)))
	}
	require.Equal(t, 3, calls)
}

// A receiver that holds something is read into, and what comes out is not remembered.
func TestHeldReceiversAreNotRemembered(t *testing.T) {
	var d json.Decoder
	for range 3 {
		held := plainCounted{Text: "held"}
		require.NoError(t, d.Unmarshal([]byte(`"a"`), &held))
		require.Equal(t, plainCounted{Text: `held"a"`, Place: time.UTC}, held)
		require.NoError(t, d.Unmarshal([]byte(`"a"`), &held))
		require.Equal(t, `held"a""a"`, held.Text)
		var fresh plainCounted
		require.NoError(t, d.Unmarshal([]byte(`"a"`), &fresh))
		require.Equal(t, plainCounted{Text: `"a"`, Place: time.UTC}, fresh)
	}
}

// Values that come from one memory are values of their own.
func TestRememberedAreCopies(t *testing.T) {
	var d json.Decoder
	var first, second []plainCounted
	require.NoError(t, d.Unmarshal([]byte(`["a","b"]`), &first))
	first[0].Text, first[1].Place, first[1].List = "changed", nil, []int{1}
	require.NoError(t, d.Unmarshal([]byte(`["a","b"]`), &second))
	require.Equal(t, []plainCounted{{Text: `"a"`, Place: time.UTC}, {Text: `"b"`, Place: time.UTC}}, second)
}

// Many texts, some of them again and again, give what encoding/json gives.
func TestManyTexts(t *testing.T) {
	r := random(t)
	type timed struct {
		At    timestamp
		To    *timestamp
		Or    []intOrString
		Much  map[string]quantity
		Where time.Time
		Raw   *fieldsV1
	}
	for range 3000 {
		at := time.Unix(r.Int64N(1000), r.Int64N(2)*r.Int64N(1e9)).In(time.FixedZone("", 3600*r.IntN(3))).Format(time.RFC3339Nano)
		document := fmt.Appendf(nil, `{"At":%q,"To":%q,"Or":[%d,"%d",null],"Much":{"cpu":"%dm","memory":null},"Where":%q,"Raw":{"f:%d":{}}}`,
			at, at, r.IntN(300), r.IntN(300), r.IntN(300), at, r.IntN(10))
		if r.IntN(4) == 0 {
			document[r.IntN(len(document))] = '0'
		}
		var got, want timed
		wantErr := stdjson.Unmarshal(document, &want)
		gotErr := json.Unmarshal(document, &got)
		require.Equal(t, wantErr == nil, gotErr == nil, "%s: %v, %v", document, wantErr, gotErr)
		if wantErr == nil && !reflect.DeepEqual(want, got) {
			require.Equal(t, want, got, "%s", document)
		}
	}
}

// Slices as long as those before are right, and those that are not.
func TestSlicesOfLearntLengths(t *testing.T) {
	r := random(t)
	var d json.Decoder
	last := 0
	for range 3000 {
		n := last
		if r.IntN(3) == 0 {
			n = r.IntN(10) * r.IntN(10)
		}
		last = n
		document := []byte(`{"Selves":[` + strings.TrimSuffix(strings.Repeat(`{"Ints":[1,2]},`, n), ",") + `],"Strings":[` +
			strings.TrimSuffix(strings.Repeat(`"a",null,`, n), ",") + `]}`)
		if r.IntN(8) == 0 {
			document = document[:r.IntN(len(document))]
		}
		var got, want odd
		if err := stdjson.Unmarshal(document, &want); err != nil {
			require.Error(t, d.Unmarshal(document, &got))
			continue
		}
		require.NoError(t, d.Unmarshal(document, &got))
		require.Equal(t, want, got)
		require.Equal(t, len(got.Selves), cap(got.Selves))
		require.Equal(t, len(got.Strings), cap(got.Strings))
	}
}

type nest struct {
	In  *nest
	Raw *fieldsV1
}

// Texts that are known to be right, those that begin or end as one, and those that are deeper for where
// they stand, give what encoding/json gives.
func TestKnownTexts(t *testing.T) {
	r := random(t)
	var d json.Decoder
	check := func(document []byte) {
		var got, want nest
		wantErr, gotErr := stdjson.Unmarshal(document, &want), d.Unmarshal(document, &got)
		require.Equal(t, wantErr == nil, gotErr == nil, "%.300s: %v, %v", document, wantErr, gotErr)
		if wantErr == nil && !reflect.DeepEqual(want, got) {
			require.Equal(t, want, got, "%.300s", document)
		}
	}
	texts := []string{`{}`, `{"f:a":{}}`}
	for n := range 6 {
		text := strings.Repeat(`{"f:spec":[{"k:{\"name\":\"a\"}":true},`, 1+n*n*n) + fmt.Sprint(n) + strings.Repeat(`]}`, 1+n*n*n)
		texts = append(texts, text, strings.Replace(text, "spec", "meta", 1))
	}
	for range 3000 {
		document := []byte(`{"Raw":` + texts[r.IntN(len(texts))] + `,"In":{"Raw":` + texts[r.IntN(len(texts))] + `}}`)
		switch r.IntN(6) {
		case 0:
			document[r.IntN(len(document))] = `0{}[]",:\`[r.IntN(9)]
		case 1:
			document = document[:r.IntN(len(document))]
		}
		check(document)
	}
	deep := strings.Repeat(`{"a":`, 20) + `"` + strings.Repeat("x", 64) + `"` + strings.Repeat(`}`, 20)
	for _, n := range []int{1, 9000, 9975, 9990} {
		check([]byte(strings.Repeat(`{"In":`, n) + `{"Raw":` + deep + strings.Repeat(`}`, n+1)))
	}
}

// Strings that come in the order in which they came before are right, and those that do not, that have
// escapes, or that only begin as one.
func TestExpectedStrings(t *testing.T) {
	r := random(t)
	type texts struct{ A, B string }
	choices := []string{`a`, `b`, ``, `bb`, `ab\"c`, `ab\\`, `\u0041`, "\u00e4", `x"`, `ab`, "b\x01", "\xff", "a longer text", "a longer tixt", `a \`, strings.Repeat("y", 64), strings.Repeat("y", 65)}
	var d json.Decoder
	at, step := 0, 1
	for range 3000 {
		var document strings.Builder
		for range 4 {
			if at = (at + step) % len(choices); r.IntN(5) == 0 {
				at, step = r.IntN(len(choices)), 1+r.IntN(3)
			}
			fmt.Fprintf(&document, `,{"A":"%s","B":"%s"}`, choices[at], choices[r.IntN(2)*at])
		}
		text := []byte("[" + document.String()[1:] + "]")
		if r.IntN(10) == 0 {
			text = text[:r.IntN(len(text))]
		}
		var got, want []texts
		wantErr, gotErr := stdjson.Unmarshal(text, &want), d.Unmarshal(text, &got)
		require.Equal(t, wantErr == nil, gotErr == nil, "%s: %v, %v", text, wantErr, gotErr)
		if wantErr == nil && !reflect.DeepEqual(want, got) {
			require.Equal(t, want, got, "%s", text)
		}
	}
}
