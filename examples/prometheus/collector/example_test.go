package collector_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/prometheus/collector"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

func ExampleNew() {
	var factory informer.Factory // with the program's informers
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods"})
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector.New(collector.Options{Factory: &factory, Queues: []informer.Queue{queue}}))
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})

	queue.Add(listwatch.Key{Namespace: "default", Name: "web"})
	w := httptest.NewRecorder()
	metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "workqueue_depth") || strings.HasPrefix(line, "workqueue_adds") {
			fmt.Print(line)
		}
	}
	// Output:
	// workqueue_adds_total{name="pods"} 1
	// workqueue_depth{name="pods"} 1
}
