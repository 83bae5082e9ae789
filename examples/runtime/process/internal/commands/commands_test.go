package commands

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call runs a command and returns its exit code and what it writes.
func call(in string, name string, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = all()[name](args, streams{strings.NewReader(in), &o, &e})
	return code, o.String(), e.String()
}

func TestCommands(t *testing.T) {
	t.Setenv("SOME", "thing")
	t.Setenv("HOSTNAME", "web-1")
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, []byte("text\n"), 0o600))
	for _, test := range []struct {
		command string
		code    int
		out     string
		err     string
	}{
		{"echo a b", 0, "a b\n", ""},
		{"env SOME", 0, "thing\n", ""},
		{"env NONE", 1, "", ""},
		{"env A B", 2, "", "usage: env [NAME]\n"},
		{"hostname", 0, "web-1\n", ""},
		{"exit 4", 4, "", ""},
		{"exit", 2, "", "usage: exit CODE\n"},
		{"cat", 0, "given", ""},
		{"cat " + file + " " + file, 0, "text\ntext\n", ""},
		{"cat /none", 1, "", "open /none: no such file or directory\n"},
		{"sleep 0", 0, "", ""},
		{"sleep 1ms", 0, "", ""},
		{"sleep x", 1, "", "time: invalid duration \"x\"\n"},
		{"burn -cpu 2000", 1, "", "burn: -cpu is 0 to 1000, -memory not negative\n"},
		{"fetch", 2, "", "usage: fetch [-timeout DURATION] URL\n"},
	} {
		words := strings.Fields(test.command)
		code, out, errs := call("given", words[0], words[1:]...)
		require.Equal(t, []any{test.code, test.out, test.err}, []any{code, out, errs}, test.command)
	}
	_, out, _ := call("", "env")
	require.Contains(t, out, "SOME=thing\n")
	require.True(t, Has("web"))
	require.False(t, Has("nginx"))
	require.Contains(t, Names(), "web")
}

func TestSite(t *testing.T) {
	var log bytes.Buffer
	server := httptest.NewServer(site("web-1", &log))
	defer server.Close()
	get := func(path string) (int, string) {
		answer, err := http.Get(server.URL + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	for _, step := range []struct {
		path string
		code int
		text string
	}{
		{"/", 200, "web-1\n"}, {"/healthz", 200, "ok\n"}, {"/fail", 200, ""}, {"/healthz", 500, "made to fail\n"},
		{"/heal", 200, ""}, {"/healthz", 200, "ok\n"}, {"/other", 404, "404 page not found\n"},
	} {
		code, text := get(step.path)
		require.Equal(t, []any{step.code, step.text}, []any{code, text}, step.path)
	}
	require.Equal(t, "GET /\n", log.String())

	code, out, _ := call("", "fetch", server.URL+"/")
	require.Equal(t, []any{0, "web-1\n"}, []any{code, out})
	code, _, errs := call("", "fetch", server.URL+"/other")
	require.Equal(t, []any{1, "404 Not Found\n"}, []any{code, errs})
	http.DefaultClient.CloseIdleConnections()
}

func TestHost(t *testing.T) {
	for ip, want := range map[string]string{"": "", "10.244.1.2": "", "127.244.1.2": "127.244.1.2", "x": ""} {
		t.Setenv("POD_IP", ip)
		require.Equal(t, want, host())
	}
}
