package rest_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

const widget = ` { "kind" : "Widget", "metadata": {"name":"a b", "namespace":"ns","uid":"u","resourceVersion":"7",
	"labels":{"app":"x","odd key\u0021":"\u00e9"} },
	"spec":{"size":9007199254740993,"parts":[{"name":"p"},{"name":"q"}],"none":null}} `

func unmarshal(t testing.TB, text string) rest.Object {
	var o rest.Object
	require.NoError(t, json.Unmarshal([]byte(text), &o))
	return o
}

func TestObjectField(t *testing.T) {
	o := unmarshal(t, widget)
	size, err := rest.Field[int64](o, "spec", "size")
	require.NoError(t, err)
	require.EqualValues(t, int64(9007199254740993), size)
	parts, err := rest.Field[[]struct{ Name string }](o, "spec", "parts")
	require.NoError(t, err)
	require.Equal(t, []struct{ Name string }{{"p"}, {"q"}}, parts)
	spec, err := rest.Field[map[string]any](o, "spec")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"size": int64(9007199254740993), "parts": []any{map[string]any{"name": "p"}, map[string]any{"name": "q"}}, "none": nil}, spec)
	label, err := rest.Field[string](o, "metadata", "labels", "odd key!")
	require.NoError(t, err)
	require.Equal(t, "é", label)
	require.Equal(t, map[string]string{"app": "x", "odd key!": "é"}, o.GetLabels())
	require.Nil(t, o.GetAnnotations())
	all, err := rest.Field[any](o)
	require.NoError(t, err)
	require.Len(t, all, 3)

	for _, path := range [][]string{{"spec", "none"}, {"spec", "none", "deeper"}, {"spec", "absent"}, {"status", "phase"}, {""}, {"Spec"}} {
		none, err := rest.Field[*int](o, path...)
		require.NoError(t, err, path)
		require.Nil(t, none, path)
	}
	for _, test := range []struct{ path, want string }{
		{"spec.parts.name", `field "spec.parts.name": "spec.parts" is no object`},
		{"kind.x", `"kind" is no object`},
		{"metadata.labels.app", `object "ns/a b": field "metadata.labels.app": `},
	} {
		n, err := rest.Field[int](o, strings.Split(test.path, ".")...)
		require.ErrorIs(t, err, listwatch.ErrDecode)
		require.ErrorContains(t, err, test.want)
		require.Zero(t, n)
	}
}

func TestObjectText(t *testing.T) {
	o := unmarshal(t, widget)
	const want = `{"kind":"Widget","metadata":{"name":"a b","namespace":"ns","uid":"u","resourceVersion":"7",` +
		`"labels":{"app":"x","odd key\u0021":"\u00e9"}},"spec":{"size":9007199254740993,"parts":[{"name":"p"},{"name":"q"}],"none":null}}`
	require.Equal(t, want, o.String())
	text, err := json.Marshal(o)
	require.NoError(t, err)
	require.JSONEq(t, want, string(text))
	clear(must(o.MarshalJSON())) // it is a copy
	require.Equal(t, want, o.String())
	require.Equal(t, []string{"ns", "a b", "u", "7"}, []string{o.GetNamespace(), o.GetName(), o.GetUID(), o.GetResourceVersion()})

	var content map[string]any
	require.NoError(t, o.Decode(&content))
	again := objectOf(t, content)
	require.False(t, o.Equal(again), "another order")
	require.Equal(t, listwatch.KeyOf(o), listwatch.KeyOf(again))
	var typed struct{ Spec struct{ Size int64 } }
	require.NoError(t, again.Decode(&typed))
	require.EqualValues(t, int64(9007199254740993), typed.Spec.Size)
	require.ErrorIs(t, o.Decode(new(int)), listwatch.ErrDecode)
}

func must(text []byte, _ error) []byte { return text }

func TestObjectEquality(t *testing.T) {
	a, b, c := unmarshal(t, widget), unmarshal(t, widget), unmarshal(t, `{}`)
	require.True(t, a != b && a.Equal(b) && reflect.DeepEqual(a, b) && cmp.Equal(a, b))
	require.False(t, a.Equal(c) || reflect.DeepEqual(a, c) || cmp.Equal(a, c) || c.Equal(rest.Object{}))
	held := a
	require.NoError(t, json.Unmarshal([]byte(`{"metadata":{"name":"other"}}`), &a))
	require.Equal(t, "a b", held.GetName(), "a copy stays what it was")
}

func TestObjectFaults(t *testing.T) {
	for _, text := range []string{`5`, `[]`, `"x"`, `{`, ``, `{}x`, `{"a":01}`, `{"a":tru}`, `{"metadata":{"name":5}}`, `{"metadata":{"uid":{}}}`, `{"a":"\x"}`} {
		o := unmarshal(t, widget)
		require.ErrorIs(t, o.UnmarshalJSON([]byte(text)), listwatch.ErrDecode, text)
		require.Equal(t, "a b", o.GetName())
	}
	for _, v := range []any{5, func() {}, []string{"a"}, map[string]any{"metadata": map[string]any{"name": 5}}} {
		_, err := rest.ObjectOf(v)
		require.ErrorIs(t, err, listwatch.ErrDecode)
	}
	var zero rest.Object
	require.NoError(t, json.Unmarshal([]byte("null"), &zero))
	require.Equal(t, "null", string(must(json.Marshal(zero))))
	require.Empty(t, zero.GetName()+zero.GetNamespace()+zero.GetUID()+zero.GetResourceVersion())
	require.NoError(t, zero.Decode(new(int)))
	name, err := rest.Field[string](zero, "metadata", "name")
	require.NoError(t, err)
	require.Empty(t, name)
	require.Nil(t, zero.GetLabels())
	_, err = rest.New[*rest.Object]("http://server/api/v1/pods", rest.Options{})
	require.ErrorContains(t, err, "Object is used by value")
}

