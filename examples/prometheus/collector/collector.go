// Package collector shows informers and work queues to Prometheus.
//
// Everything is read from Health and Stats at the time of a scrape: there is no goroutine and no
// cost in between. The metrics of work queues have the names, labels and buckets that Kubernetes
// components use (workqueue_…), so that dashboards and alerts for those fit; what is of this
// library alone begins with listwatch_.
package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed3bce33ad/listwatch/informer"
)

// Options say what is collected. With the zero value nothing is.
type Options struct {
	// Factory is one whose informers are collected, those that it has at the time of the
	// scrape. Defaults to none.
	Factory *informer.Factory
	// Informers are collected beside those of the factory. Defaults to none.
	Informers []informer.Inspected
	// Queues are the work queues. Defaults to none.
	Queues []informer.Queue
}

// Collector is a [prometheus.Collector]. Make one with [New]. It is safe for concurrent use.
//
// A metric is told apart from others by names alone: of several informers or queues of one name,
// only the first is collected; the numbers of handlers of one name at one informer are added up.
type Collector struct {
	o         Options
	informers informerMetrics
	queues    queueMetrics
}

// New returns a collector, to be registered once. A registry takes one alone, since all have the same
// metrics: give that one all informers and queues.
func New(o Options) *Collector {
	return &Collector{o: o, informers: newInformerMetrics(), queues: newQueueMetrics()}
}

// Describe sends all descriptions.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.informers.all() {
		to <- d
	}
	for _, d := range c.queues.all() {
		to <- d
	}
}

// Collect sends the metrics of this moment. It never waits for I/O, handlers or steps.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	var all []informer.Inspected
	if c.o.Factory != nil {
		all = c.o.Factory.Informers()
	}
	seen := map[string]bool{}
	for _, i := range append(all, c.o.Informers...) {
		if h := i.Health(); !seen[h.Name] {
			seen[h.Name] = true
			c.informers.collect(to, h, i.Stats())
		}
	}
	clear(seen)
	for _, q := range c.o.Queues {
		if !seen[q.Name()] {
			seen[q.Name()] = true
			c.queues.collect(to, q.Name(), q.Stats())
		}
	}
}

// gauge and counter send one number.
func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func counter(to chan<- prometheus.Metric, d *prometheus.Desc, value uint64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
