package jsonstream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	slotType = iota + 1
	slotObject
	slotKind
	slotName
)

var shape = jsonstream.NewShape(
	jsonstream.Member{Name: "type", Slot: slotType},
	jsonstream.Member{Name: "object", Slot: slotObject, In: jsonstream.NewShape(
		jsonstream.Member{Name: "kind", Slot: slotKind},
		jsonstream.Member{Name: "metadata", In: jsonstream.NewShape(jsonstream.Member{Name: "name", Slot: slotName})},
	)},
)

// readers gives the same bytes in different pieces.
func readers(body string) map[string]io.Reader {
	return map[string]io.Reader{
		"whole":    strings.NewReader(body),
		"bytewise": iotest.OneByteReader(strings.NewReader(body)),
		"halves":   iotest.HalfReader(strings.NewReader(body)),
		"data+err": iotest.DataErrReader(strings.NewReader(body)),
	}
}

func TestCutNotesFields(t *testing.T) {
	const long = `"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"`
	tests := map[string]struct {
		in                       string
		typ, object, kind, named string
	}{
		"plain":         {`{"type":"A","object":{"kind":"K","metadata":{"name":"n"}}}`, `"A"`, `{"kind":"K","metadata":{"name":"n"}}`, `"K"`, `"n"`},
		"other order":   {`{"object":{"metadata":{"x":{"name":"no"},"name":"n"},"kind":"K"},"type":"A"}`, `"A"`, `{"metadata":{"x":{"name":"no"},"name":"n"},"kind":"K"}`, `"K"`, `"n"`},
		"white space":   {" {\n\t\"type\" : \"A\" ,\r\"object\" : { \"kind\" : \"K\" } } ", `"A"`, `{ "kind" : "K" }`, `"K"`, ""},
		"escaped key":   {`{"t\u0079pe":"A\u0042"}`, `"A\u0042"`, "", "", ""},
		"last wins":     {`{"type":"A","type":"B"}`, `"B"`, "", "", ""},
		"null passes":   {`{"type":"A","type":null,"object":null}`, `"A"`, "", "", ""},
		"not an object": {`{"object":["kind"],"type":5}`, `5`, `["kind"]`, "", ""},
		"brackets in strings": {`{"object":{"a":"}]\"","metadata":{"name":"]}{\\"}},"x":[[],{"type":"no"}],"type":"A"}`,
			`"A"`, `{"a":"}]\"","metadata":{"name":"]}{\\"}}`, "", `"]}{\\"`},
		"empty":      {`{}`, "", "", "", ""},
		"long key":   {`{` + long + `:1,"type":"A"}`, `"A"`, "", "", ""},
		"merged":     {`{"object":{"metadata":{"name":"a"},"metadata":{"b":1}}}`, "", `{"metadata":{"name":"a"},"metadata":{"b":1}}`, "", `"a"`},
		"replaced":   {`{"object":{"kind":"a","metadata":{"name":"n"}},"object":{"kind":"b"},"object":null}`, "", `{"kind":"b"}`, `"b"`, ""},
		"case count": {`{"Type":"A"}`, "", "", "", ""},
	}
	for name, test := range tests {
		for how, r := range readers(test.in + ` 7 `) {
			t.Run(name+"/"+how, func(t *testing.T) {
				s := jsonstream.New(r, 1000, nil)
				var v jsonstream.Value
				require.NoError(t, s.Cut(shape, &v))
				require.Equal(t, strings.TrimSpace(test.in), string(v.Bytes))
				require.EqualValues(t, len(v.Bytes), v.Size)
				got := []string{string(v.Field(slotType)), string(v.Field(slotObject)), string(v.Field(slotKind)), string(v.Field(slotName))}
				require.Empty(t, cmp.Diff([]string{test.typ, test.object, test.kind, test.named}, got))
				require.NoError(t, s.Cut(nil, &v))
				require.Equal(t, "7", string(v.Bytes))
				require.NoError(t, s.End())
			})
		}
	}
}

