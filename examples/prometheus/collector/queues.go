package collector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed3bce33ad/listwatch/workqueue"
)

// queueMetrics are the descriptions for a work queue.
type queueMetrics struct {
	depth, adds, latency, work, unfinished, longest, retries *prometheus.Desc
	keys, oldest, refused                                    *prometheus.Desc
}

func newQueueMetrics() queueMetrics {
	of := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"name"}, labels...), nil)
	}
	return queueMetrics{
		depth:      of("workqueue_depth", "Keys that are ready to be handed out."),
		adds:       of("workqueue_adds_total", "Adds that were taken."),
		latency:    of("workqueue_queue_duration_seconds", "How long keys were ready before they were handed out."),
		work:       of("workqueue_work_duration_seconds", "How long keys were in work."),
		unfinished: of("workqueue_unfinished_work_seconds", "How long the keys in work have been so, added up."),
		longest:    of("workqueue_longest_running_processor_seconds", "How long the key that is longest in work has been so."),
		retries:    of("workqueue_retries_total", "Adds that a limiter delayed, and steps that failed."),
		keys:       of("listwatch_workqueue_keys", "Keys by state.", "state"),
		oldest:     of("listwatch_workqueue_oldest_ready_seconds", "How long the key that waits longest has been ready."),
		refused:    of("listwatch_workqueue_refused_total", "Adds that came after the end of the queue."),
	}
}

func (m *queueMetrics) all() []*prometheus.Desc {
	return []*prometheus.Desc{
		m.depth, m.adds, m.latency, m.work, m.unfinished, m.longest, m.retries, m.keys, m.oldest, m.refused,
	}
}

func (m *queueMetrics) collect(to chan<- prometheus.Metric, name string, s workqueue.Stats) {
	gauge(to, m.depth, float64(s.Ready), name)
	counter(to, m.adds, s.Adds, name)
	to <- histogram(m.latency, name, s.Gets, s.LatencySum, s.Latency)
	to <- histogram(m.work, name, s.Done, s.WorkSum, s.Work)
	gauge(to, m.unfinished, s.RunningSum.Seconds(), name)
	gauge(to, m.longest, s.LongestRunning.Seconds(), name)
	counter(to, m.retries, s.Retries, name)
	gauge(to, m.keys, float64(s.Ready), name, workqueue.Ready.String())
	gauge(to, m.keys, float64(s.Delayed), name, workqueue.Delayed.String())
	gauge(to, m.keys, float64(s.Working), name, workqueue.Working.String())
	gauge(to, m.keys, float64(s.Parked), name, workqueue.Parked.String())
	gauge(to, m.oldest, s.OldestReady.Seconds(), name)
	counter(to, m.refused, s.Refused, name)
}

// histogram returns a metric of durations; each of Prometheus' buckets holds those of the smaller ones,
// too.
func histogram(d *prometheus.Desc, name string, count uint64, sum time.Duration, durations workqueue.Durations) prometheus.Metric {
	buckets := make(map[float64]uint64, len(durations))
	below := uint64(0)
	for n, in := range durations {
		below += in
		buckets[durations.Bound(n).Seconds()] = below
	}
	return prometheus.MustNewConstHistogram(d, count, sum.Seconds(), buckets, name)
}
