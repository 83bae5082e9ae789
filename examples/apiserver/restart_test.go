package apiserver_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// childDir is the variable that makes the test binary a server on that directory.
const childDir = "APISERVER_TEST_DIR"

// runChild serves until it is killed.
func runChild(dir string) {
	server, err := apiserver.Start(context.Background(), apiserver.Options{Dir: dir})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(server.URL())
	select {}
}

func TestKilledServerKeepsTheData(t *testing.T) {
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	url := strings.TrimSpace(line)
	require.Contains(t, url, "http://")

	remote := &remoteAPI{t: t, url: url}
	want := []string{}
	for i := range 20 {
		want = append(want, remote.create(configMap(fmt.Sprintf("c-%02d", i), "")))
	}
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())

	a := newAPI(t, apiserver.Options{Dir: dir})
	list := a.must("GET", configMaps, "")
	got := []string{}
	for _, o := range list.Items {
		got = append(got, o.Metadata.UID+" "+o.Metadata.ResourceVersion)
	}
	require.Equal(t, want, got, "what was answered is there, at its version")
	// The history is there, too.
	w := a.watch(configMaps + "?watch=true&resourceVersion=" + strings.Fields(want[17])[1])
	first, err := w.next()
	require.NoError(t, err)
	require.Equal(t, "c-18", first.Object.Metadata.Name)
}

func TestRestoredServerIsTooOld(t *testing.T) {
	dir := t.TempDir()
	first, err := apiserver.Start(t.Context(), apiserver.Options{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, first.Close())
	noting := &notingClock{Clock: clock.New(), atOnce: 3 * time.Second}
	a := newAPI(t, apiserver.Options{Dir: dir, Clock: noting})
	// Scenario 115: a client from the future of this server.
	got := a.do("GET", configMaps+"?resourceVersion=1200&resourceVersionMatch=NotOlderThan", "")
	require.Equal(t, 504, got.code)
	require.Len(t, noting.between(3*time.Second, 3*time.Second), 1, "it waits by default")
	w := a.watch(configMaps + "?watch=true&resourceVersion=1200&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&allowWatchBookmarks=true")
	events := w.rest()
	require.Len(t, events, 1)
	require.Equal(t, "ERROR", events[0].Type)
	require.JSONEq(t, strings.ReplaceAll(unnumbered(recorded(t, "watch-504-too-large-rv.jsonl")), "99999999", "1200"),
		unnumbered(fmt.Sprintf(`{"type":"ERROR","object":%s}`, strings.ReplaceAll(got.body, "\n", ""))))
	require.Equal(t, 504, events[0].Object.Code)
	require.Len(t, noting.between(3*time.Second, 3*time.Second), 2)
	// A plain watch from there is silent, to its end.
	require.Empty(t, a.watch(configMaps+"?watch=true&resourceVersion=1200&timeoutSeconds=1&allowWatchBookmarks=true").rest())
}
