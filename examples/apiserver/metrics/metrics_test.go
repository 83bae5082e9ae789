package metrics_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMetrics(t *testing.T) {
	m := metrics.New(metrics.Options{
		InFlight: func() map[string]int { return map[string]int{"mutating": 2, "readOnly": 3} },
		Caches:   func() []metrics.Cache { return []metrics.Cache{{Resource: "jobs.batch", Objects: 4, Events: 5}} },
	})
	get := metrics.Labels{Verb: "GET", Resource: "pods", Subresource: "status"}
	m.Request(get, 200, time.Second)
	m.Request(get, 404, 2*time.Second)
	watch := metrics.Labels{Verb: "WATCH", Group: "batch", Resource: "jobs"}
	ended := m.Watching(watch)
	m.Watching(watch)
	ended()
	m.Request(watch, 200, time.Hour)
	m.Events("batch", "jobs")(7)
	m.Etcd("get", time.Millisecond)

	server := httptest.NewServer(m.Handler())
	defer server.Close()
	want := `# HELP apiserver_current_inflight_requests Requests that are being answered, but for watches.
# TYPE apiserver_current_inflight_requests gauge
apiserver_current_inflight_requests{request_kind="mutating"} 2
apiserver_current_inflight_requests{request_kind="readOnly"} 3
# HELP apiserver_longrunning_requests Watches that are running.
# TYPE apiserver_longrunning_requests gauge
apiserver_longrunning_requests{group="batch",resource="jobs",subresource="",verb="WATCH"} 1
# HELP apiserver_request_total Requests that were answered, watches when they had ended.
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",group="",resource="pods",subresource="status",verb="GET"} 1
apiserver_request_total{code="404",group="",resource="pods",subresource="status",verb="GET"} 1
apiserver_request_total{code="200",group="batch",resource="jobs",subresource="",verb="WATCH"} 1
# HELP apiserver_storage_objects Objects that there are of the kinds that were listed.
# TYPE apiserver_storage_objects gauge
apiserver_storage_objects{resource="jobs.batch"} 4
# HELP apiserver_watch_cache_events Events that are held for watches.
# TYPE apiserver_watch_cache_events gauge
apiserver_watch_cache_events{resource="jobs.batch"} 5
# HELP apiserver_watch_events_total Events that were sent to watches.
# TYPE apiserver_watch_events_total counter
apiserver_watch_events_total{group="batch",resource="jobs"} 7
`
	require.NoError(t, testutil.ScrapeAndCompare(server.URL, strings.NewReader(want), "apiserver_current_inflight_requests",
		"apiserver_longrunning_requests", "apiserver_request_total", "apiserver_storage_objects", "apiserver_watch_cache_events",
		"apiserver_watch_events_total"))
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	require.Contains(t, recorder.Body.String(), `apiserver_request_duration_seconds_sum{group="",resource="pods",subresource="status",verb="GET"} 3`+"\n")
	require.NotContains(t, recorder.Body.String(), `apiserver_request_duration_seconds_sum{group="batch"`, "watches have none")
	require.Contains(t, recorder.Body.String(), `etcd_request_duration_seconds_count{operation="get"} 1`+"\n")
}
