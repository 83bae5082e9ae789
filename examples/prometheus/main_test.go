package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPrintsMetricsOnce(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), "", &out))
	for _, line := range []string{
		`listwatch_informer_objects{informer="pods"} 3`,
		`listwatch_handler_delivered_total{handler="enqueue",informer="pods"} 3`,
		`workqueue_depth{name="pods"} 0`,
		`workqueue_unfinished_work_seconds{name="pods"} 0`,
	} {
		require.Contains(t, out.String(), "\n"+line+"\n")
	}
	require.NotContains(t, out.String(), `workqueue_retries_total{name="pods"} 0`)
}

func TestServes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	done := make(chan error)
	go func() { done <- run(ctx, "127.0.0.1:0", out) }()
	addresses := bufio.NewScanner(in)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, want := range []string{"# TYPE workqueue_depth gauge", `<tr class="informer" data-name="pods">`} {
		require.True(t, addresses.Scan())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, addresses.Text(), nil)
		require.NoError(t, err)
		response, err := client.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Contains(t, string(body), want)
	}
	cancel()
	require.NoError(t, <-done)
}

func TestAddressThatCannotBe(t *testing.T) {
	require.Error(t, run(t.Context(), "127.0.0.1:no", io.Discard))
}
