package apiserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

func TestScale(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	body := `{"metadata":{"name":"web"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},
		"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"nginx","image":"nginx:1.29"}]}}}}`
	for _, path := range []string{deployments, "/apis/apps/v1/namespaces/default/replicasets"} {
		made := a.must("POST", path, body)
		got := a.do("GET", path+"/web/scale", "")
		require.JSONEq(t, anonymous(recorded(t, "get-scale.json")), anonymous(got.body))
		scaled := a.mustPatch(mergePatch, path+"/web/scale", `{"spec":{"replicas":5}}`)
		require.Equal(t, "Scale", scaled.Kind)
		require.Equal(t, map[string]any{"replicas": 5.0}, scaled.Spec)
		require.Equal(t, 5.0, a.must("GET", path+"/web", "").Spec.(map[string]any)["replicas"])
		put := a.must("PUT", path+"/web/scale", versioned(`{"metadata":{"name":"web"},"spec":{"replicas":2}}`, scaled.Metadata.ResourceVersion))
		require.Equal(t, made.Metadata.UID, put.Metadata.UID)
		now := a.must("GET", path+"/web", "")
		require.Equal(t, 2.0, now.Spec.(map[string]any)["replicas"])
		require.Equal(t, int64(3), now.Metadata.Generation)
		require.Equal(t, 409, a.do("PUT", path+"/web/scale", versioned(`{"metadata":{"name":"web"}}`, "1")).code)
		require.Equal(t, 422, a.patch(mergePatch, path+"/web/scale", `{"spec":{"replicas":-1}}`).code)
		require.Equal(t, 404, a.patch(mergePatch, path+"/none/scale", `{}`).code)

		// Who scales owns the number alone.
		owned := a.patch(mergePatch, path+"/web/scale?fieldManager=scaler", `{"spec":{"replicas":7}}`)
		require.Equal(t, 200, owned.code, owned.body)
		entries := fieldsOf(t, a.do("GET", path+"/web", "").body)
		require.Contains(t, entries, `{"apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"manager":"scaler","operation":"Update","subresource":"scale"}`)
	}
	rc := "/api/v1/namespaces/default/replicationcontrollers"
	a.must("POST", rc, `{"metadata":{"name":"rc"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	require.Equal(t, "a=b", a.must("GET", rc+"/rc/scale", "").Status.(map[string]any)["selector"])
	require.Equal(t, 404, a.do("GET", pods+"/p/scale", "").code)
	require.Equal(t, 405, a.do("POST", rc+"/rc/scale", "{}").code)
}

// A pod that is bound looks as recorded.
func TestBinding(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", nodes, `{"metadata":{"name":"node-1","labels":{"topology.kubernetes.io/region":"region-1","topology.kubernetes.io/zone":"zone-b"}}}`)
	a.must("POST", pods, `{"metadata":{"name":"a","labels":{"app":"demo"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`)
	bind := `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"apiVersion":"v1","kind":"Node","name":"node-1"}}`
	require.Equal(t, 201, a.do("POST", pods+"/a/binding?dryRun=All", bind).code)
	got := a.do("POST", pods+"/a/binding", bind)
	require.Equal(t, 201, got.code)
	require.JSONEq(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`, got.body)
	var want struct{ Object map[string]any }
	require.NoError(t, json.Unmarshal([]byte(strings.Split(recorded(t, "watch-pods-basic.jsonl"), "\n")[2]), &want))
	wanted, err := json.Marshal(want.Object["status"])
	require.NoError(t, err)
	bound := a.must("GET", pods+"/a", "")
	status, err := json.Marshal(bound.Status)
	require.NoError(t, err)
	require.JSONEq(t, anonymous(string(wanted)), anonymous(string(status)))
	require.Equal(t, "zone-b", bound.Metadata.Labels["topology.kubernetes.io/zone"])
	require.Equal(t, int64(1), bound.Metadata.Generation)

	again := a.do("POST", pods+"/a/binding", bind)
	require.Equal(t, 409, again.code)
	require.Equal(t, `Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "node-1"`, again.object(t).Message)
	a.must("POST", pods, pod("gated", `,"schedulingGates":[{"name":"example.com/g"}]`))
	require.Equal(t, 409, a.do("POST", pods+"/gated/binding", bind).code)
	a.must("POST", pods, `{"metadata":{"name":"going","finalizers":["example.com/a"]},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	a.must("DELETE", pods+"/going", "")
	require.Equal(t, 409, a.do("POST", pods+"/going/binding", bind).code)
	require.Equal(t, 404, a.do("POST", pods+"/none/binding", bind).code)
	require.Equal(t, 422, a.do("POST", pods+"/a/binding", `{"target":{"kind":"Node"}}`).code)
	require.Equal(t, 422, a.do("POST", pods+"/a/binding", `{"target":{"kind":"Pod","name":"x"}}`).code)
	require.Equal(t, 405, a.do("GET", pods+"/a/binding", "").code)
}

func TestNamespaceGoesWhenFinalized(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	const path = "/api/v1/namespaces/n"
	made := a.must("POST", "/api/v1/namespaces", `{"metadata":{"name":"n"}}`)
	require.Equal(t, map[string]any{"finalizers": []any{"kubernetes"}}, made.Spec)
	require.Equal(t, made.Spec, a.must("PUT", path, `{"metadata":{"name":"n","labels":{"a":"b"}},"spec":{"finalizers":[]}}`).Spec)
	going := a.must("DELETE", path, "")
	require.Equal(t, map[string]any{"phase": "Terminating"}, going.Status)
	require.NotNil(t, going.Metadata.DeletionTimestamp)
	require.Equal(t, going, a.must("GET", path, ""))
	require.Equal(t, 200, a.do("PUT", path+"/finalize", `{"metadata":{"name":"n"},"spec":{"finalizers":[]}}`).code)
	require.Equal(t, 404, a.do("GET", path, "").code)
	require.Equal(t, 405, a.do("GET", "/api/v1/namespaces/default/finalize", "").code)
}

func TestDeleteCollection(t *testing.T) {
	a := newAPI(t, apiserver.Options{Namespaces: []string{"default", "w4"}})
	const path = "/api/v1/namespaces/w4/configmaps"
	for _, name := range []string{"dc0", "dc1"} {
		got := a.do("POST", path, configMap(name, `,"labels":{"dc":"1"}`), "User-Agent", "wirelab/1.0")
		require.Equal(t, 201, got.code)
	}
	a.must("POST", path, configMap("kept", ""))
	a.must("POST", path, configMap("held", `,"finalizers":["example.com/a"],"labels":{"dc":"2"}`))
	got := a.do("DELETE", path+"?labelSelector=dc%3D1", "")
	require.Equal(t, 200, got.code)
	require.JSONEq(t, anonymous(recorded(t, "deletecollection-configmaps.json")), anonymous(got.body))
	a.must("DELETE", path+"?labelSelector=dc", "")
	require.Equal(t, []string{"held", "kept"}, names(a.must("GET", path, "")))
	require.NotNil(t, a.must("GET", path+"/held", "").Metadata.DeletionTimestamp)
	require.Equal(t, 405, a.do("DELETE", "/api/v1/configmaps", "").code)
	require.Equal(t, 400, a.do("DELETE", path+"?labelSelector=a+b+c", "").code)
	require.Equal(t, 400, a.do("DELETE", path, `{`).code)
}

// What shall become of what an object owns is left to the garbage collector, in finalizers.
func TestPropagation(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	for query, want := range map[string][]string{
		"?propagationPolicy=Foreground": {"foregroundDeletion"},
		"?propagationPolicy=Orphan":     {"orphan"},
		"?orphanDependents=true":        {"orphan"},
	} {
		a.must("POST", configMaps, configMap("a", ""))
		kept := a.must("DELETE", configMaps+"/a"+query, "")
		require.Equal(t, want, kept.Metadata.Finalizers)
		require.Equal(t, want, a.must("DELETE", configMaps+"/a", "").Metadata.Finalizers, "as was asked for before")
		a.must("DELETE", configMaps+"/a", `{"propagationPolicy":"Background"}`)
		require.Equal(t, 404, a.do("GET", configMaps+"/a", "").code)
	}
	require.Equal(t, 422, a.do("DELETE", configMaps+"/a?propagationPolicy=Bogus", "").code)
	jobs := "/apis/batch/v1/namespaces/default/jobs"
	made := a.must("POST", jobs, `{"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`)
	require.Equal(t, map[string]any{"matchLabels": map[string]any{"batch.kubernetes.io/controller-uid": made.Metadata.UID}},
		made.Spec.(map[string]any)["selector"])
	require.Equal(t, []string{"orphan"}, a.must("DELETE", jobs+"/j", "").Metadata.Finalizers, "the default of jobs")
}

func TestCreateOnUpdate(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	lease := `{"metadata":{"name":"l"},"spec":{"holderIdentity":"h","renewTime":"2026-11-30T08:00:00.000000Z"}}`
	require.Equal(t, 201, a.do("PUT", leases+"/l", lease).code)
	require.Equal(t, 200, a.do("PUT", leases+"/l", lease).code)
	require.Contains(t, a.do("GET", leases+"/l", "").body, `"2026-11-30T08:00:00.000000Z"`)
	require.Equal(t, 409, a.do("PUT", leases+"/m", `{"metadata":{"name":"m","uid":"x"}}`).code)
	require.Equal(t, 404, a.do("PUT", configMaps+"/m", configMap("m", "")).code)
}