func TestCutFaults(t *testing.T) {
	deep := strings.Repeat("[", 10001)
	for _, in := range []string{
		`{"a":]}`, `{"a":[}`, `{"a":[1}]`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":,}`, `{"a":1,}`,
		"{\"a\":\"b\n\"}", `,`, `}`, `{"a":` + deep, `{"a":[[}]`, "{\"a\n\":1}",
	} {
		for how, r := range readers(in + strings.Repeat(" ", 9)) {
			t.Run(in[:min(len(in), 20)]+"/"+how, func(t *testing.T) {
				var v jsonstream.Value
				err := jsonstream.New(r, 1<<20, nil).Cut(shape, &v)
				var syntax *jsonstream.SyntaxError
				require.ErrorAs(t, err, &syntax)
				require.Contains(t, err.Error(), "invalid JSON at byte")
				require.LessOrEqual(t, syntax.Offset, int64(len(in)))
			})
		}
	}
}

func TestCutTruncated(t *testing.T) {
	const whole = `{"type":"A\n","object":{"kind":"K","metadata":{"name":"n"},"l":[1,{"a":true}]}}`
	for n := range len(whole) {
		for how, r := range readers(whole[:n]) {
			var v jsonstream.Value
			err := jsonstream.New(r, 1<<20, nil).Cut(shape, &v)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d %s", n, how)
		}
	}
}

// An object over the limit is passed over, its small fields are still found wherever they stand.
func TestCutTooLarge(t *testing.T) {
	filler := strings.Repeat("y", 300<<10)
	for name, in := range map[string]string{
		"fields first": `{"type":"A","object":{"kind":"K","metadata":{"name":"n"},"z":"` + filler + `"}}`,
		"fields last":  `{"object":{"z":"` + filler + `","metadata":{"a":"` + filler + `","name":"n"},"kind":"K"},"type":"A"}`,
	} {
		for how, r := range readers(in + "\n" + `{"type":"B"}`) {
			t.Run(name+"/"+how, func(t *testing.T) {
				s := jsonstream.New(r, 10<<10, nil)
				var v jsonstream.Value
				require.NoError(t, s.Cut(shape, &v))
				require.True(t, v.TooLarge)
				require.Nil(t, v.Bytes)
				require.EqualValues(t, len(in), v.Size)
				got := []string{string(v.Field(slotType)), string(v.Field(slotKind)), string(v.Field(slotName)), string(v.Field(slotObject))}
				require.Empty(t, cmp.Diff([]string{`"A"`, `"K"`, `"n"`, ""}, got))
				require.NoError(t, s.Cut(shape, &v))
				require.Equal(t, `{"type":"B"}`, string(v.Bytes))
			})
		}
	}
	t.Run("control characters", func(t *testing.T) {
		for in, odd := range map[string]bool{
			`{"na` + "\x00" + `me":1,"z":"` + filler + `"}`: true,
			`{"z":"` + filler + "\x1f" + `"}`:               true,
			`{"z":["` + "\t" + filler + `"]}`:               true,
			`{"z":"` + filler + "\x7f\u2028" + `"}`:         false,
			"{\t" + `"z":"` + filler + `"}`:                 false,
		} {
			for how, r := range readers(in + `{"z":1}`) {
				s := jsonstream.New(r, 1<<10, nil)
				var v jsonstream.Value
				require.NoError(t, s.Cut(shape, &v))
				require.True(t, v.TooLarge)
				require.Equal(t, odd, v.Odd, "%.40q %s", in, how)
				require.NoError(t, s.Cut(shape, &v))
				require.False(t, v.Odd)
			}
		}
	})
	t.Run("long fields are lost", func(t *testing.T) {
		in := `{"type":"` + filler + `","object":{"kind":"` + filler + `"},"type":null,"` + filler + `":1}`
		s := jsonstream.New(iotest.HalfReader(strings.NewReader(in)), 1<<10, nil)
		var v jsonstream.Value
		require.NoError(t, s.Cut(shape, &v))
		require.True(t, v.TooLarge)
		require.Nil(t, v.Field(slotType))
		require.Nil(t, v.Field(slotKind))
	})
	t.Run("exactly the limit", func(t *testing.T) {
		var v jsonstream.Value
		require.NoError(t, jsonstream.New(strings.NewReader(`{"type":"A"}`), 12, nil).Cut(shape, &v))
		require.False(t, v.TooLarge)
		require.NoError(t, jsonstream.New(strings.NewReader(`{"type":"A"}`), 11, nil).Cut(shape, &v))
		require.True(t, v.TooLarge)
		require.Equal(t, `"A"`, string(v.Field(slotType)))
	})
}

