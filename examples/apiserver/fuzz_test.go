package apiserver_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
)

// fuzzed returns a function that has a server answer, without a network between, and fails when the answer is one of
// the server's own failures.
func fuzzed(f *testing.F) func(t *testing.T, method, path, body, form string) {
	f.Helper()
	server, err := apiserver.Start(f.Context(), apiserver.Options{FutureWait: 1, Definitions: []*crd.Definition{crd.Widgets()}})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, server.Close()) })
	ask := func(method, path, body, form string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/", strings.NewReader(body))
		r.URL, err = url.Parse(path)
		if err != nil {
			return nil
		}
		r.Header.Set("Content-Type", form)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}
	first := ask("POST", configMaps, `{"metadata":{"name":"a","labels":{"x":"1"}},"data":{"k":"v"}}`, "application/json")
	require.Equal(f, http.StatusCreated, first.Code, first.Body)
	require.Equal(f, http.StatusCreated, ask("POST", widgets, widget("a", ""), "application/json").Code)
	require.Equal(f, http.StatusCreated, ask("POST", pods, pod("a", ""), "application/json").Code)
	return func(t *testing.T, method, path, body, form string) {
		t.Helper()
		if w := ask(method, path, body, form); w != nil && w.Code == http.StatusInternalServerError && !known(w.Body.String()) {
			t.Errorf("%s %q %q %q: %s", method, path, body, form, w.Body)
		}
	}
}

// known are the failures that a real server has in these cases, too.
func known(body string) bool {
	for _, text := range []string{
		"resourceVersion should not be set", "resourceVersion: Invalid value", "field not declared in schema", "yaml: control characters",
		"failed to create typed", "unable to find api field", "Unknown patch directive", "patch", "$retainKeys", "setElementOrder",
	} {
		if strings.Contains(body, text) {
			return true
		}
	}
	return false
}

// FuzzQueries lists with any options.
func FuzzQueries(f *testing.F) {
	ask := fuzzed(f)
	for _, h := range hostileQueries() {
		if _, query, _ := strings.Cut(h.path, "?"); len(query) < 200 {
			f.Add(query)
		}
	}
	f.Add("limit=1&continue=" + forged(`{"v":"meta.k8s.io/v1","rv":5,"start":"a\u0000"}`))
	f.Add("resourceVersion=1&resourceVersionMatch=Exact&labelSelector=x%20in%20(1,2)&fieldSelector=metadata.name!%3Da")
	f.Add("dryRun=All&fieldManager=a&fieldValidation=Strict&pretty=1")
	f.Fuzz(func(t *testing.T, query string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		q.Del("watch") // it would not end
		ask(t, "GET", configMaps+"?"+q.Encode(), "", "")
		ask(t, "GET", widgets+"?"+q.Encode(), "", "")
	})
}

// FuzzBodies creates, in all forms, without storing.
func FuzzBodies(f *testing.F) {
	ask := fuzzed(f)
	forms := []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}
	for _, h := range hostileBodies() {
		for i, form := range forms {
			if (h.form == form || i == 0 && h.form == "") && len(h.body) < 2000 {
				f.Add(uint8(i), h.body)
			}
		}
	}
	f.Add(uint8(0), pod("b", `,"tolerations":[{"key":"a"}],"volumes":[{"name":"v"}]`))
	f.Add(uint8(0), widget("b", ""))
	f.Fuzz(func(t *testing.T, form uint8, body string) {
		for _, path := range []string{configMaps, pods, widgets, services} {
			ask(t, "POST", path+"?dryRun=All", body, forms[int(form)%len(forms)])
			ask(t, "DELETE", path+"/a?dryRun=All", body, forms[int(form)%len(forms)])
		}
	})
}

// FuzzPatches changes, in all ways, without storing.
func FuzzPatches(f *testing.F) {
	ask := fuzzed(f)
	forms := []string{"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"}
	for _, h := range hostilePatches() {
		for i, form := range forms {
			if h.form == form && len(h.body) < 2000 {
				f.Add(uint8(i), h.body)
			}
		}
	}
	f.Add(uint8(0), `[{"op":"test","path":"/data/k","value":"v"},{"op":"move","from":"/data/k","path":"/data/l"},{"op":"remove","path":"/metadata/labels"}]`)
	f.Add(uint8(2), `{"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"name":"c","image":"j"},{"$patch":"delete","name":"d"}]}}`)
	f.Add(uint8(3), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: w}\n")
	f.Fuzz(func(t *testing.T, form uint8, body string) {
		for _, path := range []string{configMaps, pods, widgets} {
			ask(t, "PATCH", path+"/a?dryRun=All&fieldManager=f", body, forms[int(form)%len(forms)])
		}
	})
}
