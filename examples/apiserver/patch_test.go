package apiserver_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

func (a *api) patch(form, path, body string) answer {
	a.t.Helper()
	return a.do("PATCH", path, body, "Content-Type", form)
}

func (a *api) mustPatch(form, path, body string) object {
	a.t.Helper()
	got := a.patch(form, path, body)
	require.Less(a.t, got.code, 300, got.body)
	return got.object(a.t)
}

func TestPatchTypes(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", pods, `{"metadata":{"name":"p","labels":{"a":"1"}},"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}]}}`)
	images := func(o object) string {
		spec, err := json.Marshal(o.Spec)
		require.NoError(t, err)
		return strings.Join(regexp.MustCompile(`"image":"[^"]*"`).FindAllString(string(spec), -1), " ")
	}
	got := a.mustPatch(strategicPatch, pods+"/p", `{"spec":{"containers":[{"name":"d","image":"new"}]}}`)
	require.Equal(t, `"image":"i" "image":"new"`, images(got), "lists are merged by name")
	less := a.patch(mergePatch, pods+"/p", `{"spec":{"containers":[{"name":"c","image":"only"}]}}`)
	require.Equal(t, 422, less.code, "lists are replaced, and a pod loses no container")
	got = a.mustPatch(mergePatch, pods+"/p", `{"metadata":{"labels":{"a":null,"b":"2"}},"spec":{"containers":[{"name":"c","image":"j"},{"name":"d","image":"j"}]}}`)
	require.Equal(t, `"image":"j" "image":"j"`, images(got))
	require.Equal(t, map[string]string{"b": "2"}, got.Metadata.Labels)
	got = a.mustPatch(jsonPatch, pods+"/p", `[{"op":"add","path":"/metadata/labels/c","value":"3"},{"op":"test","path":"/metadata/labels/b","value":"2"}]`)
	require.Equal(t, map[string]string{"b": "2", "c": "3"}, got.Metadata.Labels)
	require.Equal(t, int64(3), got.Metadata.Generation)
	for _, same := range [][2]string{{jsonPatch, `[]`}, {mergePatch, `{}`}, {strategicPatch, `{"metadata":{"labels":{"b":"2"}}}`}} {
		require.Equal(t, got.Metadata.ResourceVersion, a.mustPatch(same[0], pods+"/p", same[1]).Metadata.ResourceVersion, same)
	}

	a.must("POST", widgets, widget("w", ""))
	require.Equal(t, 4.0, a.mustPatch(mergePatch, widgets+"/w", `{"spec":{"size":4}}`).Spec.(map[string]any)["size"])
	require.Equal(t, int64(2), a.mustPatch(mergePatch, widgets+"/w/status", `{"spec":{"size":9},"status":{"phase":"Ready"}}`).Metadata.Generation)
	require.Equal(t, map[string]any{"phase": "Ready"}, a.must("GET", widgets+"/w", "").Status)
	got = a.mustPatch(strategicPatch, pods+"/p/status", `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	require.Contains(t, got.Status.(map[string]any), "conditions")
}

func TestPatchRefused(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", pods, pod("p", ""))
	a.must("POST", widgets, widget("w", ""))
	for _, c := range []struct {
		form, path, body string
		code             int
		message          string
	}{
		{jsonPatch, pods + "/p", `{"op":"add"}`, 400, "cannot unmarshal object"},
		{jsonPatch, pods + "/p", `[{"op":"remove","path":"/metadata/nope"}]`, 422, "the server rejected our request due to an error in our request"},
		{jsonPatch, pods + "/p", `[{"op":"fly","path":"/metadata"}]`, 422, "the server rejected our request"},
		{mergePatch, pods + "/p", `{`, 400, "Invalid JSON"},
		{mergePatch, pods + "/p", `{"spec":"x"}`, 422, "cannot unmarshal string"},
		{mergePatch, pods + "/p", `{"metadata":{"name":"q"}}`, 400, "the name of the object (q) does not match the name on the URL (p)"},
		{mergePatch, pods + "/p", `{"metadata":{"namespace":"q"}}`, 400, "the namespace of the provided object does not match"},
		{mergePatch, pods + "/p", `{"metadata":{"resourceVersion":"1"}}`, 409, "the object has been modified"},
		{mergePatch, pods + "/p", `{"metadata":{"uid":"x"}}`, 409, "Precondition failed"},
		{mergePatch, pods + "/p", `{"kind":"Node"}`, 422, `the kind "Node" of "v1" in the data does not match`},
		{mergePatch, pods + "/p", `{"spec":{"containers":[]}}`, 422, "spec.containers: Required value"},
		{mergePatch, pods + "/q", `{}`, 404, `pods "q" not found`},
		{mergePatch, pods + "/p?force=true", `{}`, 422, "force: Forbidden: may not be specified for non-apply patch"},
		{mergePatch, pods + "/p?dryRun=true", `{}`, 422, `dryRun: Unsupported value: ["true"]`},
		{mergePatch, pods + "/p?fieldValidation=Strict", `{"spec":{"bogus":1}}`, 422, `strict decoding error: unknown field "spec.bogus"`},
		{strategicPatch, pods + "/p", `{"metadata":{"$patch":"bogus"}}`, 500, "bogus"},
		{strategicPatch, widgets + "/w", `{}`, 415, "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"},
		{applyPatch, pods + "/p", `{"apiVersion":"v1","kind":"Pod"}`, 422, "fieldManager: Required value: is required for apply patch"},
		{applyPatch, pods + "/p?fieldManager=m", `{"metadata":{}}`, 400, "apiVersion and kind must be set"},
		{applyPatch, pods + "/p?fieldManager=m", `a: [`, 400, "error decoding YAML"},
		{applyPatch, pods + "/p?fieldManager=m", `{"apiVersion":"v1","kind":"Pod","bogus":1}`, 500, ".bogus: field not declared in schema"},
		{applyPatch, pods + "/p?fieldManager=m", `{"apiVersion":"v1","kind":"Pod","metadata":{"managedFields":[{}]}}`, 400, "metadata.managedFields must be nil"},
		{applyPatch, pods + "/x?fieldManager=m", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"y"}}`, 400, "does not match the name on the URL"},
	} {
		got := a.patch(c.form, c.path, c.body)
		require.Equal(t, c.code, got.code, c.form+" "+c.body+": "+got.body)
		require.Contains(t, got.object(t).Message, c.message, c.body)
	}
	require.Equal(t, 405, a.patch(mergePatch, pods, `{}`).code)
	require.Equal(t, 413, a.patch(jsonPatch, pods+"/p", "["+strings.Repeat(`{"op":"test","path":"/kind","value":"Pod"},`, 10_001)+`{}]`).code)
}