// A value far over the limit costs no more memory than one at the limit.
func TestTooLargeCostsNoMemory(t *testing.T) {
	const size = 64 << 20
	in := io.MultiReader(strings.NewReader(`{"x":"`), io.LimitReader(zeros{}, size), strings.NewReader(`"}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var v jsonstream.Value
	require.NoError(t, jsonstream.New(in, 1<<20, nil).Cut(shape, &v))
	require.True(t, v.TooLarge)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestObjectAndArray(t *testing.T) {
	for how, r := range readers(` {"a" : [ 1 , {"b":[2]} ], "c": "d", "e":[], "f":{}} `) {
		t.Run(how, func(t *testing.T) {
			s := jsonstream.New(r, 100, nil)
			var got []string
			var v jsonstream.Value
			err := s.Object(func(key []byte) error {
				name := string(key)
				switch name {
				case "a", "e":
					return s.Array(func() error {
						if err := s.Cut(nil, &v); err != nil {
							return err
						}
						got = append(got, name+"="+string(v.Bytes))
						return nil
					})
				case "f":
					return s.Object(func([]byte) error { return errors.New("no member") })
				}
				got = append(got, name)
				return s.Skip()
			})
			require.NoError(t, err)
			require.NoError(t, s.End())
			require.Equal(t, []string{"a=1", `a={"b":[2]}`, "c"}, got)
		})
	}
	skip := func(s *jsonstream.Scanner) func([]byte) error { return func([]byte) error { return s.Skip() } }
	for _, in := range []string{`5`, `[]`, `{"a":1]`, `{"a":1,,}`, `{1:1}`} {
		s := jsonstream.New(strings.NewReader(in), 100, nil)
		var syntax *jsonstream.SyntaxError
		require.ErrorAs(t, s.Object(skip(s)), &syntax, in)
	}
	for _, in := range []string{`5 `, `{}`, `[1}`, `[1,]`, `[,1]`} {
		s := jsonstream.New(strings.NewReader(in), 100, nil)
		var syntax *jsonstream.SyntaxError
		require.ErrorAs(t, s.Array(s.Skip), &syntax, in)
	}
	for _, in := range []string{``, `{`, `{"a`, `{"a"`, `{"a":`, `{"a":[`, `{"a":1`} {
		s := jsonstream.New(strings.NewReader(in), 100, nil)
		require.ErrorIs(t, s.Object(skip(s)), io.ErrUnexpectedEOF, in)
	}
	for _, in := range []string{``, `[`, `[1`, `[1,`} {
		s := jsonstream.New(strings.NewReader(in), 100, nil)
		require.ErrorIs(t, s.Array(s.Skip), io.ErrUnexpectedEOF, in)
	}
	s := jsonstream.New(strings.NewReader(`1 2`), 100, nil)
	require.NoError(t, s.Skip())
	require.ErrorContains(t, s.End(), "more after the end")
}

var errRead = errors.New("read")

func TestErrorsOfTheStreamAndOfBefore(t *testing.T) {
	var v jsonstream.Value
	s := jsonstream.New(iotest.ErrReader(errRead), 100, nil)
	require.ErrorIs(t, s.Cut(nil, &v), errRead)
	require.ErrorIs(t, s.End(), errRead)
	s = jsonstream.New(stuck{}, 100, nil)
	_, err := s.Peek()
	require.ErrorIs(t, err, io.ErrNoProgress)

	// before is called once for each read, never between values that are there already.
	calls := 0
	s = jsonstream.New(strings.NewReader(`1 2 3 `), 100, func() error {
		if calls++; calls > 1 {
			return errRead
		}
		return nil
	})
	for range 3 {
		require.NoError(t, s.Cut(nil, &v))
		require.Equal(t, 1, calls)
	}
	require.ErrorIs(t, s.Cut(nil, &v), errRead)
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`""`: "", `"a/b"`: "a/b", `"a\u002fb"`: "a/b", `"\ud83d\ude00"`: "😀", "\"\xff\"": "\ufffd", `"\ud800"`: "\ufffd",
	} {
		got, ok := jsonstream.Text([]byte(in))
		require.True(t, ok, in)
		require.Equal(t, want, got)
	}
	for _, in := range []string{``, `"`, `5`, `null`, `"\x"`, "\"\x01\""} {
		_, ok := jsonstream.Text([]byte(in))
		require.False(t, ok, in)
	}
}

func TestShapePanics(t *testing.T) {
	require.Panics(t, func() { jsonstream.NewShape(jsonstream.Member{Slot: jsonstream.Slots}) })
}

// FuzzCut: of valid JSON the cutter finds the ends and the fields that encoding/json finds, in
// whatever pieces it comes; of anything else it finds an end or an error.
func FuzzCut(f *testing.F) {
	f.Add([]byte(`{"type":"A","object":{"kind":"K","metadata":{"name":"n"}}}`), uint8(3), uint16(100))
	f.Add([]byte(`{"object":{"a":"}]\"","metadata":{"name":"]}{\\"}},"x":[[],{"type":"no"}],"t\u0079pe":"A"}`), uint8(1), uint16(9))
	f.Fuzz(func(t *testing.T, data []byte, piece uint8, limit uint16) {
		s := jsonstream.New(&pieces{data: data, n: int(piece)%61 + 1}, int64(limit)+1, nil)
		var v jsonstream.Value
		err := s.Cut(shape, &v)
		if err == nil {
			err = s.End()
		}
		if trimmed := bytes.TrimLeft(data, " \t\r\n"); !json.Valid(data) || len(trimmed) > 0 && trimmed[0] != '{' {
			return
		}
		require.NoError(t, err)
		want := bytes.Trim(data, " \t\r\n")
		require.EqualValues(t, len(want), v.Size)
		require.Equal(t, len(want) > int(limit)+1, v.TooLarge)
		if v.TooLarge {
			require.Nil(t, v.Bytes)
		} else {
			require.Equal(t, want, v.Bytes)
		}
		for slot, path := range map[int][]string{slotType: {"type"}, slotKind: {"object", "kind"}, slotName: {"object", "metadata", "name"}} {
			from := want
			if path[0] == "object" {
				from, path = []byte(oracle(t, want, path[:1])), path[1:]
			}
			if v.TooLarge && len(oracle(t, from, path)) > 1000 {
				continue
			}
			require.Equal(t, oracle(t, from, path), string(v.Field(slot)), "%v", path)
		}
	})
}

// oracle finds the last value that is not null on the path, through all duplicates.
func oracle(t *testing.T, object []byte, path []string) (found string) {
	d := json.NewDecoder(bytes.NewReader(object))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return ""
	}
	for d.More() {
		key, err := d.Token()
		require.NoError(t, err)
		var raw json.RawMessage
		require.NoError(t, d.Decode(&raw))
		value := string(raw)
		if key != path[0] {
			continue
		}
		if len(path) > 1 {
			value = oracle(t, raw, path[1:])
			if value == "" {
				continue
			}
		}
		if value != "null" {
			found = value
		}
	}
	return found
}

type pieces struct {
	data []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.data[:min(p.n, len(p.data))])
	p.data = p.data[n:]
	return n, nil
}

func BenchmarkCut(b *testing.B) {
	object := []byte(`{"type":"A","object":{"kind":"K","metadata":{"name":"n"},"spec":` +
		strings.Repeat(`{"a":"some text of a usual length","b":[1,2,3],"c":`, 50) + "1" + strings.Repeat("}", 50) + "}}\n")
	body := bytes.Repeat(object, 1000)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		s := jsonstream.New(bytes.NewReader(body), 1<<20, nil)
		var v jsonstream.Value
		for range 1000 {
			if err := s.Cut(shape, &v); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func ExampleScanner() {
	s := jsonstream.New(strings.NewReader(`{"type":"A"} {"type":"B"}`), 1<<20, nil)
	shape := jsonstream.NewShape(jsonstream.Member{Name: "type", Slot: 1})
	var v jsonstream.Value
	for s.Cut(shape, &v) == nil {
		fmt.Println(string(v.Bytes), string(v.Field(1)))
	}
	// Output:
	// {"type":"A"} "A"
	// {"type":"B"} "B"
}
