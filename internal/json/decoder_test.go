package json_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/internal/json"
)

func decoder(tb testing.TB, o json.Options) *json.Decoder {
	tb.Helper()
	d, err := json.New(o)
	require.NoError(tb, err)
	return d
}

func TestNewJoinsFaults(t *testing.T) {
	_, err := json.New(json.Options{Skip: []string{"a..b", "ok", "", "x."}})
	require.EqualError(t, err, "json: skip path \"a..b\" has an empty key\n"+
		"json: skip path \"\" has an empty key\njson: skip path \"x.\" has an empty key")
}

func TestSkip(t *testing.T) {
	d := decoder(t, json.Options{Skip: []string{
		"metadata.managedFields", "metadata.labels.secret", "spec.containers.env", "spec.containers.resources.limits.cpu", "status",
	}})
	document := []byte(`{"kind":"Pod","metadata":{"name":"a","managedFields":[{"manager":"m"}],"labels":{"secret":"s","status":"kept"},"finalizers":["f"]},
		"spec":{"containers":[{"name":"a","env":[{"name":"E"}],"resources":{"limits":{"cpu":"1","memory":"2"}}},{"env":[],"name":"b"}],"status":1},
		"status":{"phase":"x"},"apiVersion":"v1"}`)
	var got pod
	require.NoError(t, d.Unmarshal(document, &got))
	require.Nil(t, got.ManagedFields)
	require.Equal(t, map[string]string{"status": "kept"}, got.Labels)
	require.Equal(t, []string{"f"}, got.Finalizers)
	require.Equal(t, "v1", got.APIVersion)
	require.Empty(t, got.Status)
	require.Len(t, got.Spec.Containers, 2)
	require.Nil(t, got.Spec.Containers[0].Env)
	require.Nil(t, got.Spec.Containers[1].Env)
	require.Equal(t, "b", got.Spec.Containers[1].Name)
	require.Len(t, got.Spec.Containers[0].Resources.Limits, 1)

	var untyped map[string]any
	require.NoError(t, d.Unmarshal(document, &untyped))
	want := map[string]any{
		"kind": "Pod", "apiVersion": "v1",
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"status": "kept"}, "finalizers": []any{"f"}},
		"spec": map[string]any{"status": 1.0, "containers": []any{
			map[string]any{"name": "a", "resources": map[string]any{"limits": map[string]any{"memory": "2"}}},
			map[string]any{"name": "b"},
		}},
	}
	require.Empty(t, cmp.Diff(want, untyped))
}

// What is held stays, and what is skipped is still checked for syntax.
func TestSkippedIsCheckedAndKept(t *testing.T) {
	d := decoder(t, json.Options{Skip: []string{"Labels", "Int"}})
	got := odd{Int: 5, Labels: map[string]string{"a": "b"}}
	require.NoError(t, d.Unmarshal([]byte(`{"Int":"no number","Labels":{"a":"c"},"Text":"x"}`), &got))
	require.Equal(t, odd{Int: 5, Labels: map[string]string{"a": "b"}, Text: "x"}, got)
	for _, broken := range []string{`{"Int":01}`, `{"Labels":{"a":}}`, `{"Labels":[{]}`, `{"Int":"` + "\n" + `"}`, `{"Int":`} {
		var syntax *json.SyntaxError
		require.ErrorAs(t, d.Unmarshal([]byte(broken), &got), &syntax, broken)
	}
}

func TestIntegers(t *testing.T) {
	d := decoder(t, json.Options{Integers: true})
	document := []byte(`[0,-5,9223372036854775807,-9223372036854775808,9223372036854775808,1.0,1e2,-0,{"a":[7,7,"7"]}]`)
	var got any
	for range 2 {
		require.NoError(t, d.Unmarshal(document, &got))
		want := []any{
			int64(0), int64(-5), int64(9223372036854775807), int64(-9223372036854775808), 9223372036854775808.0, 1.0, 100.0, int64(0),
			map[string]any{"a": []any{int64(7), int64(7), "7"}},
		}
		require.Empty(t, cmp.Diff(want, got))
	}
	require.Error(t, d.Unmarshal([]byte(`1e999`), &got))
}

// A path begins anew with each element of an array.
func TestSkipWithinArrays(t *testing.T) {
	d := decoder(t, json.Options{Skip: []string{"a.Same", "b.Same"}})
	document := []byte(`[{"a":{"Same":"1"},"b":{}},{"a":{"Same":"2","deep":1},"c":{"Same":"3"}},{"b":{"Same":"4"}}]`)
	var maps []map[string]Base
	require.NoError(t, d.Unmarshal(document, &maps))
	require.Equal(t, []map[string]Base{{"a": {}, "b": {}}, {"a": {Deep: 1}, "c": {Same: "3"}}, {"b": {}}}, maps)
	var structs []struct{ A, B, C Base }
	require.NoError(t, d.Unmarshal([]byte(`[{"a":{"Same":"1"},"c":{"Same":"2"}},{"A":{"Same":"3"},"b":{"Same":"4"}}]`), &structs))
	require.Equal(t, []struct{ A, B, C Base }{{C: Base{Same: "2"}}, {A: Base{Same: "3"}}}, structs)
	var untyped any
	require.NoError(t, d.Unmarshal(document, &untyped))
	require.Equal(t, map[string]any{"deep": 1.0}, untyped.([]any)[1].(map[string]any)["a"])
}
