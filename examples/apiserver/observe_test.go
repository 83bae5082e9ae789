package apiserver_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// logged is what a server has logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *logged) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// with returns the lines with a text. What a request has logged is there when the next one is answered on its connection.
func (l *logged) with(text string) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestAccessLog(t *testing.T) {
	log := &logged{}
	a := newAPI(t, apiserver.Options{
		Authenticator: says{}, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	a.do("GET", pods+"?labelSelector=secret", "", "Says", "bob", "Audit-ID", "first", "Authorization", "Bearer secret")
	a.do("GET", pods+"/none", "", "Says", "bob", "Audit-ID", "second")
	a.do("GET", pods, "", "Says", "panic", "Audit-ID", "third")
	a.do("GET", pods, "", "Says", "bob")
	for audit, want := range map[string][]string{
		"first":  {"level=DEBUG", "msg=request", "method=GET", "path=" + pods + " ", "code=200", "user=bob", "duration="},
		"second": {"level=DEBUG", "path=" + pods + "/none ", "code=404"},
		"third":  {"level=ERROR", "code=500"},
	} {
		lines := log.with("audit=" + audit)
		require.Len(t, lines, 1, audit)
		for _, part := range want {
			require.Contains(t, lines[0], part)
		}
	}
	require.Empty(t, log.with("secret"))
}

// A request that panics is answered, and the server goes on.
func TestPanicIsAnswered(t *testing.T) {
	log := &logged{}
	a := newAPI(t, apiserver.Options{Authenticator: says{}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	got := a.do("GET", pods, "", "Says", "panic")
	require.Equal(t, 500, got.code)
	require.Equal(t, "This request caused apiserver to panic. Look in the logs for details.\n", got.body)
	require.Equal(t, 200, a.do("GET", pods, "", "Says", "bob").code)
	lines := log.with("request panicked")
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], `panic="as it was told"`)
	require.Contains(t, lines[0], "stack=")
}

func TestMetrics(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", configMaps, configMap("a", ""))
	last := a.must("POST", configMaps, configMap("b", "")).Metadata.ResourceVersion
	a.do("POST", configMaps, configMap("b", ""))
	a.must("GET", configMaps+"/a", "")
	a.must("GET", deployments, "")
	w := a.watch(configMaps + "?watch=true&timeoutSeconds=-1&resourceVersion=" + last)
	require.Empty(t, w.rest())
	events := a.watch(configMaps + "?watch=true")
	for range 2 {
		_, err := events.next()
		require.NoError(t, err)
	}
	a.until(`apiserver_watch_events_total{group="",resource="configmaps"} 2`)
	a.until(`apiserver_request_total{code="200",group="",resource="configmaps",subresource="",verb="WATCH"} 1`)
	want := `# HELP apiserver_current_inflight_requests Requests that are being answered, but for watches.
# TYPE apiserver_current_inflight_requests gauge
apiserver_current_inflight_requests{request_kind="mutating"} 0
apiserver_current_inflight_requests{request_kind="readOnly"} 1
# HELP apiserver_longrunning_requests Watches that are running.
# TYPE apiserver_longrunning_requests gauge
apiserver_longrunning_requests{group="",resource="configmaps",subresource="",verb="WATCH"} 1
# HELP apiserver_storage_objects Objects that there are of the kinds that were listed.
# TYPE apiserver_storage_objects gauge
apiserver_storage_objects{resource="configmaps"} 2
apiserver_storage_objects{resource="customresourcedefinitions.apiextensions.k8s.io"} 1
apiserver_storage_objects{resource="deployments.apps"} 0
`
	require.NoError(t, testutil.ScrapeAndCompare(a.server.URL()+"/metrics", strings.NewReader(want),
		"apiserver_current_inflight_requests", "apiserver_longrunning_requests", "apiserver_storage_objects"))
	shown := a.do("GET", "/metrics", "").body
	for _, line := range []string{
		`apiserver_request_total{code="201",group="",resource="configmaps",subresource="",verb="POST"} 2`,
		`apiserver_request_total{code="409",group="",resource="configmaps",subresource="",verb="POST"} 1`,
		`apiserver_request_total{code="200",group="apps",resource="deployments",subresource="",verb="LIST"} 1`,
		`apiserver_request_duration_seconds_count{group="",resource="configmaps",subresource="",verb="GET"} 1`,
	} {
		require.Contains(t, shown, "\n"+line+"\n")
	}
	for _, name := range []string{"apiserver_watch_cache_events", "etcd_request_duration_seconds", "go_goroutines", "process_cpu_seconds_total"} {
		require.Contains(t, shown, "\n"+name)
	}
}

// There are few series whatever a client sends.
func TestMetricsAreBounded(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	count := func() int {
		return strings.Count(a.do("GET", "/metrics", "").body, "\napiserver_")
	}
	send := func(i int) {
		for _, path := range []string{
			"/apis/g%d/v1/things", "/api/v1/things%d", "/api/v%d/pods", "/api/v1/namespaces/default/pods/p/part%d", "/path%d", "/openapi/%d",
			"/api/v1/namespaces/n%d/pods", "/api/v1/namespaces/default/pods/p%d", "/livez/%d",
		} {
			a.do("GET", fmt.Sprintf(path, i), "")
			a.do(fmt.Sprintf("BREW%d", i), fmt.Sprintf(path, i), "")
		}
	}
	send(0)
	count() // it is counted too, from now on
	before := count()
	for i := range 20 {
		send(i)
	}
	require.Equal(t, before, count())
}
