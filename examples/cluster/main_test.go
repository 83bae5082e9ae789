package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kubectltest"
	"github.com/seed3bce33ad/listwatch/examples/cluster/crew"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
	"github.com/seed3bce33ad/listwatch/examples/runtime/runtimetest"
)

// TestMain builds kubectl before the tests are in a network of their own, from which nothing could be fetched.
func TestMain(m *testing.M) {
	process.Reexec()
	crew.Reexec()
	program, err := kubectltest.Build(context.Background())
	if err == nil {
		err = os.Setenv("KUBECTL", program)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubectl:", err)
		os.Exit(1)
	}
	runtimetest.Main(m)
}

// left returns what pods have on this machine: the directories of their sandboxes, and links as root.
func left(t *testing.T, dir string) (boxes, links []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // it goes just now
			return nil
		case err == nil && filepath.Base(filepath.Dir(path)) == "sandboxes":
			boxes = append(boxes, path)
			return filepath.SkipDir
		}
		return err
	})
	require.NoError(t, err)
	all, err := net.Interfaces()
	require.NoError(t, err)
	for _, l := range all {
		if l.Flags&net.FlagLoopback == 0 && !strings.HasPrefix(l.Name, "pods-") { // that are the bridges of nodes
			links = append(links, l.Name)
		}
	}
	return boxes, links
}

// gone waits until nothing of pods is left.
func gone(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool {
		boxes, links := left(t, dir)
		return len(boxes)+len(links) == 0
	}, time.Minute, 50*time.Millisecond)
}

func TestDemo(t *testing.T) {
	for name, args := range map[string][]string{
		"without root": {"--demo", "--plain"}, "processes": {"--demo", "--processes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var out bytes.Buffer
			require.NoError(t, run(t.Context(), append(args, "--dir", dir), &out), "%s", &out)
			text := out.String()
			require.Contains(t, text, "11. The namespace is deleted, and all in it")
			require.Contains(t, text, "caches")
			require.NotContains(t, text, "panic")
			gone(t, dir)
			links, err := net.Interfaces()
			require.NoError(t, err)
			require.Len(t, links, 1, "the bridges are gone")
		})
	}
}

func TestFlags(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"--help"}, &out))
	for _, flag := range []string{"-dir", "-demo", "-processes", "-hollow", "-nodes", "-plain", "-listen"} {
		require.Contains(t, out.String(), flag)
	}
	require.Error(t, run(t.Context(), []string{"--nodes", "-1"}, &out))
	require.Error(t, run(t.Context(), []string{"more"}, &out))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	require.ErrorContains(t, run(t.Context(), []string{"--listen", listener.Addr().String()}, &out), "address already in use")
}

// It runs until it is told to end, and goes on later with the same directory.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		told := make(chan string, 1000)
		done := make(chan error, 1)
		go func() {
			done <- run(ctx, []string{"--dir", dir, "--listen", "127.0.0.1:0", "--nodes", "1"}, writer(told))
		}()
		for line := range told {
			if strings.Contains(line, "ends with Ctrl-C") {
				break
			}
		}
		k := kubectl{t: t, config: filepath.Join(dir, "pki", "admin.kubeconfig")}
		k.must("wait --for=condition=Ready node/node1 --timeout=60s")
		k.run("create configmap kept") // the second time it is there already
		k.must("get configmap kept")
		cancel()
		require.NoError(t, <-done)
	}
}

type writer chan<- string

func (w writer) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// kubectl runs commands.
type kubectl struct {
	t      *testing.T
	config string
}

// run returns what a command prints, and whether it succeeds.
func (k kubectl) run(line string) (string, error) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, os.Getenv("KUBECTL"), strings.Fields(line)...)
	c.Env = []string{"HOME=" + filepath.Dir(k.config), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + k.config}
	out, err := c.CombinedOutput()
	k.t.Logf("kubectl %s\n%s", line, out)
	return strings.TrimSpace(string(out)), err
}

// must returns what a command prints that has to succeed.
func (k kubectl) must(line string) string {
	k.t.Helper()
	out, err := k.run(line)
	require.NoError(k.t, err, out)
	return out
}

// getJSON reads what is at an address.
func getJSON(ctx context.Context, client *http.Client, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}
