package json_test

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/internal/json"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// documents are single values, good and bad ones, that are tried with every target.
var documents = []string{
	// Literals and white space.
	`null`, `true`, `false`, ` true `, "\t\r\n1\n", `nul`, `nullx`, `truE`, `fals`, `falsey`, `t`, `n`, ``, ` `, "\x00", "\v1", `1 2`, `{} {}`, `[]]`, "\ufeff1",
	// Numbers.
	`0`, `-0`, `-`, `+1`, `01`, `-01`, `1.`, `.5`, `1.5`, `-1.25e+2`, `1e5`, `1E-5`, `1e`, `1e+`, `1ex`, `127`, `128`, `-128`, `-129`, `255`, `256`, `-1`,
	`65536`, `2147483648`, `9007199254740993`, `999999999999999999`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775808`,
	`-9223372036854775809`, `18446744073709551615`, `18446744073709551616`, `123456789012345678901234567890`, `1e308`, `1e309`, `-1e400`, `1e-400`,
	`3.4e38`, `3.5e38`, `16777217`, `16777219`, `0.1`, `1.0`, `1e2`, `0x10`, `1_0`, `Infinity`, `NaN`, strings.Repeat("1", 70), `0.` + strings.Repeat("1", 70),
	// Strings.
	`""`, `"a"`, `"abcdefgh"`, `"abcdefghi"`, `"` + strings.Repeat("x", 63) + `"`, `"` + strings.Repeat("x", 65) + `"`, `"`, `"a`, `"\`, `"\"`, `"\n"`, "\"\n\"", "\"\x1f\"", "\"\x7f\"",
	`"\b\f\n\r\t\"\\\/"`, `"\'"`, `"\a"`, `"\u0041"`, `"\u00"`, `"\u004"`, `"\u00g1"`, `"\u00e9"`, `"\U0041"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`,
	`"\ud83d\n"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\ud83d\u"`, `"\uFFFD"`, `"\u0000"`, `"é"`, `"日本語"`, `"😀"`, "\"\xff\"", "\"a\xc3\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"",
	"\"abcdefgh\xffijklmnop\"", "\"\xc0\x80\"", `"bad"`, `"AQID"`, `"AQI="`, `"AQI"`, "\"AQ\\nID\"", `"*"`, `"12"`, `"-1.5"`, `"1."`, `"1 "`, `"null"`, `"true"`, `"\"x\""`,
	`"2026-11-30T07:41:11Z"`, `"1.2.3.4"`, `'a'`,
	// Arrays.
	`[]`, `[ ]`, `[1]`, `[1,2]`, `[1,2,3]`, `[1,]`, `[,1]`, `[1 2]`, `[1`, `[`, `[1}`, `]`, `[[1],[2,3],[]]`, `["a","b"]`, `[null,null]`, `[1,"a",true,null,{},[]]`, `[-1]`, `[256]`,
	`[{"Same":"a"},{"Same":"b","deep":2}]`, `[` + strings.Repeat("1,", 300) + `1]`, `[` + strings.Repeat(`{"Same":"x"},`, 100) + `null]`,
	// Objects.
	`{}`, `{ }`, `{"a":1}`, `{"a":"b"}`, `{"a":null}`, `{"a":[]}`, `{"a":{"Same":"x"}}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`, `{1:1}`, `{"a":1`, `{"a":1]`, `{"a"`, `{"`, `{`, `}`,
	`{"a":1,"a":2}`, `{"":1}`, `{"\u0061":1,"a":"x"}`, "{\"\xff\":1,\"\xfe\":2}", `{"1":1,"-5":2}`, `{"1":"a","x":"b"}`, `{"300":"a"}`, `{"bad":1}`,
	`{"a":"1","b":2,"c":"3"}`, `{ "a" : 1 , "b" : [ 1 , 2 ] }`, `{"a":{"b":{"c":{}}},"d":[{"e":[]}]}`, `{"x":tru}`, `{"x":"\x"}`, `{"x":[1,{"y":01}]}`, `{"x":[}`, `{"x":{]}`, `{"x":{"y" 1}}`, `{"x":{1}}`, `{"x":[1 1]}`,
}