// What is skipped is not in the text either, wherever it stands; and it is the same that is skipped
// in a struct.
func TestObjectSkip(t *testing.T) {
	skip := []string{"metadata.managedFields", "spec.parts.name", "spec.last"}
	for name, test := range map[string]struct{ in, want string }{
		"first":   {`"metadata":{"managedFields":[{"a":"]"}],"name":"a","resourceVersion":"1"}`, `"metadata":{"name":"a","resourceVersion":"1"}`},
		"last":    {`"metadata":{"name":"a","resourceVersion":"1","managedFields": [1, {}] } `, `"metadata":{"name":"a","resourceVersion":"1"}`},
		"escaped": {`"metadata":{"name":"a","managed\u0046ields":1,"resourceVersion":"1"}`, `"metadata":{"name":"a","resourceVersion":"1"}`},
		"in arrays": {`"metadata":{"name":"a","resourceVersion":"1"},"spec":{"parts":[ {"name":1,"b":2},{"name":[]}, [{"b":3,"name":0}],4 ],"last":5}`,
			`"metadata":{"name":"a","resourceVersion":"1"},"spec":{"parts":[{"b":2},{},[{"b":3}],4]}`},
		"not there": {`"metadata":{"name":"a","resourceVersion":"1"},"spec":"managedFields","parts":{"name":1}`,
			`"metadata":{"name":"a","resourceVersion":"1"},"spec":"managedFields","parts":{"name":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			text := `{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[{` + test.in + `}]}`
			r, _, err := list(source[rest.Object](newScript(t, body(text)), rest.Options{Skip: skip}))
			require.NoError(t, err)
			require.Len(t, r.objects, 1)
			require.Equal(t, "{"+test.want+"}", r.objects[0].String())
			typed, _, err := list(source[generalPod](newScript(t, body(text)), rest.Options{Skip: skip}))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(generic(t, []byte("{"+test.want+"}")), same(t, map[string]any(typed.objects[0]))))
		})
	}
}

// What is skipped of the head is skipped in what an object says of itself, as in a typed one.
func TestObjectSkipsItsHead(t *testing.T) {
	r, _, err := list(source[rest.Object](newScript(t, body(podList("9", "", pod("a", "1")))), rest.Options{Skip: []string{"metadata.uid"}}))
	require.NoError(t, err)
	require.Len(t, r.objects, 1)
	require.Empty(t, r.objects[0].GetUID())
	require.Equal(t, headOf(r.objects[0]), headOf(unmarshal(t, r.objects[0].String())))
}

// generalPod is an untyped object by a map.
type generalPod map[string]any

func (p generalPod) meta(name string) string {
	metadata, _ := p["metadata"].(map[string]any)
	value, _ := metadata[name].(string)
	return value
}

func (p generalPod) GetNamespace() string       { return p.meta("namespace") }
func (p generalPod) GetName() string            { return p.meta("name") }
func (p generalPod) GetResourceVersion() string { return p.meta("resourceVersion") }

// A label costs no more allocations than its text and the place for it.
func TestObjectFieldAllocations(t *testing.T) {
	o := unmarshal(t, widget)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = rest.Field[string](o, "metadata", "labels", "app") }), 2.0)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = o.GetName(), o.GetResourceVersion() }))
}

func BenchmarkObjectLabel(b *testing.B) {
	o := unmarshal(b, widget)
	for b.Loop() {
		if label, err := rest.Field[string](o, "metadata", "labels", "app"); err != nil || label != "x" {
			b.Fatal(err)
		}
	}
}

// FuzzObject: an object holds what encoding/json finds in its text, or is refused.
func FuzzObject(f *testing.F) {
	f.Add([]byte(widget), "spec", "size")
	f.Add([]byte(`{"a":{"b":[1.5,"\"\\"]},"\u0061":null}`), "a", "b")
	f.Fuzz(func(t *testing.T, data []byte, first, second string) {
		var o rest.Object
		var want map[string]any
		if err := json.Unmarshal(data, &o); err != nil {
			var head listwatch.Head
			require.Error(t, errors.Join(decodeHead(data, &head), json.Unmarshal(data, &want)))
			return
		}
		require.NoError(t, json.Unmarshal(data, &want))
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(o.String()), &got))
		require.Empty(t, cmp.Diff(want, got))
		var head listwatch.Head
		require.NoError(t, decodeHead(data, &head))
		require.Equal(t, head, headOf(o))
		value, err := rest.Field[any](o, first, second)
		outer, found := firstOf(json.RawMessage(o.String()), first)
		inner, nested := firstOf(outer, second)
		switch {
		case !found || string(outer) == "null" || outer[0] == '{' && !nested:
			require.NoError(t, err)
			require.Nil(t, value)
		case outer[0] != '{':
			require.Error(t, err)
		case err == nil: // a number may be out of range
			require.Empty(t, cmp.Diff(generic(t, inner), same(t, value)))
		}
	})
}

// firstOf returns the first member of an object that has that key.
func firstOf(raw json.RawMessage, key string) (json.RawMessage, bool) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil, false
		}
		if name == key {
			return value, true
		}
	}
	return nil, false
}
