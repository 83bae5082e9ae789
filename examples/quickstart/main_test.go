package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuickstart(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Regexp(t, regexp.MustCompile(`^cache and server are equal: 18 pods at version \d+$`), lines[len(lines)-1])
	for _, want := range []string{
		"loaded 20 pods into the server",
		"the copy is complete: 20 pods",
		`pod web-6d4cf56db6-4xk2p   Running    on "node-1"`,
		`  3 on "node-1"`,
		"pod completed              gone",
		"the connection is cut",
		"pod crashloop              gone",
		"the server had said 410, and the pods were listed again",
	} {
		require.Contains(t, out.String(), want)
	}
}

func TestQuickstartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, run(ctx, &bytes.Buffer{}), context.Canceled)
}

// A copy that differs from what the server says is told, and is an error.
func TestCompareTellsDifferences(t *testing.T) {
	server, err := apiserver.Start(t.Context(), apiserver.Options{Namespaces: []string{"wire"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	writer := &api{url: server.URL() + "/api/v1/namespaces/wire/pods", client: client}
	require.NoError(t, writer.do(t.Context(), http.MethodPost, "", map[string]any{
		"metadata": map[string]any{"name": "held"},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
	}, nil))
	var out bytes.Buffer
	d := &demo{out: &out, seen: make(chan string, 100), network: network{next: &http.Transport{}}}
	defer d.network.next.CloseIdleConnections()
	require.NoError(t, d.start(t.Context(), server.URL()))
	defer d.stop()
	<-d.seen

	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"namespace":"wire","name":"other","resourceVersion":"1"}}]}`)
	}))
	defer liar.Close()
	err = d.compare(t.Context(), &api{url: liar.URL, client: client})
	require.EqualError(t, err, "cache and server differ in 2 pods at version 1")
	require.Contains(t, out.String(), "wire/other is at version 1 on the server and not in the copy")
	require.Contains(t, out.String(), "wire/held is in the copy and not on the server")
	require.ErrorContains(t, writer.delete(t.Context(), "missing"), "404 Not Found")
}