// members are what an odd may hold.
var members = []string{
	// Names: case, embedding, dominance.
	`"Same":"a"`, `"same":"a"`, `"SAME":"a"`, `"lower":"a"`, `"Lower":"a"`, `"Both":1`, `"First":"a"`, `"first":"a"`, `"FIRST":"a"`, `"deep":3`, `"Seen":"a"`, `"tagged":{"Inside":4}`, `"tagged":null`,
	`"Inside":4`, `"Skipped":"a"`, `"-":"a"`, `"BadTag":"a"`, `"private":"a"`, `"Second":"a"`, `"Base":{"deep":1}`, `"Right":{"Both":1}`, `"\u0042ool":true`, `"BOOL":true`, `"\u212aelvin":"a"`, `"KELVIN":"a"`, `"Straße":"a"`, `"ſTRAßE":"a"`, `"ſtraße":"a"`,
	// Scalars.
	`"Bool":true`, `"Bool":1`, `"Bool":null`, `"I8":127`, `"I8":128`, `"I8":1.0`, `"I8":"1"`, `"I16":-32768`, `"I16":40000`, `"I32":1e3`, `"I64":-9223372036854775808`, `"I64":null`, `"Int":[]`, `"Int":{}`, `"Int":true`, `"U8":255`, `"U8":-1`, `"U8":-0`,
	`"U16":65535`, `"U32":4294967296`, `"U64":18446744073709551615`, `"U64":-1`, `"F32":1e39`, `"F32":0.1`, `"F32":16777217`, `"F32":288230393331580929`, `"F32":-288230393331580929`, `"F64":-0`, `"F64":1e-7`, `"F64":9007199254740993`, `"Text":null`, `"Text":5`, `"Rank":7`, `"Rank":700`,
	`"Number":1.50`, `"Number":"2e3"`, `"Number":"x"`, `"Number":""`, `"Number":true`, `"Number":null`, `"Raw":{"a" : [1]}`, `"Raw":null`, `"RawPtr":null`, `"RawPtr":"x"`,
	// Slices, arrays and pointers.
	`"Bytes":"AQID"`, `"Bytes":[1,2]`, `"Bytes":null`, `"Bytes":"%"`, `"Bytes":[256]`, `"Named":[1,2]`, `"Named":"AQID"`, `"Ranks":"AQ=="`, `"Ints":[1,2,3]`, `"Ints":[]`, `"Ints":null`, `"Ints":[1,"x",3]`, `"Ints":"x"`, `"Ints":[4],"Ints":[null,null,null]`, `"Ints":[1,2,3],"Ints":[5],"Ints":[6,null,null,null]`,
	`"Ints":[1,2,3],"Ints":[5]`, `"Strings":["a",null,"b"]`, `"Matrix":[[1],[],null,[2,3]]`, `"Pair":[1]`, `"Pair":[1,2,3]`, `"Pair":[1,2],"Pair":[7]`, `"Pair":[]`, `"Pair":null`, `"Pair":{}`, `"Pair":[1,2,x]`, `"Triples":[{"deep":1},{"deep":2}]`,
	`"Bases":[{"Same":"a","deep":1},{"deep":2}],"Bases":[{"lower":"b"}],"bases":[{},{}]`, `"BasePtrs":[{"deep":1},null]`, `"BasePtrs":[{"deep":1},null],"BasePtrs":[{"lower":"x"},{}]`, `"Ptr":5`, `"Ptr":5,"Ptr":null`, `"Ptr":null`, `"PtrPtr":"a"`, `"PtrPtr":null`, `"PtrPtr":1`,
	`"Self":{"Int":1,"Self":{"Int":2}}`, `"Self":{"Int":1},"Self":{"I8":2}`, `"Selves":[{"Selves":[{"Int":1},{"Int":2}]},{"Ints":[1]}]`,
	// Interfaces and maps.
	`"Any":{"a":[1,"x",null,true]}`, `"Any":1e999`, `"Any":[1e999]`, `"Any":"5","Any":5`, `"Any":5,"Any":null`, `"Anys":[1,"1",1,"1",-0]`, `"Object":{"a":1},"Object":{"b":2}`, `"Object":{"a":{"b":1}},"Object":{"a":{"c":2}}`, `"Object":null`, `"Object":[]`,
	`"Labels":{"a":"b","c":null}`, `"Labels":{"a":1}`, `"Labels":{}`, `"Labels":{"a":"b"},"Labels":{"a":"c","d":"e"}`, `"NamedMap":{"a":"b"}`, `"NamedMap":{}`, `"Nested":{"a":{"b":{"deep":1}},"c":{},"d":null}`, `"Nested":{"a":{"b":{"deep":1}},"a":{"c":{}}}`,
	`"PtrMap":{"a":{"deep":1},"b":null,"a":{"lower":"x"}}`, `"IntMap":{"1":"a","-128":"b"}`, `"IntMap":{"128":"a"}`, `"IntMap":{"x":"a"}`, `"UintMap":{"1":"a"}`, `"UintMap":{"-1":"a"}`, `"TextMap":{"a":"b","\u00e9":"c"}`, `"TextMap":{"bad":"b"}`, `"BadMap":{}`, `"BadMap":null`, `"BadMap":1`,
	// Types that read themselves.
	`"Shout":"abc"`, `"Shout":"bad"`, `"Shout":5`, `"Shout":null`, `"Shout":{}`, `"ShoutPtr":"a"`, `"ShoutPtr":null`, `"ShoutPtr":[]`, `"Shouts":["a","b"]`, `"Shouts":["\u00e9\n"]`, `"List":"a,b"`, `"List":"a","List":null`, `"List":[]`, `"Count":{"a":[]}`, `"Count":null`, `"Count":[]`,
	`"CountPtr": 17 `, `"CountPtr":null`, `"Counts":{"a":1,"b":null}`, `"Counts":{"a":[]}`, `"When":"2026-11-30T07:41:11Z"`, `"When":"x"`, `"When":null`, `"Addr":"1.2.3.4"`, `"Addr":""`, `"Addr":1`, `"Big":123456789012345678901234567890`, `"Big":null`, `"Stringer":null`, `"Stringer":1`, `"Stringer":{}`,
	`"Func":null`, `"Func":1`, `"Chan":null`, `"Chan":"x"`, `"Complex":null`, `"Complex":1`, `"Unnamed":{}`, `"Unnamed":"2026-11-30T07:41:11Z"`, `"Unnamed":null`, `"UnnamedP":"2026-11-30T07:41:11Z"`, `"UnnamedP":{}`,
	// Values in strings.
	`"QBool":"true"`, `"QBool":"false"`, `"QBool":true`, `"QBool":"1"`, `"QBool":"truex"`, `"QBool":null`, `"QBool":"null"`, `"QBool":"nul"`, `"QBool":""`, `"QInt":"5"`, `"QInt":"007"`, `"QInt":"+5"`, `"QInt":"-5"`, `"QInt":" 5"`, `"QInt":"5 "`, `"QInt":"1.5"`, `"QInt":5`, `"QInt":[5]`, `"QInt":"\u0035"`, `"QInt":"true"`, `"QInt":"\"5\""`,
	`"QIntPtr":"5"`, `"QIntPtr":"500"`, `"QIntPtr":"null"`, `"QIntPtr":null`, `"QIntPtr":"nil"`, `"QIntPtr":"5","QIntPtr":null`, `"QIntPtr":"5","QIntPtr":"null"`, `"QUint":"255"`, `"QUint":"256"`, `"QUint":"-1"`, `"QFloat":"1.5"`, `"QFloat":"-inf"`, `"QFloat":"0x1p-2"`, `"QFloat":"1e99"`, `"qtext":"\"a\""`, `"qtext":"a"`, `"qtext":"\"\\'\""`, `"qtext":"\"a\"b"`, `"qtext":"\"a"`, `"qtext":"\"\\x\""`, `"qtext":"\"\\u00e9\""`, `"qtext":null`, `"qtext":"null"`, `"qtext":"\"a\nb\""`,
	`"QNumber":"5"`, `"QNumber":"5x"`, `"QNumber":"\"5\""`, `"QNumber":"\"x\""`, `"QNumber":"x"`, `"QShout":"\"a\""`, `"QShout":"a"`, `"QShout":"null"`, `"QShout":"\"bad\""`, `"QShout":5`, `"QCount":"abc"`, `"QCount":"null"`, `"QCount":null`, `"QCount":"[1]"`, `"QCount":""`, `"QSlice":[1]`, `"QSlice":"x"`,
	// Pods.
	`"metadata":{"name":"a","labels":{"a":"b"},"creationTimestamp":null}`, `"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"100m"}}}]}`, `"kind":"Pod"`, `"Next":{"Ring":{"Next":null}}`, `"Rings":[{"ByKey":{"a":{"Ring":{}}}}]`,
}

