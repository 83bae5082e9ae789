package apiserver_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

func names(list object) []string {
	names := []string{}
	for _, o := range list.Items {
		names = append(names, o.Metadata.Name)
	}
	return names
}

func older(t testing.TB, version string, by int) string {
	t.Helper()
	n, err := strconv.Atoi(version)
	require.NoError(t, err)
	return strconv.Itoa(n - by)
}

// The table of what a list answers to which version.
func TestListVersions(t *testing.T) {
	a := newAPI(t, apiserver.Options{FutureWait: 1})
	var last object
	for _, name := range []string{"a", "b", "c", "d"} {
		last = a.must("POST", configMaps, configMap(name, ""))
	}
	now := last.Metadata.ResourceVersion
	old := older(t, now, 1)
	for _, c := range []struct {
		query, version string
		names          []string
		more           bool
	}{
		{"", now, []string{"a", "b", "c", "d"}, false},
		{"resourceVersion=0", now, []string{"a", "b", "c", "d"}, false},
		{"resourceVersion=0&limit=2", now, []string{"a", "b", "c", "d"}, false},
		{"resourceVersion=" + old, now, []string{"a", "b", "c", "d"}, false},
		{"resourceVersion=" + old + "&limit=2", old, []string{"a", "b"}, true},
		{"resourceVersion=" + old + "&resourceVersionMatch=NotOlderThan", now, []string{"a", "b", "c", "d"}, false},
		{"resourceVersion=" + old + "&resourceVersionMatch=NotOlderThan&limit=2", now, []string{"a", "b"}, true},
		{"resourceVersion=0&resourceVersionMatch=NotOlderThan", now, []string{"a", "b", "c", "d"}, false},
		{"resourceVersion=" + old + "&resourceVersionMatch=Exact", old, []string{"a", "b", "c"}, false},
		{"limit=0", now, []string{"a", "b", "c", "d"}, false},
		{"limit=-1", now, []string{"a", "b", "c", "d"}, false},
		{"limit=4", now, []string{"a", "b", "c", "d"}, false},
	} {
		got := a.must("GET", configMaps+"?"+c.query, "")
		require.Equal(t, c.version, got.Metadata.ResourceVersion, c.query)
		require.Equal(t, c.names, names(got), c.query)
		require.Equal(t, c.more, got.Metadata.Continue != "", c.query)
	}
	for query, code := range map[string]int{
		"resourceVersionMatch=Bogus&resourceVersion=1":                       422,
		"resourceVersionMatch=Exact&resourceVersion=0":                       422,
		"resourceVersionMatch=NotOlderThan":                                  422,
		"resourceVersion=-1":                                                 400,
		"resourceVersion=999999":                                             504,
		"resourceVersion=18446744073709551615":                               504,
		"resourceVersion=999999&limit=1":                                     504,
		"resourceVersion=999999&resourceVersionMatch=Exact":                  504,
		"resourceVersion=5&continue=" + token(t, old, "a\x00"):               400,
		"fieldSelector=a":                                                    400,
		"continue=" + url.QueryEscape(token(t, "5", "a")+"x="):               400,
		"continue=" + token(t, "1", "a\x00") + "&resourceVersionMatch=Exact": 422,
	} {
		require.Equal(t, code, a.do("GET", configMaps+"?"+query, "").code, query)
	}
	require.Equal(t, 200, a.do("GET", configMaps+"/a?resourceVersion="+old, "").code)
	require.Equal(t, 504, a.do("GET", configMaps+"/a?resourceVersion=999999", "").code)
	require.Equal(t, 400, a.do("GET", configMaps+"/a?resourceVersion=x", "").code)
}

func token(t testing.TB, revision, from string) string {
	t.Helper()
	n, err := strconv.ParseInt(revision, 10, 64)
	require.NoError(t, err)
	return storage.Token{Revision: n, From: from}.Encode()
}

func TestWaitsForAVersion(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	now := a.must("POST", configMaps, configMap("a", "")).Metadata.ResourceVersion
	next := older(t, now, -1)
	got := make(chan answer, 1)
	started := make(chan struct{})
	done := make(chan struct{})
	defer func() { <-done }()
	group(t, func() {
		defer close(done)
		close(started)
		got <- a.do("GET", configMaps+"?resourceVersion="+next, "")
	})
	<-started
	a.must("POST", configMaps, configMap("b", ""))
	require.Equal(t, 200, (<-got).code)
}

func TestPages(t *testing.T) {
	a := newAPI(t, apiserver.Options{Namespaces: []string{"default", "ord", "ord-b"}, Storage: storage.Options{PageSize: 2}})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		a.must("POST", configMaps, configMap(name, `,"labels":{"odd":"`+strconv.FormatBool(strings.Contains("ace", name))+`"}`))
	}
	first := a.must("GET", configMaps+"?limit=2", "")
	require.Equal(t, []string{"a", "b"}, names(first))
	require.Equal(t, int64(3), *first.Metadata.RemainingItemCount)
	a.must("POST", configMaps, configMap("c0", ""))
	a.must("DELETE", configMaps+"/d", "")
	second := a.must("GET", configMaps+"?limit=1&continue="+first.Metadata.Continue, "")
	require.Equal(t, []string{"c"}, names(second))
	rest := a.must("GET", configMaps+"?continue="+second.Metadata.Continue, "")
	require.Equal(t, []string{"d", "e"}, names(rest))
	require.Empty(t, rest.Metadata.Continue)
	require.Nil(t, rest.Metadata.RemainingItemCount)
	require.Equal(t, first.Metadata.ResourceVersion, rest.Metadata.ResourceVersion)
	anyVersion := a.must("GET", configMaps+"?limit=1&resourceVersion=0&continue="+first.Metadata.Continue, "")
	require.Equal(t, []string{"c", "d", "e"}, names(anyVersion))

	odd := a.must("GET", configMaps+"?limit=2&labelSelector=odd%3Dtrue", "")
	require.Equal(t, []string{"a", "c"}, names(odd))
	require.NotEmpty(t, odd.Metadata.Continue)
	require.Nil(t, odd.Metadata.RemainingItemCount)
	odd = a.must("GET", configMaps+"?limit=2&labelSelector=odd%3Dtrue&continue="+odd.Metadata.Continue, "")
	require.Equal(t, []string{"e"}, names(odd))
	require.Empty(t, odd.Metadata.Continue)

	// All namespaces: in order of the keys.
	a.must("POST", "/api/v1/namespaces/ord/configmaps", configMap("x", ""))
	a.must("POST", "/api/v1/namespaces/ord-b/configmaps", configMap("y", ""))
	all := a.must("GET", "/api/v1/configmaps?limit=6", "")
	require.Equal(t, []string{"a", "b", "c", "c0", "e", "y"}, names(all))
	require.Equal(t, []string{"x"}, names(a.must("GET", "/api/v1/configmaps?continue="+all.Metadata.Continue, "")))
}

