package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader, writer := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx, []string{"--listen", "127.0.0.1:0", "--data-dir", t.TempDir()}, writer); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(reader).ReadString('\n')
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(strings.TrimSpace(line) + "/healthz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	cancel()
	running.Wait()
}

func TestRunRefuses(t *testing.T) {
	require.Error(t, run(t.Context(), []string{"--nope"}, io.Discard))
	require.Error(t, run(t.Context(), []string{"--listen", "nope"}, io.Discard))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, run(ctx, []string{"--etcd-servers", "http://127.0.0.1:1,http://127.0.0.1:2"}, io.Discard), context.Canceled)
	require.ErrorContains(t, run(t.Context(), []string{"--etcd-cafile", "x"}, io.Discard), "are for --etcd-servers")
}
