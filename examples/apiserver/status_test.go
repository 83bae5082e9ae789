package apiserver_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// Every answer below was recorded from the real API server: the bodies must say the same.
func TestRecordedStatuses(t *testing.T) {
	a := newAPI(t, apiserver.Options{FutureWait: 1, Namespaces: []string{"default", "w4", "wire"}})
	a.must("POST", "/api/v1/namespaces/w4/configmaps", configMap("s", ""))
	a.must("POST", "/api/v1/namespaces/wire/configmaps", configMap("old", ""))
	a.must("PUT", "/api/v1/namespaces/w4/configmaps/s", configMap("s", `,"labels":{"a":"b"}`))
	require.Equal(t, 201, a.do("PATCH", "/api/v1/namespaces/w4/configmaps/ssa?fieldManager=m1", `{"apiVersion":"v1","kind":"ConfigMap","data":{"x":"1"}}`,
		"Content-Type", "application/apply-patch+yaml").code)
	require.NoError(t, a.server.Compact(t.Context()))

	for file, c := range map[string]struct {
		code               int
		method, path, body string
		header             []string
	}{
		"status-400-bad-continue.json":        {400, "GET", "/api/v1/namespaces/wire/pods?limit=1&continue=garbage", "", nil},
		"status-400-bad-rv.json":              {400, "GET", "/api/v1/namespaces/wire/pods?resourceVersion=abc", "", nil},
		"status-400-bad-selector.json":        {400, "GET", "/api/v1/namespaces/wire/pods?labelSelector=a%20b%20c", "", nil},
		"status-404.json":                     {404, "GET", "/api/v1/namespaces/wire/pods/nope", "", nil},
		"status-404-unknown-resource.json":    {404, "GET", "/api/v1/namespaces/wire/foos", "", nil},
		"status-404-unknown-group.txt":        {404, "GET", "/apis/nope.io/v1/foos", "", nil},
		"status-405.json":                     {405, "DELETE", "/api/v1/namespaces", "", nil},
		"status-409-already-exists.json":      {409, "POST", "/api/v1/namespaces/w4/configmaps", configMap("s", ""), nil},
		"status-409-conflict.json":            {409, "PUT", "/api/v1/namespaces/w4/configmaps/s", configMap("s", `,"resourceVersion":"1"`), nil},
		"status-409-delete-precondition.json": {409, "DELETE", "/api/v1/namespaces/w4/configmaps/s", `{"preconditions":{"uid":"zzz"}}`, nil},
		"status-410-expired.json":             {410, "GET", "/api/v1/namespaces/wire/pods?resourceVersionMatch=Exact&resourceVersion=1", "", nil},
		"status-413.json":                     {413, "POST", "/api/v1/namespaces/w4/configmaps", configMap("big", `,"annotations":{"a":"`+strings.Repeat("x", 4<<20)+`"}`), nil},
		"status-422.json": {422, "POST", "/api/v1/namespaces/wire/pods",
			`{"metadata":{"name":"Bad_Name!","labels":{"ключ":"значение"}},"spec":{}}`, nil},
		"status-422-customresource.json": {422, "POST", "/apis/wire.example.com/v1/namespaces/wire/widgets",
			`{"kind":"Widget","apiVersion":"wire.example.com/v1","metadata":{"name":"bad"},"spec":{"color":"pink","size":1000}}`, nil},
		"status-409-apply-conflict.json": {409, "PATCH", "/api/v1/namespaces/w4/configmaps/ssa?fieldManager=m9",
			`{"apiVersion":"v1","kind":"ConfigMap","data":{"x":"9"}}`, []string{"Content-Type", "application/apply-patch+yaml"}},
		"status-415-patch.json": {415, "PATCH", "/api/v1/namespaces/w4/configmaps/s", `{}`, []string{"Content-Type", "application/json"}},
		"status-422-json-patch-test.json": {422, "PATCH", "/api/v1/namespaces/w4/configmaps/s",
			`[{"op":"test","path":"/metadata/name","value":"x"}]`, []string{"Content-Type", "application/json-patch+json"}},
		"status-422-list-options.json":  {422, "GET", "/api/v1/namespaces/wire/pods?resourceVersionMatch=Exact", "", nil},
		"status-422-watch-options.json": {422, "GET", "/api/v1/namespaces/wire/pods?watch=true&sendInitialEvents=true", "", nil},
		"status-500-rv-on-create.json":  {500, "POST", "/api/v1/namespaces/w4/configmaps", configMap("x", `,"resourceVersion":"5"`), nil},
		"status-500-watch-bad-rv.json":  {500, "GET", "/api/v1/namespaces/wire/pods?watch=true&resourceVersion=abc", "", nil},
		"status-504-too-large-rv.json":  {504, "GET", "/api/v1/namespaces/wire/pods?resourceVersion=99999999", "", nil},
		"status-504-timeout.txt":        {504, "GET", "/api/v1/namespaces/wire/pods?resourceVersion=99999999&timeout=1ns", "", nil},
	} {
		t.Run(file, func(t *testing.T) {
			got := a.do(c.method, c.path, c.body, c.header...)
			require.Equal(t, c.code, got.code, got.body)
			want := recorded(t, file)
			if strings.HasSuffix(file, ".txt") {
				require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
				require.Equal(t, want, strings.TrimSpace(got.body))
				return
			}
			require.Equal(t, "application/json", got.header.Get("Content-Type"))
			require.JSONEq(t, unnumbered(want), unnumbered(got.body))
		})
	}
}

// unnumbered replaces what differs from server to server: identities, and how far it has come.
func unnumbered(s string) string {
	s = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAllString(s, "UID")
	return regexp.MustCompile(`current: \d+`).ReplaceAllString(s, "current: N")
}