// What is applied makes, changes and takes away just what its manager owns.
func TestServerSideApply(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	got := a.patch(applyPatch, configMaps+"/m?fieldManager=one", "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: '1'\n  b: '1'\n")
	require.Equal(t, 201, got.code, got.body)
	require.Equal(t, map[string]string{"a": "1", "b": "1"}, got.object(t).Data)
	again := a.patch(applyPatch, configMaps+"/m?fieldManager=one", `{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1","b":"1"}}`)
	require.Equal(t, got.body, again.body, "nothing new, no new version")

	two := `{"apiVersion":"v1","kind":"ConfigMap","data":{"b":"2","c":"2"}}`
	conflict := a.patch(applyPatch, configMaps+"/m?fieldManager=two", two)
	require.Equal(t, 409, conflict.code)
	require.Equal(t, `Apply failed with 1 conflict: conflict with "one": .data.b`, conflict.object(t).Message)
	o := a.mustPatch(applyPatch, configMaps+"/m?fieldManager=two&force=true", two)
	require.Equal(t, map[string]string{"a": "1", "b": "2", "c": "2"}, o.Data)
	o = a.mustPatch(applyPatch, configMaps+"/m?fieldManager=one", `{"apiVersion":"v1","kind":"ConfigMap"}`)
	require.Equal(t, map[string]string{"b": "2", "c": "2"}, o.Data, "what nobody owns any more goes")

	// A custom kind too, with the owners as recorded.
	a.do("POST", widgets, `{"kind":"Widget","apiVersion":"wire.example.com/v1","metadata":{"name":"alpha","labels":{"tier":"a"}},"spec":{"size":4,"color":"green"}}`,
		"User-Agent", "wirelab/1.0")
	a.do("PATCH", widgets+"/alpha/status", `{"status":{"phase":"Ready","replicas":2}}`, "User-Agent", "wirelab/1.0", "Content-Type", mergePatch)
	got = a.patch(applyPatch, widgets+"/alpha?fieldManager=me&force=true",
		`{"kind":"Widget","apiVersion":"wire.example.com/v1","metadata":{"name":"alpha"},"spec":{"size":4,"note":"x"}}`)
	require.Equal(t, 200, got.code, got.body)
	var want string
	for _, line := range strings.Split(recorded(t, "watch-customresource.jsonl"), "\n") {
		if strings.Contains(line, `"resourceVersion":"865"`) {
			want = line
		}
	}
	// Without a schema it is a guess that the spec itself can be owned.
	require.JSONEq(t, strings.ReplaceAll(fieldsOf(t, want, "object"), `".":{},`, ""), strings.ReplaceAll(fieldsOf(t, got.body), `".":{},`, ""))
}