func TestContinueExpires(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	for _, name := range []string{"a", "env-and-probes", "z"} {
		a.must("POST", configMaps, configMap(name, ""))
	}
	page := a.must("GET", configMaps+"?limit=1", "")
	a.must("POST", configMaps, configMap("b", ""))
	require.NoError(t, a.server.Compact(t.Context()))
	expired := a.do("GET", configMaps+"?limit=1&continue="+page.Metadata.Continue, "")
	require.Equal(t, 410, expired.code)
	want := recorded(t, "status-410-continue.json")
	next := expired.object(t).Metadata.Continue
	require.JSONEq(t, strings.ReplaceAll(want, token(t, "-1", "env-and-probes\x00"), next), expired.body)
	require.Equal(t, token(t, "-1", "a\x00"), next)
	// The rest comes from now, what is new included.
	rest := a.must("GET", configMaps+"?limit=1&continue="+next, "")
	require.Equal(t, []string{"b"}, names(rest))
	require.NotEqual(t, page.Metadata.ResourceVersion, rest.Metadata.ResourceVersion)
	rest = a.must("GET", configMaps+"?continue="+rest.Metadata.Continue, "")
	require.Equal(t, []string{"env-and-probes", "z"}, names(rest))
}

func TestSelectors(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", pods, pod("free", ""))
	a.must("POST", pods, `{"metadata":{"name":"bound","labels":{"a":"1","e":""}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`)
	a.must("PUT", pods+"/bound/status", pod("bound", `},"status":{"phase":"Running"`))
	a.must("POST", widgets, widget("w", ""))
	for query, want := range map[string][]string{
		"labelSelector=a%3D1":                                      {"bound"},
		"labelSelector=a!%3D1":                                     {"free"},
		"labelSelector=a+notin+(1)":                                {"free"},
		"labelSelector=a>0":                                        {"bound"},
		"labelSelector=e%3D":                                       {"bound"},
		"fieldSelector=metadata.name%3Dfree":                       {"free"},
		"fieldSelector=metadata.namespace%3D%3Dother":              {},
		"fieldSelector=spec.nodeName%3D":                           {"free"},
		"fieldSelector=spec.nodeName%3Dn,status.phase!%3DFailed":   {"bound"},
		"fieldSelector=status.phase%3DPending":                     {"free"},
		"fieldSelector=status.phase%3DRunning&labelSelector=a%3D2": {},
	} {
		require.Equal(t, want, names(a.must("GET", pods+"?"+query, "")), query)
	}
	require.Equal(t, []string{"w"}, names(a.must("GET", widgets+"?fieldSelector=spec.color%3Dblue", "")))
	require.Empty(t, names(a.must("GET", widgets+"?fieldSelector=spec.color%3Dred", "")))
	for path, message := range map[string]string{
		pods:       "field label not supported: spec.foo",
		widgets:    "field label not supported: spec.foo",
		configMaps: `"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"`,
	} {
		got := a.do("GET", path+"?fieldSelector=spec.foo%3Dx", "")
		require.Equal(t, 400, got.code)
		require.Equal(t, message, got.object(t).Message)
	}
	require.Equal(t, 400, a.do("GET", pods+"?fieldSelector=metadata.name", "").code)
}

// The fields of a list stand in the order that was recorded.
func TestListForm(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	version := a.must("GET", pods, "").Metadata.ResourceVersion
	require.Equal(t, fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%s"},"items":[]}`, version),
		strings.TrimSpace(a.do("GET", pods, "").body))
	require.Equal(t, recorded(t, "list-empty.json"), strings.ReplaceAll(
		strings.TrimSpace(a.do("GET", pods, "").body), `"`+version+`"`, `"1468"`))
	require.Equal(t, fmt.Sprintf(`{"apiVersion":"wire.example.com/v1","items":[],"kind":"WidgetList","metadata":{"continue":"","resourceVersion":"%s"}}`, version),
		strings.TrimSpace(a.do("GET", widgets, "").body))

	a.must("POST", widgets, widget("alpha", ""))
	a.must("POST", widgets, widget("beta", ""))
	page := a.do("GET", widgets+"?limit=1", "").body
	want := recorded(t, "list-customresource-page1.json")
	require.Empty(t, cmp.Diff(keysInOrder(t, want), keysInOrder(t, page)))
	a.must("POST", configMaps, configMap("a", ""))
	require.NotContains(t, a.do("GET", configMaps, "").body, `"kind":"ConfigMap"`)
}
