package json_test

import (
	stdjson "encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var seed = flag.Uint64("seed", 0, "seed of the random tests; 0: a new one")

func random(t *testing.T) *rand.Rand {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed=%d", s)
	return rand.New(rand.NewPCG(s, s))
}

// Values of many types, marshalled and decoded again, come back as by encoding/json.
func TestRandomValues(t *testing.T) {
	r := random(t)
	types := []reflect.Type{
		reflect.TypeFor[pod](), reflect.TypeFor[podList](), reflect.TypeFor[configMapList](),
		reflect.TypeFor[[]Base](), reflect.TypeFor[map[string]*probe](), reflect.TypeFor[map[phase][]map[string]any](),
		reflect.TypeFor[[][3]float32](), reflect.TypeFor[map[int16][]byte](), reflect.TypeFor[*[]*string](),
		reflect.TypeFor[struct {
			A int8  `json:",string"`
			B *bool `json:",string"`
			C string
			D []struct {
				E time.Duration
				F any
				G map[string][]uint16
			}
			Left
			*Right
		}](),
	}
	for range 40 {
		for _, typ := range types {
			v := reflect.New(typ)
			fill(r, v.Elem(), 6)
			document, err := stdjson.Marshal(v.Interface())
			require.NoError(t, err)
			same(t, document, func() any { return reflect.New(typ).Interface() })
			same(t, document, targets[0])
		}
	}
}

// fill sets v to something random, at most depth levels deep.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	if !v.CanSet() && v.Kind() != reflect.Struct || depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> r.IntN(64))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(r.NormFloat64() * math.Pow10(r.IntN(40)-20))))
	case reflect.String:
		v.SetString(text(r))
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{text(r), r.Float64(), true, map[string]any{text(r): []any{nil, 1.0}}}[r.IntN(4)]))
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth-1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(6)*r.IntN(3), 100))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(12) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key, depth)
			fill(r, elem, depth-1)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		if reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[stdjson.Unmarshaler]()) {
			return
		}
		for i := range v.NumField() {
			fill(r, v.Field(i), depth-1)
		}
	}
}

// text returns a string that may need escapes, repair or nothing.
func text(r *rand.Rand) string {
	parts := []string{"a", "name", "\"", "\\", "/", "\n", "\x00", "é", "日", "😀", "\xff", "\u2028", "abcdefgh", "<", "\xed\xa0\x80"}
	var s strings.Builder
	for range r.IntN(9) {
		s.WriteString(parts[r.IntN(len(parts))])
	}
	return s.String()
}

// Documents of names that the targets know, of any shape, decode as by encoding/json.
func TestRandomDocuments(t *testing.T) {
	r := random(t)
	var names []string
	for _, member := range members {
		name, _, _ := strings.Cut(member, `":`)
		names = append(names, name+`"`)
	}
	for range 1000 {
		var s strings.Builder
		write(r, &s, names, 5)
		document := []byte(s.String())
		if r.IntN(4) == 0 {
			document[r.IntN(len(document))] = byte(r.IntN(256))
		}
		for _, fresh := range targets[:12] {
			same(t, document, fresh)
		}
	}
}

// write adds a random value to s.
func write(r *rand.Rand, s *strings.Builder, names []string, depth int) {
	choice := r.IntN(10)
	if depth == 0 {
		choice = r.IntN(6)
	}
	switch choice {
	case 0:
		s.WriteString([]string{"null", "true", "false"}[r.IntN(3)])
	case 1:
		s.WriteString(strconv.FormatInt(int64(r.Uint64())>>r.IntN(64), 10))
	case 2:
		fmt.Fprint(s, r.NormFloat64())
	case 3, 4, 5:
		s.WriteString([]string{`"a"`, `""`, `"\u00e9"`, `"5"`, `"null"`, `"AQID"`, `"true"`, `"\"x\""`, "\"\xff\"", `"2026-11-30T07:41:11Z"`}[r.IntN(10)])
	case 6, 7:
		s.WriteString("[")
		for i := range r.IntN(6) {
			if i > 0 {
				s.WriteString(" ,")
			}
			write(r, s, names, depth-1)
		}
		s.WriteString("]")
	default:
		s.WriteString("{")
		for i := range r.IntN(6) {
			if i > 0 {
				s.WriteString(", ")
			}
			if r.IntN(2) == 0 {
				s.WriteString(members[r.IntN(len(members))])
				continue
			}
			s.WriteString(names[r.IntN(len(names))] + ":")
			write(r, s, names, depth-1)
		}
		s.WriteString("}")
	}
}
