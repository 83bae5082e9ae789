package apiserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// spy allows everything and remembers what it was asked last.
type spy struct {
	mu   sync.Mutex
	last auth.Attributes // guarded by mu
}

func (s *spy) Authorize(_ context.Context, a auth.Attributes) (bool, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = a
	return true, "", nil
}

// once is a client that has read enough with the first piece of an answer.
type once struct {
	*httptest.ResponseRecorder
	enough context.CancelFunc
}

func (o once) Flush()                           { o.enough() }
func (o once) SetWriteDeadline(time.Time) error { return nil }

// answered is what can be told of an answer: what it shows, of which kind.
type answered struct {
	Kind     string
	Metadata metadata
	Items    []answered
	Details  struct{ Name, Kind string }
	// Object is that of an event.
	Object *answered
}

// agree checks that an answer is what was authorized.
func agree(t *testing.T, a auth.Attributes, body string) {
	var got answered
	require.NoError(t, json.NewDecoder(strings.NewReader(body)).Decode(&got), body)
	if got.Object != nil {
		require.Equal(t, "watch", a.Verb)
		got.Items = []answered{*got.Object}
	}
	if a.Resource == "" {
		require.Contains(t, []string{"", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"}, got.Kind, "%+v: %s", a, body)
		return
	}
	k, ok := kinds.Table().Find(a.Group, a.Version, a.Resource)
	require.True(t, ok, "%+v: %s", a, body)
	same := func(o answered) {
		if k.Namespaced && a.Namespace != "" {
			require.Equal(t, a.Namespace, o.Metadata.Namespace, "%+v: %s", a, body)
		}
		if a.Name != "" {
			require.Equal(t, a.Name, o.Metadata.Name, "%+v: %s", a, body)
		}
	}
	switch a.Verb {
	case "list", "watch", "deletecollection":
		require.True(t, got.Object != nil || got.Kind == k.Kind+"List", "%+v: %s", a, body)
		for _, item := range got.Items {
			same(item)
		}
	case "get", "update", "patch", "create":
		if got.Kind == "Status" { // of a binding
			require.Equal(t, "binding", a.Subresource)
			return
		}
		require.True(t, got.Kind == k.Kind || got.Kind == "Scale" && a.Subresource == "scale", "%+v: %s", a, body)
		same(got)
	case "delete":
		if got.Kind == "Status" {
			require.Equal(t, []string{a.Name, a.Resource}, []string{got.Details.Name, got.Details.Kind}, "%+v: %s", a, body)
			return
		}
		require.Equal(t, k.Kind, got.Kind)
		same(got)
	default:
		require.Fail(t, "such a request was answered", "%+v: %s", a, body)
	}
}

// What the authorizer is asked is what the router answers, whatever the path.
func FuzzAuthorizedIsServed(f *testing.F) {
	asked := &spy{}
	a := newAPI(f, apiserver.Options{Authorizer: asked, Namespaces: []string{"default", "other", "pods", "status", "watch"}})
	for _, namespace := range []string{"default", "other", "pods", "status", "watch"} {
		for _, name := range []string{"status", "pods", "a"} {
			a.must("POST", "/api/v1/namespaces/"+namespace+"/pods", pod(name, ""))
			a.must("POST", "/api/v1/namespaces/"+namespace+"/configmaps", configMap(name, ""))
		}
	}
	a.must("POST", "/api/v1/nodes", `{"metadata":{"name":"pods"}}`)
	for _, path := range []string{
		"/api/v1/pods", "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/pods/a", "/api/v1/namespaces/status/pods/status/status",
		"/api/v1/namespaces/default/status", "/api/v1/namespaces/status", "/api/v1/namespaces/pods/finalize", "/api/v1/namespaces//pods", "/api/v1/namespaces//pods/a",
		"//api/v1/pods", "/api//v1/pods", "/api/v1/../pods", "/api/v1/watch/pods", "/api/v1/watch/namespaces/default/pods/a", "/api/v1/watch/namespaces/watch/configmaps",
		"/api/v1/watch/namespaces", "/api/v1/watch/namespaces/pods", "/api/v1/pods//status", "/api/v1/namespaces/default/pods//binding", "/api/v1/pods/", "/api/v1/pods//",
		"/apis//v1/pods", "/apis/apps/v1/deployments", "/apis/apps/v1/namespaces/pods/deployments/a/scale", "/apis", "/apis/", "/api/v1/", "/apis/apps", "/version",
		"/API/V1/PODS", "/api/v1/namespaces/default/pods/a/status/x", "/api/v1/nodes/pods", "/api/v1/namespaces/other/configmaps/a", "/openapi/v3", "/", "", "a",
		"/api/v1/namespaces/default/nodes", "/api/v1/nodes/pods/status", "/api/v1/namespaces/default/pods/a/binding",
	} {
		for i := range methods {
			f.Add(path, "", byte(i))
			f.Add(path, "watch=1", byte(i))
		}
		f.Add(path, "fieldSelector=metadata.name%3Da", byte(0))
		f.Add(path, "fieldSelector=metadata.name%3Da&watch=true", byte(0))
		f.Add(path, "fieldSelector=metadata.namespace%3Dother", byte(0))
	}
	f.Fuzz(func(t *testing.T, path, query string, method byte) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := methods[int(method)%len(methods)]
		r := (&http.Request{
			Method: m.method, URL: &url.URL{Path: path, RawQuery: query + "&dryRun=All&timeoutSeconds=1&timeout=1s"}, Host: "h",
			Header: http.Header{"Accept": {"application/json"}, "Content-Type": {m.media}}, Body: http.NoBody,
		}).WithContext(ctx)
		if m.body != "" {
			r.Body = readCloser{strings.NewReader(m.body)}
		}
		got := once{httptest.NewRecorder(), cancel}
		aborted := serve(a.server, got, r)
		body := got.Body.String()
		if got.Code >= 300 || body == "" || aborted && !strings.Contains(body, "\n") || !strings.HasPrefix(body, "{") {
			return
		}
		asked.mu.Lock()
		attributes := asked.last
		asked.mu.Unlock()
		agree(t, attributes, body)
	})
}

// methods are requests that are as likely as can be to succeed.
var methods = []struct{ method, media, body string }{
	{"GET", "", ""},
	{"POST", "application/json", `{"metadata":{"name":"new"},"target":{"name":"n"},"spec":{"containers":[{"name":"c","image":"i"}]}}`},
	{"PUT", "application/json", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`},
	{"PATCH", "application/merge-patch+json", `{"metadata":{"labels":{"x":"y"}}}`},
	{"DELETE", "", ""},
	{"HEAD", "", ""},
	{"FROB", "", ""},
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// serve has a request answered, and reports whether the answer was broken off.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (aborted bool) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		} else if p != nil {
			aborted = true
		}
	}()
	h.ServeHTTP(w, r)
	return false
}
