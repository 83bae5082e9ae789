package apiserver_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
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
	want := metav1.APIGroup{Name: "wire.example.com", Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv}
	require.Empty(t, cmp.Diff([]metav1.APIGroup{want}, groups.Groups[len(groups.Groups)-1:]))
	require.Len(t, groups.Groups, len(kinds.Table().GroupVersions())-1)
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
		Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
	}, names["configmaps"]))
	require.Equal(t, metav1.Verbs{"get", "patch", "update"}, names["pods/status"].Verbs)
	require.False(t, names["nodes"].Namespaced)
	require.NotContains(t, names, "configmaps/status")

	var custom metav1.APIResourceList
	require.NoError(t, json.Unmarshal([]byte(a.do("GET", "/apis/wire.example.com/v1", "").body), &custom))
	require.Equal(t, "v1", custom.APIVersion)
	require.Len(t, custom.APIResources, 2)

	for _, missing := range []string{"/api/v2", "/apis/nope", "/apis/wire.example.com/v2"} {
		got := a.do("GET", missing, "")
		require.Equal(t, 404, got.code, missing)
		require.Equal(t, "404 page not found\n", got.body)
	}
}
