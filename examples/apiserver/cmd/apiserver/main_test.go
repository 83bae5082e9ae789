package main

import (
	"bufio"
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var update = flag.Bool("help.update", false, "write what --help says into testdata/help.txt")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// started runs the command until the test is over, and returns the lines that it begins with.
func started(t *testing.T, lines int, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		err := run(ctx, append([]string{"--listen", "127.0.0.1:0"}, args...), writer)
		if err != nil {
			t.Error(err)
		}
		_ = writer.CloseWithError(err) // it never fails
	})
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	var told []string
	from := bufio.NewReader(reader)
	for range lines {
		line, err := from.ReadString('\n')
		require.NoError(t, err)
		told = append(told, strings.TrimSpace(line))
	}
	return told
}

func TestRunInsecure(t *testing.T) {
	url := started(t, 1, "--insecure-http", "--data-dir", t.TempDir())[0]
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url + "/healthz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}

// Without more being said the server speaks TLS and lets in who has one of the kubeconfigs that it tells of.
func TestRun(t *testing.T) {
	told := started(t, 3, "--kubelets", "n1")
	require.True(t, strings.HasPrefix(told[0], "https://127.0.0.1:"), told[0])
	for i, name := range []string{"kubeconfig of the administrator: ", "kubeconfig of the kubelet of n1: "} {
		path, ok := strings.CutPrefix(told[i+1], name)
		require.True(t, ok, told[i+1])
		config, err := clientcmd.BuildConfigFromFlags("", path)
		require.NoError(t, err)
		require.Equal(t, told[0], config.Host)
		client, err := rest.HTTPClientFor(config)
		require.NoError(t, err)
		response, err := client.Get(told[0] + "/healthz")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, "HTTP/2.0", response.Proto)
		client.CloseIdleConnections()
	}
}

// What the command says of itself reads well: see testdata/help.txt.
func TestHelp(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"--help"}, &out))
	if *update {
		require.NoError(t, os.WriteFile("testdata/help.txt", []byte(out.String()), 0o666))
		return
	}
	want, err := os.ReadFile("testdata/help.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), out.String(), "after a change: go test ./examples/apiserver/cmd/apiserver -run Help -help.update")
}

func TestRunRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"flag provided but not defined":       {"--nope"},
		"missing port in address":             {"--listen", "nope"},
		"are for --etcd-servers":              {"--etcd-cafile", "x"},
		"plain HTTP is for loopback":          {"--insecure-http", "--listen", "0.0.0.0:0"},
		"have no meaning with":                {"--insecure-http", "--token-auth-file", "x"},
		"there is no \"Node\"":                {"--authorization-mode", "Node"},
		"no such file":                        {"--listen", "127.0.0.1:0", "--token-auth-file", "missing.csv"},
		"kubeconfig \"kubelet-a/b\": may not": {"--listen", "127.0.0.1:0", "--kubelets", "a/b"},
	} {
		require.ErrorContains(t, run(t.Context(), args, io.Discard), want, "%q", args)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, run(ctx, []string{"--etcd-servers", "http://127.0.0.1:1,http://127.0.0.1:2"}, io.Discard), context.Canceled)
}
