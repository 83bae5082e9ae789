// Package goget_test proves that the library can be fetched and used from outside this tree, by
// the code that README shows.
package goget_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	path    = "github.com/seed3bce33ad/listwatch"
	version = "v0.0.1"
	tree    = "../.."
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is what README leaves to the reader.
const start = `package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
`

func TestReadmeControllerFromOutside(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(tree, "README.md"))
	require.NoError(t, err)
	_, code, found := strings.Cut(string(readme), "```go\n")
	require.True(t, found, "README shows no code")
	code, _, _ = strings.Cut(code, "```")
	_, body, _ := strings.Cut(code, "func run(")
	require.LessOrEqual(t, strings.Count(body, "\n"), 30, "the controller grew too long for README")

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "controller.go"), []byte(code), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(start), 0o600))
	env := environment(t)
	command(t, dir, env, "go", "mod", "init", "example.com/outside")
	command(t, dir, env, "go", "get", path+"@"+version)
	command(t, dir, env, "go", "mod", "tidy", "-e")
	command(t, dir, env, "go", "build", "-o", "controller", ".")

	server := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := exec.CommandContext(ctx, filepath.Join(dir, "controller"), server.URL)
	run.Stderr = os.Stderr
	out, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	lines := bufio.NewScanner(out)
	var got []string
	for len(got) < 2 && lines.Scan() {
		got = append(got, lines.Text())
	}
	require.ElementsMatch(t, []string{"default/web is on node-1", "default/db is on node-2"}, got)
	cancel()
	_, _ = io.Copy(io.Discard, out)
	require.Error(t, run.Wait(), "it was killed")
}

// environment returns one in which the go command knows this tree as the published module, has a
// module cache of its own, and finds everything else in the ordinary cache.
func environment(t *testing.T) []string {
	proxy := filepath.Join(t.TempDir(), "proxy")
	dir := filepath.Join(proxy, path, "@v")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	require.NoError(t, err)
	require.NoError(t, zip.CreateFromDir(f, module.Version{Path: path, Version: version}, tree))
	require.NoError(t, f.Close())
	mod, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	require.NoError(t, err)
	for name, content := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".mod": mod,
		version + ".info": fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	known, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	cache := t.TempDir()
	env := append(os.Environ(),
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(strings.TrimSpace(string(known)), "cache", "download"),
		"GOMODCACHE="+cache, "GOWORK=off", "GOSUMDB=off", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local",
	)
	t.Cleanup(func() { // its files are read-only
		clean := exec.Command("go", "clean", "-modcache")
		clean.Env = env
		if out, err := clean.CombinedOutput(); err != nil {
			t.Errorf("clean: %v\n%s", err, out)
		}
	})
	return env
}

func command(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, env
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s %v:\n%s", name, args, out)
}

// serve answers lists with two pods and keeps watches open. It has no streaming lists.
func serve(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch q := r.URL.Query(); {
		case r.URL.Path != "/api/v1/pods":
			http.NotFound(w, r)
		case q.Has("sendInitialEvents"):
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
		case q.Has("watch"):
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
				{"metadata":{"namespace":"default","name":"web","uid":"u1","resourceVersion":"5"},"spec":{"nodeName":"node-1"}},
				{"metadata":{"namespace":"default","name":"db","uid":"u2","resourceVersion":"6"},"spec":{"nodeName":"node-2"}}]}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}