func TestUnmarshalDocuments(t *testing.T) {
	for _, document := range documents {
		for _, fresh := range targets {
			same(t, []byte(document), fresh)
		}
	}
}

func TestUnmarshalMembers(t *testing.T) {
	for _, member := range members {
		for _, fresh := range targets {
			same(t, []byte(`{`+member+`}`), fresh)
			same(t, []byte(`[{"unknown":[{}], `+member+` , "unknown":{"a":"b"}}]`), fresh)
		}
	}
}

// Every prefix and every text with one byte changed fails or succeeds as in encoding/json.
func TestUnmarshalBrokenDocuments(t *testing.T) {
	document := []byte(`{"Text":"a\u00e9\n","Ints":[1,-2.5e3],"Self":{"Bool":true,"Any":{"a":[null]}},"unknown":{"x":["\ud83d\ude00",false,0]}}`)
	for i := range document {
		for _, fresh := range targets[:3] {
			same(t, document[:i], fresh)
			for _, c := range []byte("\"\\{}[],:019eE+-. tfn\x00\x1f\xff") {
				broken := bytes.Clone(document)
				broken[i] = c
				same(t, broken, fresh)
			}
		}
	}
}

func TestUnmarshalDepth(t *testing.T) {
	for _, depth := range []int{9999, 10000, 10001} {
		for _, form := range []string{"[", `{"a":`, `{"Next":`, `{"Rings":[`} {
			n := depth / strings.Count(form+"{", "{")
			opened := strings.Repeat(form, depth)
			if strings.HasSuffix(form, "[") && form != "[" {
				opened = strings.Repeat(form, n)
			}
			var closed []byte
			for i := len(opened) - 1; i >= 0; i-- {
				switch opened[i] {
				case '{':
					closed = append(closed, '}')
				case '[':
					closed = append(closed, ']')
				}
			}
			document := []byte(opened + "null" + string(closed))
			for _, fresh := range targets[:5] {
				want := stdjson.Unmarshal(document, fresh())
				got := json.Unmarshal(document, fresh())
				require.Equal(t, want == nil, got == nil, "%s x %d: %v, %v", form, depth, want, got)
			}
		}
	}
}

