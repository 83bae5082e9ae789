package rest_test

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

func TestNewRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		url    string
		o      rest.Options
		faults []string
	}{
		"no URL":             {"http://a b/", rest.Options{}, []string{"not a URL"}},
		"relative":           {"/api/v1/pods", rest.Options{}, []string{"scheme"}},
		"no host":            {"https:///api/v1/pods", rest.Options{}, []string{"no host"}},
		"a query":            {"https://me:secret@h/api/v1/pods?limit=1", rest.Options{}, []string{"query"}},
		"no path":            {"https://h/", rest.Options{}, []string{"no path"}},
		"no namespace":       {"https://h/api/v1/namespaces//pods", rest.Options{}, []string{"empty path segment"}},
		"two namespaces":     {"https://h/api/v1/namespaces/a/pods", rest.Options{Namespaces: []string{"b"}}, []string{"namespace already"}},
		"namespaces":         {"https://h/api/v1/pods", rest.Options{Namespaces: []string{"", "a/b", "..", "a", "a"}}, []string{"empty name", `"a/b"`, `".."`, "twice"}},
		"all faults at once": {"ftp://h/x", rest.Options{Client: http.DefaultClient, TLS: &tls.Config{}, Token: "a", TokenFile: "b", MaxObjectBytes: -1, PingIdle: -1, Skip: []string{"x"}, Decode: func([]byte, any) error { return nil }}, []string{"scheme", "Decode and Skip", "Client and TLS", "Token and TokenFile", "MaxObjectBytes", "PingIdle"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rest.New[*Pod](test.url, test.o)
			require.NotContains(t, err.Error(), "secret")
			for _, fault := range test.faults {
				require.ErrorContains(t, err, fault)
			}
		})
	}
}

func TestNewRefusesInterfaces(t *testing.T) {
	_, err := rest.New[listwatch.Object]("https://h/api/v1/pods", rest.Options{})
	require.ErrorContains(t, err, "listwatch.Object is an interface: nothing can be decoded into it")
}

// Scenario 72. Lists and watches both bear the namespace and the selector.
func TestNamespaceAndSelectorAreAskedFor(t *testing.T) {
	s := newScript(t, body(podList("9", "")), body(""), body(podList("9", "")), body(podList("9", "")))
	o := rest.Options{Client: s.server.Client(), Namespaces: []string{"a"}, LabelSelector: "app=web"}
	src, err := rest.New[*Pod](s.server.URL+"/api/v1/pods/", o)
	require.NoError(t, err)
	_, _, err = list(src)
	require.NoError(t, err)
	_, err = watch(src, listwatch.WatchOptions{ResourceVersion: "9"})
	require.NoError(t, err)
	o.Namespaces = nil
	for _, path := range []string{"/prefix/apis/apps/v1/namespaces/a/deployments", "/api/v1/namespaces"} {
		src, err = rest.New[*Pod](s.server.URL+path, o)
		require.NoError(t, err)
		_, _, err = list(src)
		require.NoError(t, err)
	}
	var paths []string
	for _, r := range s.requests {
		paths = append(paths, r.URL.Path)
		require.Equal(t, "app=web", r.URL.Query().Get("labelSelector"))
	}
	require.Equal(t, []string{"/api/v1/namespaces/a/pods", "/api/v1/namespaces/a/pods", "/prefix/apis/apps/v1/namespaces/a/deployments", "/api/v1/namespaces"}, paths)
}

func TestHeaders(t *testing.T) {
	s := newScript(t, body(podList("9", "")))
	header := http.Header{"X-Own": {"1"}, "Accept": {"text/html"}}
	src := source[*Pod](s, rest.Options{Header: header, UserAgent: "ua", Token: "secret"})
	header.Set("X-Own", "changed later")
	_, _, err := list(src)
	require.NoError(t, err)
	got := s.requests[0].Header
	require.Equal(t, []string{"1", "application/json", "ua", "Bearer secret"}, []string{got.Get("X-Own"), got.Get("Accept"), got.Get("User-Agent"), got.Get("Authorization")})
}

