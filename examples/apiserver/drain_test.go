package apiserver_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
)

func TestGracefulStop(t *testing.T) {
	const delay = 10 * time.Second
	mock := clock.NewMock()
	server, err := apiserver.Start(t.Context(), apiserver.Options{
		Clock: mock, CompactEvery: -1, ShutdownDelay: delay, FutureWait: time.Hour, Definitions: []*crd.Definition{crd.Widgets()},
	})
	require.NoError(t, err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	a := &api{t: t, server: server, client: &http.Client{Transport: transport}}
	with := a.watch(configMaps + "?watch=true&resourceVersion=1&allowWatchBookmarks=true")
	without := a.watch(configMaps + "?watch=true&resourceVersion=1")
	begun := a.begin("GET", pods+later, nil)
	a.until(waiting + `"readOnly"} 2`)
	closed := make(chan error, 1)
	group(t, func() { closed <- server.Close() })
	t.Cleanup(func() { mock.Add(time.Hour) }) // so that it ends after a failure, too

	// It says that it is not ready, and goes on.
	for a.do("GET", "/readyz", "").code == 200 {
	}
	got := a.do("GET", "/readyz", "")
	require.Equal(t, 500, got.code)
	require.Contains(t, got.body, "[-]shutdown failed: reason withheld\n")
	require.Equal(t, 200, a.do("GET", "/livez", "").code)
	made := a.must("POST", configMaps, configMap("a", "")).Metadata.ResourceVersion
	with.want("ADDED a " + made)
	without.want("ADDED a " + made)
	other := a.must("POST", widgets, widget("w", "")).Metadata.ResourceVersion

	// Then watches end and nothing new is taken, while what was begun goes on.
	for a.do("GET", configMaps, "").code == 200 {
		mock.Add(delay / 10)
	}
	got = a.do("GET", configMaps, "")
	require.Equal(t, 429, got.code)
	require.Equal(t, recorded(t, "status-429-shutting-down.txt")+"\n", got.body)
	require.Equal(t, "5", got.header.Get("Retry-After"))
	require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
	require.Equal(t, 200, a.do("GET", "/livez", "").code)
	require.Equal(t, 500, a.do("GET", "/readyz", "").code)
	with.want("BOOKMARK  " + other)
	require.Empty(t, with.rest())
	require.Empty(t, without.rest())
	select {
	case <-closed:
		t.Fatal("it did not wait for what was begun")
	default:
	}
	require.Equal(t, 504, begun.after(mock, time.Second).code)
	require.NoError(t, <-closed)
	_, err = a.send(t.Context(), "GET", "/livez", "")
	require.Error(t, err)
}