func TestUnmarshalFixtures(t *testing.T) {
	for name, fresh := range map[string]func() any{
		"get-pod.json":         func() any { return new(pod) },
		"list-pods.json":       func() any { return new(podList) },
		"list-configmaps.json": func() any { return new(configMapList) },
	} {
		data := fixture(t, name)
		same(t, data, fresh)
		same(t, data, func() any { return new(map[string]any) })
		same(t, data, func() any { return new(any) })
	}
	var p pod
	require.NoError(t, json.Unmarshal(fixture(t, "get-pod.json"), &p))
	require.Equal(t, "web-6d4cf56db6-4xk2p", p.Name)
	require.Equal(t, "nginx:1.29", p.Spec.Containers[0].Image)
	require.Len(t, p.Status.Conditions, 5)

	type frame struct {
		Type   string `json:"type"`
		Object pod    `json:"object"`
	}
	frames := 0
	for line := range bytes.Lines(fixture(t, "watch-pods-basic.jsonl")) {
		same(t, line, func() any { return new(frame) })
		same(t, line, func() any { return new(any) })
		frames++
	}
	require.Positive(t, frames)
}

// What is held already is kept, replaced or merged into as encoding/json does.
func TestUnmarshalIntoHeldValues(t *testing.T) {
	number := 3
	fresh := []func() any{
		func() any { n := number; var v any = &n; return &v },
		func() any { n := number; p := &n; var v any = &p; return &v },
		func() any { return &odd{Any: &Base{Same: "kept"}, Ptr: new(int), Right: &Right{Both: 1}} },
		func() any { return &odd{Ints: []int{1, 2, 3, 4}[:1], Bases: []Base{{Same: "a"}, {Same: "b"}}} },
		func() any {
			return &odd{Labels: map[string]string{"a": "kept"}, Object: map[string]any{"a": 1, "z": 2}}
		},
		func() any {
			return &odd{Ints: []int{1, 2, 3}[:0], Bases: []Base{{Same: "a", Deep: 1}, {Same: "b"}}[:0]}
		},
		func() any { return &map[string]any{"z": 1} },
		func() any { var s fmt.Stringer = &timestamp{}; return &s },
		func() any { return &odd{Stringer: &timestamp{}} },
		func() any { v := new(any); *v = 7; return v },
	}
	for _, f := range fresh {
		for _, document := range documents {
			same(t, []byte(document), f)
		}
		for _, member := range members {
			same(t, []byte(`{`+member+`}`), f)
		}
	}
}