func TestTokenFile(t *testing.T) {
	mock := clock.NewMock()
	file := filepath.Join(t.TempDir(), "token")
	unauthorized := failure(401, "application/json", `{"code":401}`)
	fine := body(podList("9", ""))
	s := newScript(t, fine, fine, fine, fine, unauthorized, fine, fine)
	src := source[*Pod](s, rest.Options{TokenFile: file, Clock: mock})
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	ask := func(want string) {
		t.Helper()
		_, _, _ = list(src)
		require.Equal(t, "Bearer "+want, s.requests[len(s.requests)-1].Header.Get("Authorization"))
	}

	_, _, err := list(src)
	require.ErrorIs(t, err, listwatch.ErrUnauthorized)
	require.ErrorIs(t, err, os.ErrNotExist)
	write(" \n")
	_, _, err = list(src)
	require.ErrorIs(t, err, listwatch.ErrUnauthorized)
	require.ErrorContains(t, err, "empty")
	require.Empty(t, s.requests)

	write("one\n")
	ask("one")
	write("two")
	mock.Add(9 * time.Second)
	ask("one") // not looked at again so soon
	mock.Add(time.Second)
	ask("two")
	require.NoError(t, os.Remove(file))
	mock.Add(time.Minute)
	ask("two") // the old one is better than none
	write("three")
	ask("two")   // is answered 401
	ask("three") // so the file is read at once
	write("four")
	ask("three")
}

// Requests that are refused at the same time share the token.
func TestRefusedTokensUnderRace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("one"), 0o600))
	src, err := rest.New[*Pod]("http://server/api/v1/pods", rest.Options{
		TokenFile: file, Client: &http.Client{Transport: failing{code: 401}},
	})
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				if _, _, err := list(src); !errors.Is(err, listwatch.ErrUnauthorized) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestInCluster(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "Bearer tok", r.Header.Get("Authorization"))
		body(podList("9", "", pod("a", "1")))(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	address, err := url.Parse(server.URL)
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(address.Host)
	require.NoError(t, err)
	env := map[string]string{"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
	getenv := func(name string) string { return env[name] }
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}

	_, err = rest.InClusterAt(dir, func(string) string { return "" })
	require.ErrorContains(t, err, "KUBERNETES_SERVICE_HOST")
	_, err = rest.InClusterAt(dir, getenv)
	require.ErrorIs(t, err, os.ErrNotExist)
	write("token", "tok\n")
	_, err = rest.InClusterAt(dir, getenv)
	require.ErrorIs(t, err, os.ErrNotExist)
	write("ca.crt", "none")
	_, err = rest.InClusterAt(dir, getenv)
	require.ErrorContains(t, err, "no certificate")
	write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	config, err := rest.InClusterAt(dir, getenv)
	require.NoError(t, err)
	require.Empty(t, config.Namespace())
	write("namespace", "own\n")
	config, err = rest.InClusterAt(dir, getenv)
	require.NoError(t, err)
	require.Equal(t, "own", config.Namespace())

	src, err := rest.New[*Pod](config.URL("/api/v1/pods"), config.Options())
	require.NoError(t, err)
	defer src.CloseIdleConnections()
	r, _, err := list(src)
	require.NoError(t, err)
	require.Len(t, r.objects, 1)

	env["KUBERNETES_SERVICE_HOST"] = "fd00::1"
	config, err = rest.InClusterAt(dir, getenv)
	require.NoError(t, err)
	require.Equal(t, "https://[fd00::1]:"+port+"/api/v1/pods", config.URL("api/v1/pods"))
	_, err = rest.InCluster()
	require.Error(t, err, "this is no pod")
}

// Numbers of an Object are exact as far as the server's own are.
func TestObjectNumbers(t *testing.T) {
	text := strings.Replace(podList("9", "", pod("a", "1")), `"spec":{`, `"a":1,"b":9223372036854775807,"c":12345678901234567890,"d":1.5,"f":[1,{"g":-2}],"h":1e3,"spec":{`, 1)
	r, _, err := list(source[rest.Object](newScript(t, body(text)), rest.Options{}))
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, r.objects[0].Decode(&got))
	require.Empty(t, cmp.Diff(map[string]any{"a": int64(1), "b": int64(9223372036854775807), "c": 12345678901234567890.0, "d": 1.5, "f": []any{int64(1), map[string]any{"g": int64(-2)}}, "h": 1000.0,
		"metadata": map[string]any{"name": "a", "namespace": "ns", "uid": "u-a", "resourceVersion": "1"}, "spec": map[string]any{"nodeName": "n1"}}, got))
	require.Equal(t, []string{"a", "ns", "u-a", "1"}, []string{r.objects[0].GetName(), r.objects[0].GetNamespace(), r.objects[0].GetUID(), r.objects[0].GetResourceVersion()})
	require.Empty(t, rest.Object{}.GetName())
}

func TestSkip(t *testing.T) {
	text := strings.Replace(podList("9", "", pod("a", "1")), `"uid":`, `"managedFields":[{"manager":"m"}],"uid":`, 1)
	r, _, err := list(source[rest.Object](newScript(t, body(text)), rest.Options{Skip: []string{"metadata.managedFields", "spec"}}))
	require.NoError(t, err)
	require.Equal(t, `{"metadata":{"name":"a","namespace":"ns","uid":"u-a","resourceVersion":"1"}}`, r.objects[0].String())
}
