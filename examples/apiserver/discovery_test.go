package apiserver_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

func TestDiscovery(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	var version struct{ GitVersion string }
	require.NoError(t, json.Unmarshal([]byte(a.do("GET", "/version", "").body), &version))
	require.Regexp(t, `^v\d+\.\d+\.\d+$`, version.GitVersion)

	var api metav1.APIVersions
	require.NoError(t, json.Unmarshal([]byte(a.do("GET", "/api", "").body), &api))
	require.Equal(t, []string{"v1"}, api.Versions)

	var groups metav1.APIGroupList
	require.NoError(t, json.Unmarshal([]byte(a.do("GET", "/apis", "").body), &groups))
	gv := metav1.GroupVersionForDiscovery{GroupVersion: "wire.example.com/v1", Version: "v1"}
	old := metav1.GroupVersionForDiscovery{GroupVersion: "wire.example.com/v1beta1", Version: "v1beta1"}
	want := metav1.APIGroup{Name: "wire.example.com", Versions: []metav1.GroupVersionForDiscovery{gv, old}, PreferredVersion: gv}
	require.Empty(t, cmp.Diff([]metav1.APIGroup{want}, groups.Groups[len(groups.Groups)-1:]))
	require.Len(t, groups.Groups, len(kinds.Table().GroupVersions())-1+2, "without the core, with definitions and widgets")
	var group metav1.APIGroup
	require.NoError(t, json.Unmarshal([]byte(a.do("GET", "/apis/wire.example.com", "").body), &group))
	want.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
	require.Empty(t, cmp.Diff(want, group))

	var core metav1.APIResourceList
	require.NoError(t, json.Unmarshal([]byte(a.do("GET", "/api/v1", "").body), &core))
	require.Equal(t, "v1", core.GroupVersion)
	require.Empty(t, core.APIVersion)
	names := map[string]metav1.APIResource{}
	for _, r := range core.APIResources {
		names[r.Name] = r
	}
	require.Empty(t, cmp.Diff(metav1.APIResource{
		Name: "configmaps", SingularName: "configmap", Namespaced: true, Kind: "ConfigMap", ShortNames: []string{"cm"},
		StorageVersionHash: "qFsyl6wFWjQ=", Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
	}, names["configmaps"]))
	require.Equal(t, metav1.Verbs{"get", "patch", "update"}, names["pods/status"].Verbs)
	require.False(t, names["nodes"].Namespaced)
	require.NotContains(t, names, "configmaps/status")

	var custom metav1.APIResourceList
	require.NoError(t, json.Unmarshal([]byte(a.do("GET", "/apis/wire.example.com/v1", "").body), &custom))
	require.Equal(t, "v1", custom.APIVersion)
	require.Len(t, custom.APIResources, 3)

	for _, missing := range []string{"/api/v2", "/apis/nope", "/apis/wire.example.com/v2"} {
		got := a.do("GET", missing, "")
		require.Equal(t, 404, got.code, missing)
		require.Equal(t, "404 page not found\n", got.body)
	}
}

// What is said of each resource and subresource is what the real server was recorded to say.
func TestRecordedDiscovery(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	for path, file := range map[string]string{"/api/v1": "discovery-api-v1.json", "/apis/apps/v1": "discovery-apis-apps-v1.json",
		"/apis/wire.example.com/v1": "discovery-apis-wire.example.com-v1.json"} {
		var got, all metav1.APIResourceList
		require.NoError(t, json.Unmarshal([]byte(a.do("GET", path, "").body), &got))
		require.NoError(t, json.Unmarshal([]byte(recorded(t, file)), &all))
		want := map[string]metav1.APIResource{}
		for _, r := range all.APIResources {
			want[r.Name] = r
		}
		require.NotEmpty(t, got.APIResources)
		for _, r := range got.APIResources {
			require.Empty(t, cmp.Diff(want[r.Name], r))
		}
		if strings.HasPrefix(path, "/apis/wire") {
			require.Empty(t, cmp.Diff(all, got), "in that order")
			continue
		}
		require.True(t, slices.IsSortedFunc(got.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) }))
	}
	var root metav1.RootPaths
	require.NoError(t, json.Unmarshal([]byte(a.do("GET", "/", "").body), &root))
	require.Subset(t, root.Paths, []string{"/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/readyz/etcd", "/version"})
}

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func TestAggregatedDiscovery(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	accept := aggregated + ",application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
	for path, file := range map[string]string{"/api": "discovery-aggregated-api.json", "/apis": "discovery-aggregated-apis.json"} {
		got := a.do("GET", path, "", "Accept", accept)
		require.Equal(t, 200, got.code)
		require.Equal(t, aggregated, got.header.Get("Content-Type"))
		require.Equal(t, "public", got.header.Get("Cache-Control"))
		require.Equal(t, "Accept", got.header.Get("Vary"))
		want, resources := map[string]apidiscovery.APIResourceDiscovery{}, map[string]apidiscovery.APIResourceDiscovery{}
		readAggregated(t, recorded(t, file), want)
		readAggregated(t, got.body, resources)
		require.NotEmpty(t, resources)
		for name, r := range resources {
			subresources := map[string]apidiscovery.APISubresourceDiscovery{}
			for _, sub := range want[name].Subresources {
				subresources[sub.Subresource] = sub
			}
			for _, sub := range r.Subresources {
				require.Empty(t, cmp.Diff(subresources[sub.Subresource], sub))
			}
			r.Subresources = want[name].Subresources // some are not offered
			require.Empty(t, cmp.Diff(want[name], r))
		}

		again := a.do("GET", path, "", "Accept", accept, "If-None-Match", got.header.Get("Etag"))
		require.Equal(t, 304, again.code)
		require.Equal(t, got.header.Get("Etag"), again.header.Get("Etag"))
		require.NotContains(t, again.header, "Content-Type", "clients would put it over the one that they have")
		require.Equal(t, "application/json", a.do("GET", path, "", "Accept", "application/json,"+aggregated).header.Get("Content-Type"))
		require.Equal(t, 406, a.do("GET", path, "", "Accept", strings.Replace(aggregated, "v=v2", "v=v2beta1", 1)).code)
	}
	require.Equal(t, "application/json", a.do("GET", "/apis/apps", "", "Accept", accept).header.Get("Content-Type"))
}