func TestUnmarshalInvalidTargets(t *testing.T) {
	for _, target := range []any{nil, 5, odd{}, (*int)(nil), map[string]any{}} {
		var invalid *stdjson.InvalidUnmarshalError
		require.ErrorAs(t, json.Unmarshal([]byte(`{}`), target), &invalid)
	}
}

type secret struct{ A int }

func TestUnmarshalEmbeddedPointerToUnexported(t *testing.T) {
	type promoted struct {
		*secret
		B int
	}
	same(t, []byte(`{"A":1,"B":2}`), func() any { return new(promoted) })
	same(t, []byte(`{"A":1,"B":2}`), func() any { return &promoted{secret: &secret{}} })
	same(t, []byte(`{"B":2}`), func() any { return new(promoted) })
	type tagged struct {
		*secret `json:"s"`
		B       int
	}
	same(t, []byte(`{"s":{"A":1},"B":2}`), func() any { return &tagged{secret: &secret{}} })
	same(t, []byte(`{"s":null,"B":2}`), func() any { return &tagged{secret: &secret{}} })
	// encoding/json panics here.
	var v tagged
	require.ErrorContains(t, json.Unmarshal([]byte(`{"s":{"A":1},"B":2}`), &v), "unexported")
	require.Equal(t, tagged{B: 2}, v)
}

func TestUnmarshalErrors(t *testing.T) {
	var p pod
	var wrong *stdjson.UnmarshalTypeError
	err := json.Unmarshal([]byte(`{"spec":{"containers":[{"name":"a"},{"name":5}],"nodeName":"n"},"kind":7}`), &p)
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "spec.containers.name", wrong.Field)
	require.Equal(t, "number", wrong.Value)
	require.Equal(t, reflect.TypeFor[string](), wrong.Type)
	require.Equal(t, "n", p.Spec.NodeName, "the values behind the wrong one are read")

	var syntax *json.SyntaxError
	err = json.Unmarshal([]byte(`{"kind":"Pod",}`), &p)
	require.ErrorAs(t, err, &syntax)
	require.EqualValues(t, 14, syntax.Offset)
	require.NotErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualError(t, err, "json: no key where one must be at offset 14")

	for _, cut := range []string{``, `{`, `{"kind"`, `{"kind":"Po`, `{"kind":"Pod"`, `{"a":[1,`, `{"a":tr`, `{"a":"\u00`, `{"a":1.`} {
		require.ErrorIs(t, json.Unmarshal([]byte(cut), &p), io.ErrUnexpectedEOF, cut)
	}
	boom := errors.New("count: an array")
	require.EqualError(t, json.Unmarshal([]byte(`[[]]`), new([]count)), boom.Error())
}

