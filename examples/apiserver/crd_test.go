package apiserver_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// gadget is a definition of gadgets.test.example.com with a schema of its spec.
func gadget(schema, rest string) string {
	return `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"gadgets.test.example.com"},
		"spec":{"group":"test.example.com","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":` + schema + `}}}` + rest + `}]}}`
}

const gadgets = "/apis/test.example.com/v1/namespaces/default/gadgets"

func gadgetOf(name, spec string) string {
	return `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

// define creates a definition and waits until a condition of it has a status.
func (a *api) define(body, condition, status string) object {
	a.t.Helper()
	made := a.must("POST", definitions, body)
	return a.untilCondition(made.Metadata.Name, condition, status)
}

// untilCondition waits until a condition of a definition has a status.
func (a *api) untilCondition(name, condition, status string) object {
	a.t.Helper()
	w := a.watch(definitions + "?watch=true&fieldSelector=metadata.name%3D" + name)
	defer w.response.Body.Close()
	for {
		e, err := w.next()
		require.NoError(a.t, err)
		if _, is := a.condition(e.Object, condition); is == status {
			return e.Object
		}
	}
}

// condition returns the reason and the status of a condition.
func (a *api) condition(o object, name string) (reason, status string) {
	a.t.Helper()
	data, err := json.Marshal(o.Status)
	require.NoError(a.t, err)
	var s struct {
		Conditions []struct{ Type, Reason, Status string }
	}
	require.NoError(a.t, json.Unmarshal(data, &s))
	for _, c := range s.Conditions {
		if c.Type == name {
			return c.Reason, c.Status
		}
	}
	return "", ""
}

// undated replaces what differs from time to time in a recorded object.
func undated(s string) string {
	s = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(unnumbered(unversioned(s)), "TIME")
	return strings.ReplaceAll(s, "Go-http-client", "wirelab")
}

// A definition becomes what was recorded, and its kind is served once it says so.
func TestDefinition(t *testing.T) {
	a := newAPI(t, apiserver.Options{Definitions: []*crd.Definition{}})
	before := a.do("GET", widgets, "")
	require.Equal(t, 404, before.code)
	require.Equal(t, "404 page not found\n", before.body)
	etag := a.do("GET", "/apis", "", "Accept", aggregated).header.Get("Etag")

	body, err := json.Marshal(crd.Widgets())
	require.NoError(t, err)
	a.define(string(body), "Established", "True")
	require.Empty(t, a.must("GET", widgets, "").Items)
	got := a.do("GET", definitions+"/widgets.wire.example.com", "").body
	var want, is map[string]any
	require.NoError(t, json.Unmarshal([]byte(undated(recorded(t, "crd.json"))), &want))
	require.NoError(t, json.Unmarshal([]byte(undated(got)), &is))
	sortManaged(want)
	sortManaged(is)
	require.Empty(t, cmp.Diff(want, is))
	require.Equal(t, keysInOrder(t, recorded(t, "crd.json")), keysInOrder(t, got))

	require.NotEqual(t, etag, a.do("GET", "/apis", "", "Accept", aggregated).header.Get("Etag"))
	index := a.do("GET", "/openapi/v3", "").body
	address := regexp.MustCompile(`/openapi/v3/apis/wire.example.com/v1\?hash=[0-9A-F]+`).FindString(index)
	require.Contains(t, a.do("GET", address, "").body, "com.example.wire.v1.WidgetList")
}

// sortManaged leaves out in what order managers wrote, which is that of the second they did so in.
func sortManaged(o map[string]any) {
	fields := o["metadata"].(map[string]any)["managedFields"].([]any)
	byManager := map[string]any{}
	for _, f := range fields {
		byManager[f.(map[string]any)["manager"].(string)] = f
	}
	o["metadata"].(map[string]any)["managedFields"] = byManager
}

const gadgetSchema = `{"type":"object","required":["size"],"properties":{
	"size":{"type":"integer","minimum":1},"color":{"type":"string","default":"blue"},"nothing":{"type":"string","nullable":true},
	"port":{"x-kubernetes-int-or-string":true},"raw":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
	"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
		"properties":{"name":{"type":"string"},"n":{"type":"integer","default":1}}}},
	"template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`

func TestDefinedObjects(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.define(gadget(gadgetSchema, ""), "Established", "True")

	unknown := gadgetOf("a", `{"size":1,"color":null,"nothing":null,"bogus":1,"raw":{"any":[1]},"port":"http",
		"parts":[{"name":"x","bad":true}],"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","odd":1}}}`)
	strict := a.do("POST", gadgets+"?fieldValidation=Strict", unknown)
	require.Equal(t, 400, strict.code)
	require.Contains(t, strict.object(t).Message, `strict decoding error: unknown field "spec.bogus", unknown field "spec.parts[0].bad", unknown field "spec.template.metadata.odd"`)
	require.Empty(t, a.do("POST", gadgets+"?fieldValidation=Ignore&dryRun=All", unknown).header.Values("Warning"))
	warned := a.do("POST", gadgets, unknown)
	require.Equal(t, 201, warned.code, warned.body)
	require.Equal(t, []string{`299 - "unknown field \"spec.bogus\""`, `299 - "unknown field \"spec.parts[0].bad\""`,
		`299 - "unknown field \"spec.template.metadata.odd\""`}, warned.header.Values("Warning"))
	require.Equal(t, map[string]any{
		"size": 1.0, "color": "blue", "nothing": nil, "raw": map[string]any{"any": []any{1.0}}, "port": "http",
		"parts":    []any{map[string]any{"name": "x", "n": 1.0}},
		"template": map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"}},
	}, warned.object(t).Spec)

	for spec, want := range map[string]string{
		`{}`:                       "spec.size: Required value",
		`{"size":"1"}`:             `spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`,
		`{"size":0}`:               "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
		`{"size":1,"port":true}`:   `spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"`,
		`{"size":1,"template":{}}`: "[spec.template.apiVersion: Required value: must not be empty, spec.template.kind: Required value: must not be empty]",
		`{"size":1,"parts":[{"name":"x"},{"name":"x"}]}`: `spec.parts[1]: Duplicate value: {"name":"x"}`,
	} {
		got := a.do("POST", gadgets, gadgetOf("bad", spec))
		require.Equal(t, 422, got.code, got.body)
		require.Equal(t, `Gadget.test.example.com "bad" is invalid: `+want, got.object(t).Message)
	}
	require.Equal(t, 400, a.do("POST", gadgets, strings.Replace(gadgetOf("b", `{"size":1}`), `"name":"b"`, `"name":"b","labels":{"a":1}`, 1)).code)

	a.mustPatch(mergePatch, gadgets+"/a", `{"spec":{"template":null,"raw":null}}`)
	merged := a.patch(applyPatch, gadgets+"/a?fieldManager=m", gadgetOf("a", `{"parts":[{"name":"y","n":2}]}`)).object(t)
	require.Equal(t, []any{map[string]any{"name": "x", "n": 1.0}, map[string]any{"name": "y", "n": 2.0}}, merged.Spec.(map[string]any)["parts"])
	conflict := a.patch(applyPatch, gadgets+"/a?fieldManager=other", gadgetOf("a", `{"parts":[{"name":"y","n":3}]}`))
	require.Equal(t, 409, conflict.code)
	require.Contains(t, conflict.body, `.spec.parts[name=\"y\"].n`)
	undeclared := a.patch(applyPatch, gadgets+"/a?fieldManager=m", gadgetOf("a", `{"bogus":1}`))
	require.Equal(t, 500, undeclared.code)
	require.Contains(t, undeclared.object(t).Message, ".spec.bogus: field not declared in schema")
	require.Equal(t, 404, a.do("PUT", gadgets+"/a/status", gadgetOf("a", `{"size":1}`)).code, "it has no subresource")
}

// Objects are stored in one version, and shown in each.
func TestVersions(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	old := strings.Replace(widgets, "v1", "v1beta1", 1)
	w := a.watch(old + "?watch=true")
	made := a.do("POST", old, strings.Replace(widget("w", ""), "/v1", "/v1beta1", 1))
	require.Equal(t, 201, made.code, made.body)
	require.Equal(t, `299 - "wire.example.com/v1beta1 Widget is deprecated; use wire.example.com/v1 Widget"`, made.header.Get("Warning"))
	require.Equal(t, "wire.example.com/v1beta1", made.object(t).APIVersion)
	e, err := w.next()
	require.NoError(t, err)
	require.Equal(t, made.object(t), e.Object)
	got := a.do("GET", widgets+"/w", "")
	require.Equal(t, "wire.example.com/v1", got.object(t).APIVersion)
	require.Empty(t, got.header.Get("Warning"))
	require.Equal(t, "wire.example.com/v1", a.must("GET", widgets, "").Items[0].APIVersion)
	a.mustPatch(mergePatch, widgets+"/w", `{"spec":{"size":5}}`)
	e, err = w.next()
	require.NoError(t, err)
	require.Equal(t, "MODIFIED wire.example.com/v1beta1", e.Type+" "+e.Object.APIVersion)
	require.Equal(t, 404, a.do("GET", old+"/w/status", "").code, "that version has none")
	// Who set a field in the other version still owns it.
	conflict := a.patch(applyPatch, widgets+"/w?fieldManager=m", strings.Replace(widget("w", ""), `"size":1`, `"color":"red"`, 1))
	require.Equal(t, 409, conflict.code, conflict.body)
	require.Contains(t, conflict.body, "using wire.example.com/v1beta1")

	scale := a.do("PATCH", widgets+"/w/scale", `{"spec":{"replicas":3}}`, "Content-Type", mergePatch)
	require.Equal(t, 200, scale.code, scale.body)
	require.Equal(t, map[string]any{"replicas": 3.0}, scale.object(t).Spec)
	require.Equal(t, 3.0, a.must("GET", widgets+"/w", "").Spec.(map[string]any)["replicas"])
}

// A change of the definition ends watches, and holds for what was there before.
func TestChangeOfDefinition(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.define(gadget(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, ""), "Established", "True")
	made := a.must("POST", gadgets, gadgetOf("g", `{"a":"1","b":"2"}`))
	w := a.watch(gadgets + "?watch=true&resourceVersion=" + made.Metadata.ResourceVersion)
	a.mustPatch(mergePatch, definitions+"/gadgets.test.example.com", `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,
		"additionalPrinterColumns":[{"name":"C","type":"string","jsonPath":".spec.c"}],
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
			"a":{"type":"string","maxLength":0},"c":{"type":"string","default":"3"}}}}}}}]}}`)
	require.Empty(t, w.rest(), "it ends well")
	want := map[string]any{"a": "1", "c": "3"}
	require.Equal(t, want, a.must("GET", gadgets+"/g", "").Spec)
	require.Equal(t, want, a.must("GET", gadgets, "").Items[0].Spec)
	require.Equal(t, "3", a.do("GET", gadgets, "", "Accept", tables).table(t).Rows[0].Cells[1])
	w = a.watch(gadgets + "?watch=true&resourceVersion=" + made.Metadata.ResourceVersion)
	labelled := a.mustPatch(mergePatch, gadgets+"/g", `{"metadata":{"labels":{"l":"x"}}}`)
	require.Equal(t, want, labelled.Spec, "what was valid before, and is not touched, may stay")
	w.want("MODIFIED g " + labelled.Metadata.ResourceVersion)
	require.Equal(t, 422, a.patch(mergePatch, gadgets+"/g", `{"spec":{"a":"other"}}`).code)
}

func TestDeleteDefinition(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.define(gadget(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, ""), "Established", "True")
	a.must("POST", gadgets, gadgetOf("a", `{}`))
	held := a.must("POST", gadgets, strings.Replace(gadgetOf("held", `{}`), `"name"`, `"finalizers":["test.example.com/x"],"name"`, 1))
	w := a.watch(gadgets + "?watch=true&resourceVersion=" + held.Metadata.ResourceVersion)
	gone := a.must("DELETE", definitions+"/gadgets.test.example.com", "")
	require.Equal(t, []string{"customresourcecleanup.apiextensions.k8s.io"}, gone.Metadata.Finalizers)
	require.NotNil(t, gone.Metadata.DeletionTimestamp)
	first, err := w.next()
	require.NoError(t, err)
	require.Equal(t, "DELETED a", first.Type+" "+first.Object.Metadata.Name)
	second, err := w.next()
	require.NoError(t, err)
	require.Equal(t, "MODIFIED held", second.Type+" "+second.Object.Metadata.Name)
	require.NotNil(t, second.Object.Metadata.DeletionTimestamp)
	refused := a.do("POST", gadgets, gadgetOf("late", `{}`))
	require.Equal(t, http.StatusMethodNotAllowed, refused.code)
	require.Equal(t, "create not allowed while custom resource definition is terminating", refused.object(t).Message)

	a.mustPatch(mergePatch, gadgets+"/held", `{"metadata":{"finalizers":null}}`)
	rest := w.rest()
	require.Len(t, rest, 1)
	require.Equal(t, "DELETED held", rest[0].Type+" "+rest[0].Object.Metadata.Name)
	after := a.do("GET", gadgets, "")
	require.Equal(t, 404, after.code)
	require.Equal(t, "404 page not found\n", after.body)
	require.Equal(t, 404, a.do("GET", definitions+"/gadgets.test.example.com", "").code)

	a.define(gadget(`{"type":"object"}`, ""), "Established", "True")
	require.Empty(t, a.must("GET", gadgets, "").Items, "nothing is left of the one before")
}

// A name that another kind has is not given twice, and is given once it is free.
func TestNamesBecomeFree(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.define(gadget(`{"type":"object"}`, ""), "Established", "True")
	second := strings.NewReplacer("gadgets", "gizmos", `"kind":"Gadget"`, `"kind":"Gadget","listKind":"GizmoList"`).Replace(gadget(`{"type":"object"}`, ""))
	refused := a.define(second, "Established", "False")
	reason, status := a.condition(refused, "NamesAccepted")
	require.Equal(t, "KindConflict False", reason+" "+status)
	require.Equal(t, 404, a.do("GET", strings.Replace(gadgets, "gadgets", "gizmos", 1), "").code)
	a.must("DELETE", definitions+"/gadgets.test.example.com", "")
	a.untilCondition("gizmos.test.example.com", "Established", "True")
	require.Empty(t, a.must("GET", strings.Replace(gadgets, "gadgets", "gizmos", 1), "").Items)
}

// What was defined is served by the first answer of a server that was started again.
func TestDefinitionsSurviveRestart(t *testing.T) {
	dir := t.TempDir()
	first, err := apiserver.Start(t.Context(), apiserver.Options{Dir: dir})
	require.NoError(t, err)
	a := &api{t: t, server: first, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	a.define(gadget(`{"type":"object"}`, ""), "Established", "True")
	made := a.must("POST", gadgets, gadgetOf("g", `{}`))
	require.NoError(t, first.Close())
	a = newAPI(t, apiserver.Options{Dir: dir})
	require.Equal(t, made, a.must("GET", gadgets+"/g", ""))
}

func TestDefinitionIsRefused(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	got := a.do("POST", definitions, gadget(`{"type":"object","x-kubernetes-validations":[{"rule":"true"}]}`, ""))
	require.Equal(t, 422, got.code)
	require.Equal(t, `CustomResourceDefinition.apiextensions.k8s.io "gadgets.test.example.com" is invalid: `+
		`spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations: Forbidden: rules in CEL are not evaluated by this server`,
		got.object(t).Message)
}
