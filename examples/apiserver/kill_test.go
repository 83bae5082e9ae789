package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var kills = flag.Int("apiserver.kills", 3, "how often TestKilledUnderLoad kills the server")

// child is a server in another process.
type child struct {
	cmd *exec.Cmd
	url string
}

func startChild(t *testing.T, dir string) child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "http://")
	return child{cmd, strings.TrimSpace(line)}
}

func (c child) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, c.cmd.Process.Kill())
	require.Error(t, c.cmd.Wait())
}

// load is what writers have been told, and what a watcher has seen.
type load struct {
	client http.Client

	mu sync.Mutex
	// The following are guarded by mu.
	acknowledged map[string]int // by name: the last version that was answered
	asked        map[string]int // by name: the last number that was sent
	newest       int            // version that anybody was told
	errs         []error
}

func (l *load) fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, fmt.Errorf(format, args...))
}

// write writes one object again and again until the server is killed. What is answered is noted.
func (l *load) write(ctx context.Context, url, name string, acknowledged func()) {
	for ctx.Err() == nil {
		l.mu.Lock()
		last, known := l.acknowledged[name]
		l.asked[name]++
		number := l.asked[name]
		l.mu.Unlock()
		method, path := http.MethodPost, configMaps
		if known {
			method, path = http.MethodPut, configMaps+"/"+name
		}
		body := fmt.Sprintf(`{"metadata":{"name":%q},"data":{"n":"%d"}}`, name, number)
		request, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
		if err != nil {
			l.fail("%v", err)
			return
		}
		response, err := l.client.Do(request)
		if err != nil {
			return // it is being killed
		}
		data, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return
		}
		var o object
		if response.StatusCode == http.StatusConflict && !known {
			// The write before was done and not answered.
			l.mu.Lock()
			l.acknowledged[name] = 0
			l.mu.Unlock()
			continue
		}
		if err := json.Unmarshal(data, &o); err != nil || response.StatusCode >= 300 {
			l.fail("write of %s: %d %s", name, response.StatusCode, data)
			return
		}
		version, _ := strconv.Atoi(o.Metadata.ResourceVersion)
		l.mu.Lock()
		if version <= last {
			l.errs = append(l.errs, fmt.Errorf("%s: version %d after %d", name, version, last))
		}
		l.acknowledged[name], l.newest = version, max(l.newest, version)
		l.mu.Unlock()
		acknowledged()
	}
}

// watcher goes on at each server where it was at the one before.
type watcher struct {
	position int
	seen     map[string]int // by name: the last number
	events   int
}

// watch reads until the server is killed or the number of events is reached.
func (w *watcher) watch(ctx context.Context, l *load, url string, until func(*watcher) bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s%s?watch=true&resourceVersion=%d", url, configMaps, w.position), nil)
	if err != nil {
		l.fail("%v", err)
		return
	}
	response, err := l.client.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	d := json.NewDecoder(response.Body)
	for !until(w) {
		var e event
		if d.Decode(&e) != nil {
			return
		}
		version, _ := strconv.Atoi(e.Object.Metadata.ResourceVersion)
		if e.Type == "ERROR" || version <= w.position {
			l.fail("watch after %d: %s %s %s", w.position, e.Type, e.Object.Metadata.ResourceVersion, e.Object.Message)
			return
		}
		w.position = version
		w.events++
		w.seen[e.Object.Metadata.Name], _ = strconv.Atoi(e.Object.Data["n"])
	}
}

// The server is killed while there are writers and a watcher: what was answered is there, versions go on, and the
// watcher goes on at the next server without a list.
func TestKilledUnderLoad(t *testing.T) {
	const writers, acknowledgements = 4, 20
	dir := t.TempDir()
	transport := &http.Transport{DisableKeepAlives: true}
	l := &load{client: http.Client{Transport: transport}, acknowledged: map[string]int{}, asked: map[string]int{}}
	w := &watcher{position: 1, seen: map[string]int{}}
	for range *kills {
		server := startChild(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		enough := make(chan struct{}, 1000)
		acknowledged := func() {
			select {
			case enough <- struct{}{}:
			default:
			}
		}
		var running sync.WaitGroup
		for i := range writers {
			running.Go(func() {
				l.write(ctx, server.url, fmt.Sprintf("c-%d", i), acknowledged)
				for range acknowledgements { // if it failed nobody waits for it
					acknowledged()
				}
			})
		}
		running.Go(func() { w.watch(ctx, l, server.url, func(*watcher) bool { return false }) })
		for range acknowledgements {
			<-enough
		}
		server.kill(t)
		cancel()
		running.Wait()
		require.Empty(t, l.errs)
	}
	server := startChild(t, dir)
	defer server.kill(t)
	response, err := l.client.Get(server.url + configMaps)
	require.NoError(t, err)
	defer response.Body.Close()
	var list object
	require.NoError(t, json.NewDecoder(response.Body).Decode(&list))
	version, err := strconv.Atoi(list.Metadata.ResourceVersion)
	require.NoError(t, err)
	require.GreaterOrEqual(t, version, l.newest)
	require.Len(t, list.Items, writers)
	want := map[string]int{}
	last := 0
	for _, o := range list.Items {
		version, err := strconv.Atoi(o.Metadata.ResourceVersion)
		require.NoError(t, err)
		require.GreaterOrEqual(t, version, l.acknowledged[o.Metadata.Name], "what was answered is there")
		last = max(last, version)
		want[o.Metadata.Name], err = strconv.Atoi(o.Data["n"])
		require.NoError(t, err)
	}
	w.watch(t.Context(), l, server.url, func(w *watcher) bool { return w.position >= last })
	require.Empty(t, l.errs)
	require.Equal(t, want, w.seen)
	require.Equal(t, last, w.position)
	require.Greater(t, w.events, *kills*acknowledgements/2)
}