func TestSlicesAreExact(t *testing.T) {
	for n := range 200 {
		document := []byte("[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]")
		var ints []int
		require.NoError(t, json.Unmarshal(document, &ints))
		require.Len(t, ints, n)
		require.NotNil(t, ints)
		require.Equal(t, n, cap(ints))
	}
}

// The string of one document is the string of the next, and not a part of either.
func TestShortStringsAreShared(t *testing.T) {
	document := []byte(`["one-of-many"]`)
	var first, second []string
	allocations := 100.0
	for range 20 {
		// Of several runs the best counts: what is kept between calls may be lost at any time.
		allocations = min(allocations, testing.AllocsPerRun(1, func() {
			second = nil
			require.NoError(t, json.Unmarshal(document, &second))
		}))
	}
	require.LessOrEqual(t, allocations, 3.0)
	require.NoError(t, json.Unmarshal(document, &first))
	copy(document, `["XXXXXXXXXXX"]`)
	require.Equal(t, []string{"one-of-many"}, first)
	require.NoError(t, json.Unmarshal(document, &second))
	require.Equal(t, []string{"XXXXXXXXXXX"}, second)
	require.Equal(t, []string{"one-of-many"}, first)
}

// The tables hold more strings and numbers than they have places for.
func TestManyStrings(t *testing.T) {
	var document strings.Builder
	document.WriteString(`[`)
	for i := range 20000 {
		fmt.Fprintf(&document, `"%d",%d,`, i, i)
	}
	document.WriteString(`{}]`)
	same(t, []byte(document.String()), targets[0])
	same(t, []byte(document.String()), targets[7])
}

// A state that a failed or panicked call left behind is as good as new.
func TestUnmarshalAfterFailure(t *testing.T) {
	require.Error(t, json.Unmarshal([]byte(`{"Any":{"a":[1,2,{"b":[3,`), new(odd)))
	require.Error(t, json.Unmarshal([]byte(`{"Selves":[{"Int":7},{"Selves":[{"Int":8},x`), new(odd)))
	require.Error(t, json.Unmarshal([]byte(`{"PtrMap":{"a":{"deep":5},"b":{"deep":6,`), new(odd)))
	require.Panics(t, func() { _ = json.Unmarshal([]byte(`[{"deep":1},{"Count":1}]`), new([]panics)) })
	for _, fresh := range targets {
		same(t, []byte(`{"Any":{"a":[1,2]},"Selves":[{},{"Selves":[{},{}]},{}],"PtrMap":{"a":{},"b":{}}}`), fresh)
		same(t, []byte(`[{},{},{}]`), fresh)
	}
}

type panics struct {
	Deep  int `json:"deep"`
	Count panicking
}

type panicking int

func (*panicking) UnmarshalJSON([]byte) error { panic("by order") }

func TestUnmarshalConcurrently(t *testing.T) {
	data := fixture(t, "list-pods.json")
	var want podList
	require.NoError(t, stdjson.Unmarshal(data, &want))
	var untyped any
	require.NoError(t, stdjson.Unmarshal(data, &untyped))
	type fresh struct {
		A []map[string][]string
		B map[phase]*fresh
	}
	var group worker.Group
	differences := make([]string, 8)
	for i := range differences {
		group.Go(func() {
			for range 5 {
				var got podList
				var gotUntyped any
				var f fresh
				err := errors.Join(json.Unmarshal(data, &got), json.Unmarshal(data, &gotUntyped), json.Unmarshal([]byte(`{"A":[{"x":["y"]}],"B":{"z":{}}}`), &f))
				if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotUntyped, untyped) || f.A[0]["x"][0] != "y" {
					differences[i] = fmt.Sprint("differs: ", err)
				}
			}
		})
	}
	group.Wait()
	require.Empty(t, cmp.Diff(make([]string, 8), differences))
}
