// Package metrics counts what the API server does, by the names that the real one has for it.
//
// # Usage
//
//	m := metrics.New(metrics.Options{InFlight: inFlight, Caches: caches})
//	m.Request(metrics.Labels{Verb: "GET", Resource: "pods"}, 200, took)
//	http.Handle("/metrics", m.Handler())
//
// # Guarantees
//
//  1. What is shown can be read by Prometheus. (TestMetrics)
//
// That there are few series whatever a client sends is for who makes the labels; package apiserver has
// TestMetricsAreBounded.
//
// # Concurrency
//
// A [Metrics] is safe for concurrent use. It starts no goroutine.
//
// # Testing
//
// Each has a registry of its own, so that servers in one process do not share numbers.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Other is the label of what is not known.
const Other = "other"

// Connect is the verb of what a kubelet answers.
const Connect = "CONNECT"

// Labels are what requests are counted by.
type Labels struct {
	// Verb is what is done, such as "LIST".
	Verb string
	// Group, Resource and Subresource name what it is done with. What is no resource has its path as Subresource.
	Group, Resource, Subresource string
}

func (l Labels) values() []string { return []string{l.Verb, l.Group, l.Resource, l.Subresource} }

var names = []string{"verb", "group", "resource", "subresource"}

// Cache is the state of a kind's cache.
type Cache struct {
	// Resource is the kind's, such as "deployments.apps".
	Resource string
	// Objects are those that there are, Events those that are held for watches.
	Objects, Events int
}

// Options say where numbers are read that others keep. Both functions must be set, and safe for concurrent use.
type Options struct {
	// InFlight returns how many requests of each kind, "mutating" and "readOnly", are being answered.
	InFlight func() map[string]int
	// Caches returns the state of the caches.
	Caches func() []Cache
}

// Metrics are the numbers of one server. The zero value does not work: see [New].
type Metrics struct {
	options  Options
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	running  *prometheus.GaugeVec
	events   *prometheus.CounterVec
	etcd     *prometheus.HistogramVec
}

// buckets are bounds of durations in seconds.
var buckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// New returns metrics in which nothing has happened.
func New(o Options) *Metrics {
	m := &Metrics{
		options: o, registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_request_total", Help: "Requests that were answered, watches when they had ended.",
		}, append(names[:len(names):len(names)], "code")),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "apiserver_request_duration_seconds", Help: "How long requests took, but for watches and what kubelets answer.", Buckets: buckets,
		}, names),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "apiserver_longrunning_requests", Help: "Watches that are running.",
		}, names),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_watch_events_total", Help: "Events that were sent to watches.",
		}, []string{"group", "resource"}),
		etcd: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "etcd_request_duration_seconds", Help: "How long etcd took to answer.", Buckets: buckets,
		}, []string{"operation"}),
	}
	m.registry.MustRegister(m.requests, m.duration, m.running, m.events, m.etcd, m,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Request counts a request that has ended.
func (m *Metrics) Request(l Labels, code int, took time.Duration) {
	m.requests.WithLabelValues(append(l.values(), strconv.Itoa(code))...).Inc()
	if l.Verb != "WATCH" && l.Verb != Connect {
		m.duration.WithLabelValues(l.values()...).Observe(took.Seconds())
	}
}

// Watching counts a watch for as long as it runs: until ended is called, once.
func (m *Metrics) Watching(l Labels) (ended func()) {
	gauge := m.running.WithLabelValues(l.values()...)
	gauge.Inc()
	return gauge.Dec
}

// Events returns the function that counts the events that a watch of a resource has sent.
func (m *Metrics) Events(group, resource string) func(n int) {
	counter := m.events.WithLabelValues(group, resource)
	return func(n int) { counter.Add(float64(n)) }
}

// Etcd notes how long a request to etcd took.
func (m *Metrics) Etcd(operation string, took time.Duration) {
	m.etcd.WithLabelValues(operation).Observe(took.Seconds())
}

// Handler returns what shows the numbers to Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

var (
	inFlight = prometheus.NewDesc("apiserver_current_inflight_requests", "Requests that are being answered, but for watches.", []string{"request_kind"}, nil)
	objects  = prometheus.NewDesc("apiserver_storage_objects", "Objects that there are of the kinds that were listed.", []string{"resource"}, nil)
	history  = prometheus.NewDesc("apiserver_watch_cache_events", "Events that are held for watches.", []string{"resource"}, nil)
)

// Describe is for [prometheus.Collector].
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	to <- inFlight
	to <- objects
	to <- history
}

// Collect is for [prometheus.Collector].
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n int, label string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), label)
	}
	for kind, n := range m.options.InFlight() {
		gauge(inFlight, n, kind)
	}
	for _, c := range m.options.Caches() {
		gauge(objects, c.Objects, c.Resource)
		gauge(history, c.Events, c.Resource)
	}
}