// fieldsOf returns the managed fields of an object, without times, below keys.
func fieldsOf(t *testing.T, body string, below ...string) string {
	t.Helper()
	var o map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &o), body)
	for _, key := range append(below, "metadata") {
		o = o[key].(map[string]any)
	}
	for _, e := range o["managedFields"].([]any) {
		delete(e.(map[string]any), "time")
	}
	fields, err := json.Marshal(o["managedFields"])
	require.NoError(t, err)
	return string(fields)
}

// Who writes what is noted as recorded, whatever the verb.
func TestManagedFieldsAsRecorded(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	made := a.do("POST", pods, `{"metadata":{"name":"a","labels":{"app":"demo"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`, "User-Agent", "wirelab/1.0")
	require.Equal(t, 201, made.code, made.body)
	line, _, _ := strings.Cut(recorded(t, "watch-pods-basic.jsonl"), "\n")
	require.JSONEq(t, fieldsOf(t, line, "object"), fieldsOf(t, made.body))

	deployment := recorded(t, "get-deployment.json")
	got := a.do("POST", deployments, `{"metadata":{"name":"web","labels":{"app":"web"}},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},
		"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"nginx","image":"nginx:1.29"}]}}}}`, "User-Agent", "wirelab/1.0")
	require.JSONEq(t, fieldsOf(t, deployment), fieldsOf(t, got.body))
	require.JSONEq(t, anonymous(deployment), anonymous(got.body))

	// A client that puts nothing there leaves them, and one that says so clears them.
	kept := a.do("PUT", pods+"/a", `{"metadata":{"name":"a","labels":{"app":"demo"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`, "User-Agent", "other/1.0")
	require.Equal(t, fieldsOf(t, made.body), fieldsOf(t, kept.body))
	cleared := a.patch(jsonPatch, pods+"/a", `[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`)
	require.NotContains(t, cleared.body, "managedFields")
	require.Contains(t, a.do("POST", configMaps, configMap("n", `,"labels":{"a":"b"}`), "User-Agent", "").body, `"manager":"unknown"`)
}

// anonymous drops what differs from one creation to the next.
func anonymous(s string) string {
	s = regexp.MustCompile(`"managedFields":\[.*?\}\}\}\]`).ReplaceAllString(unnumbered(s), `"managedFields":[]`)
	s = regexp.MustCompile(`"resourceVersion":"\d+"`).ReplaceAllString(s, `"resourceVersion":"N"`)
	s = regexp.MustCompile(`"managedFields":\[.*\],?\},"spec"`).ReplaceAllString(s, `"managedFields":[]},"spec"`)
	s = regexp.MustCompile(`"namespace":"[^"]*"`).ReplaceAllString(s, `"namespace":"N"`)
	return regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*"`).ReplaceAllString(s, `"T"`)
}
