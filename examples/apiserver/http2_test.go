package apiserver_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/wire"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// A watch without events outlives the time that connections are kept without a request, and the pings of both sides.
func TestIdleWatchOverHTTP2(t *testing.T) {
	const idle = 50 * time.Millisecond
	a := newSecureAPI(t, apiserver.Options{
		BookmarkEvery: 8 * idle, Limits: apiserver.Limits{IdleTimeout: idle, PingIdle: 4 * idle},
	})
	a.client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{SendPingTimeout: 4 * idle}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.server.URL()+configMaps+"?watch=true&allowWatchBookmarks=true", nil)
	require.NoError(t, err)
	response, err := a.client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, 2, response.ProtoMajor)
	lines := json.NewDecoder(bufio.NewReader(response.Body))
	next := func() (e struct{ Type string }) {
		require.NoError(t, lines.Decode(&e))
		return e
	}
	for range 3 {
		require.Equal(t, "BOOKMARK", next().Type)
	}
	a.must("POST", configMaps, configMap("late", ""))
	e := next()
	for e.Type == "BOOKMARK" {
		e = next()
	}
	require.Equal(t, "ADDED", e.Type)
}

// A connection that has gone dead without a word is found out by both sides: the informer goes on over another one, and
// the server forgets the watch.
func TestDeadConnectionOverHTTP2(t *testing.T) {
	a := newSecureAPI(t, apiserver.Options{Limits: apiserver.Limits{PingIdle: 200 * time.Millisecond}})
	front, err := wire.Loopback()
	require.NoError(t, err)
	proxy := wire.NewProxy(front, wire.Remote(strings.TrimPrefix(a.server.URL(), "https://")), wire.ProxyOptions{})
	t.Cleanup(proxy.Close)
	path, err := a.server.Kubeconfig("admin", apiserver.Admin())
	require.NoError(t, err)
	admin := certificateOf(t, path)
	source, err := rest.New[*corev1.ConfigMap]("https://"+front.Addr().String()+configMaps, rest.Options{
		TLS: &tls.Config{RootCAs: rootsOf(t, directoryOf(t, a)), Certificates: []tls.Certificate{admin}}, PingIdle: 200 * time.Millisecond,
		PingTimeout: 200 * time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(source.CloseIdleConnections)
	a.must("POST", configMaps, configMap("before", ""))
	heard := following(t, source)
	require.Equal(t, "before", <-heard)
	require.Eventually(t, func() bool { return a.watches() == 1 }, time.Minute, time.Millisecond)

	require.NoError(t, proxy.Inject(fakes.Fault{Kind: fakes.FaultBlackHole}))
	a.must("POST", configMaps, configMap("after", ""))
	require.Eventually(t, func() bool { return a.watches() == 0 }, time.Minute, time.Millisecond, "the server waits for a dead client")
	proxy.Heal()
	require.Equal(t, "after", <-heard)
}

// watches returns how many watches of config maps run.
func (a *api) watches() int {
	for line := range strings.Lines(a.do("GET", "/metrics", "").body) {
		if strings.HasPrefix(line, `apiserver_longrunning_requests{group="",resource="configmaps"`) {
			return int(line[len(line)-2] - '0')
		}
	}
	return 0
}