func TestNegotiation(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	for accept, code := range map[string]int{
		"":                                    200,
		"*/*":                                 200,
		"text/html":                           406,
		"application/json;q=0.5, text/html":   200,
		"application/vnd.kubernetes.protobuf": 200,
		"application/cbor":                    406,
		"application/yaml":                    200,
		"application/vnd.kubernetes.protobuf,application/json":                 200,
		"application/json;as=Table;v=v1;g=meta.k8s.io":                         200,
		"application/json;as=Table;v=v2;g=meta.k8s.io":                         406,
		"application/json;as=Table;v=v2;g=meta.k8s.io,application/json":        200,
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json":        200,
		"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList": 406,
	} {
		got := a.do("GET", pods, "", "Accept", accept)
		require.Equal(t, code, got.code, accept)
		if code == 406 {
			want := recorded(t, "status-406.json")
			o := got.object(t)
			require.Contains(t, want, o.Reason)
			if strings.Contains(accept, "application/json") {
				require.Contains(t, o.Message, "only the following media types are accepted: application/json")
			} else {
				require.Contains(t, o.Message, "406: Not Acceptable\n\nAvailable representations: application/json")
			}
		}
	}
	require.Equal(t, 406, a.do("GET", "/apis", "", "Accept", "text/html").code)
	require.Equal(t, 405, a.do("POST", "/apis", "").code)

	got := a.do("POST", configMaps, configMap("a", ""), "Content-Type", "text/plain")
	require.Equal(t, 415, got.code)
	require.JSONEq(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the body of the request was in an unknown `+
		`format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",`+
		`"reason":"UnsupportedMediaType","code":415}`, got.body)
	require.Equal(t, 201, a.do("POST", configMaps, configMap("a", ""), "Content-Type", "application/json; charset=utf-8").code)
}

func TestHeaders(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	got := a.do("GET", pods, "", "Audit-ID", "mine")
	require.Equal(t, "mine", got.header.Get("Audit-Id"))
	require.Equal(t, "no-cache, private", got.header.Get("Cache-Control"))
	require.NotEmpty(t, a.do("GET", pods, "").header.Get("Audit-Id"))
	require.Equal(t, "1", newAPI(t, apiserver.Options{FutureWait: 1}).do("GET", pods+"?resourceVersion=99999", "").header.Get("Retry-After"))

	require.NotContains(t, got.body, "\n  ")
	require.True(t, strings.HasSuffix(got.body, "\n"))
	for _, indented := range []answer{a.do("GET", pods+"?pretty=true", ""), a.do("GET", pods, "", "User-Agent", "curl/8.0")} {
		require.Contains(t, indented.body, "\n  \"kind\": \"PodList\"")
	}
}

func TestGzip(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	small := a.do("GET", configMaps, "", "Accept-Encoding", "gzip")
	require.Empty(t, small.header.Get("Content-Encoding"))
	a.must("POST", configMaps, configMap("big", `,"annotations":{"a":"`+strings.Repeat("x", 200<<10)+`"}`))
	large := a.do("GET", configMaps, "", "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", large.header.Get("Content-Encoding"))
	require.Equal(t, "Accept-Encoding", large.header.Get("Vary"))
	require.Less(t, len(large.body), 10<<10)
	// The transport's own gzip is undone by it.
	require.Len(t, a.must("GET", configMaps, "").Items, 1)
	require.Empty(t, a.do("GET", configMaps, "", "Accept-Encoding", "br").header.Get("Content-Encoding"))
}

func TestTimeoutParameter(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	for _, bad := range []string{"5", "abc", "-1s"} {
		require.Equal(t, http.StatusBadRequest, a.do("GET", pods+"?timeout="+bad, "").code)
	}
	require.Equal(t, http.StatusOK, a.do("GET", pods+"?timeout=32s", "").code)
	require.Equal(t, http.StatusOK, a.do("GET", pods+"?timeout=0s", "").code)
}

func TestPaths(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", pods, pod("a", ""))
	for path, code := range map[string]int{
		"/nope":                                 404,
		"/api/v1/pods":                          200,
		"/api/v1/pods/":                         200,
		"/api/v1/pods/a":                        404,
		"/api/v1/namespaces//pods":              200,
		"/api/v1/namespaces/default/pods/":      200,
		"/api/v1/namespaces/default":            200,
		"/api/v1/namespaces/default/status":     200,
		"/api/v1/namespaces/default/nodes":      404,
		"/api/v1/namespaces/none/pods":          200,
		pods + "/a":                             200,
		pods + "/a/status":                      200,
		pods + "/a/log":                         200, // it has no node yet
		pods + "/a/attach/x":                    404,
		pods + "/a/status/x":                    404,
		configMaps + "/a/status":                404,
		"/apis/wire.example.com/v1/widgets":     200,
		"/apis/wire.example.com/v2/widgets":     404,
		"/api/v1/watch/pods/x/status":           404,
		pods + "/a?watch=true":                  200,
		pods + "?limit=abc":                     400,
		pods + "?watch=true&timeoutSeconds=abc": 400,
		pods + "?bogus=1":                       200,
		pods + "?sendInitialEvents=true":        422,
		"/healthz":                              200,
		"/livez":                                200,
		"/readyz":                               200,
	} {
		require.Equal(t, code, a.do("GET", path, "").code, path)
	}
	for _, method := range []string{"HEAD", "OPTIONS", "POST"} {
		require.Equal(t, 405, a.do(method, pods+"/a", "").code, method)
	}
	require.Equal(t, 405, a.do("POST", "/api/v1/pods", pod("b", "")).code)
	require.Equal(t, 405, a.do("DELETE", pods+"/a/status", "").code)
	require.Len(t, a.must("GET", "/api/v1/namespaces//pods", "").Items, 1, "an empty namespace is all of them")
}