func readAggregated(t *testing.T, body string, into map[string]apidiscovery.APIResourceDiscovery) {
	t.Helper()
	var list apidiscovery.APIGroupDiscoveryList
	require.NoError(t, json.Unmarshal([]byte(body), &list))
	require.Equal(t, metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}, list.TypeMeta)
	for _, group := range list.Items {
		for _, version := range group.Versions {
			for _, r := range version.Resources {
				into[group.Name+"/"+version.Version+"/"+r.Resource] = r
			}
		}
	}
}

func TestOpenAPI(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	index := a.do("GET", "/openapi/v3", "")
	require.Equal(t, "text/plain; charset=utf-8", index.header.Get("Content-Type"))
	var paths struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	require.NoError(t, json.Unmarshal([]byte(index.body), &paths))
	address := paths.Paths["apis/apps/v1"].ServerRelativeURL
	require.Regexp(t, `^/openapi/v3/apis/apps/v1\?hash=[0-9A-F]{128}$`, address)
	document := a.do("GET", address, "")
	require.Equal(t, "application/json", document.header.Get("Content-Type"))
	require.Equal(t, "public, immutable", document.header.Get("Cache-Control"))
	require.Contains(t, document.body, `"io.k8s.api.apps.v1.Deployment"`)
	require.Equal(t, 304, a.do("GET", address, "", "If-None-Match", document.header.Get("Etag")).code)

	plain, _, _ := strings.Cut(address, "?")
	require.Equal(t, "no-cache, private", a.do("GET", plain, "").header.Get("Cache-Control"))
	a.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	wrong := a.do("GET", plain+"?hash=bad", "")
	require.Equal(t, 301, wrong.code)
	require.Equal(t, address, wrong.header.Get("Location"))
	require.Equal(t, 404, a.do("GET", "/openapi/v3/apis/nope/v1", "").code)
	require.Equal(t, 405, a.do("POST", plain, "").code)
}

func TestHealth(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	for path, body := range map[string]string{
		"/healthz": "ok", "/livez": "ok", "/readyz": "ok", "/readyz/etcd": "ok", "/livez/ping": "ok",
		"/readyz?verbose":              "[+]ping ok\n[+]etcd ok\n[+]shutdown ok\nreadyz check passed\n",
		"/livez?verbose&exclude=etcd":  "[+]ping ok\n[+]etcd excluded: ok\nlivez check passed\n",
		"/healthz?verbose&exclude=abc": "[+]ping ok\n[+]etcd ok\nwarn: some health checks cannot be excluded: no matches for \"abc\"\nhealthz check passed\n",
	} {
		got := a.do("GET", path, "")
		require.Equal(t, 200, got.code, path)
		require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
		require.Equal(t, body, got.body)
	}
	require.Equal(t, 404, a.do("GET", "/readyz/nope", "").code)
}

// A server whose etcd doesn't answer is not healthy.
func TestUnhealthy(t *testing.T) {
	store, err := etcd.Start(t.Context(), etcd.Options{})
	require.NoError(t, err)
	a := newAPI(t, apiserver.Options{Etcd: store.Client(), CompactEvery: -1})
	require.NoError(t, store.Close())
	got := a.do("GET", "/readyz", "")
	require.Equal(t, 500, got.code)
	require.Equal(t, "[+]ping ok\n[-]etcd failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n", got.body)
	require.Equal(t, 500, a.do("GET", "/livez/etcd", "").code)
	require.Equal(t, 200, a.do("GET", "/livez/ping", "").code)
}
