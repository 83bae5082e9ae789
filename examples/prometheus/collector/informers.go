package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// informerMetrics are the descriptions for an informer and its handlers.
type informerMetrics struct {
	objects, synced, state, age, lag, failures, refused                *prometheus.Desc
	drift, gaps, epochs, relists, watches, abandoned, changes, skipped *prometheus.Desc
	handlers, pending, behind, handlerSynced, delivered, panics        *prometheus.Desc
}

func newInformerMetrics() informerMetrics {
	of := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("listwatch_"+name, help, append([]string{"informer"}, labels...), nil)
	}
	return informerMetrics{
		objects:   of("informer_objects", "Objects in the store."),
		synced:    of("informer_synced", "1 once the store has held the whole first list."),
		state:     of("informer_state", "1 for the state in which the reading from the server is.", "state"),
		age:       of("informer_age_seconds", "Time since anything was heard of the server; none before the first time."),
		lag:       of("informer_lag_keys", "Keys that were read and are not in the store yet."),
		failures:  of("informer_failures", "Failures since anything was read."),
		refused:   of("informer_refused_objects", "Objects that could not be taken and have not been since."),
		drift:     of("informer_drift_total", "States and deletions that a comparing list found and the watch had missed."),
		gaps:      of("informer_gaps_total", "Events of watches that could not be taken."),
		epochs:    of("informer_epochs_total", "Restores of the server to an older state."),
		relists:   of("informer_relists_total", "Lists begun: to rebuild the store, or to compare beside a watch.", "kind"),
		watches:   of("informer_watches_total", "Watches asked for."),
		abandoned: of("informer_abandoned_calls_total", "Calls of the source that ignored their context."),
		changes:   of("informer_changes_total", "Changes of the store."),
		skipped:   of("informer_skipped_total", "States that were read and were not news."),

		handlers:      of("handlers", "Handlers of that name.", "handler"),
		pending:       of("handler_pending_changes", "Changes that wait for the handler.", "handler"),
		behind:        of("handler_behind", "1 while changes are folded because the handler is too slow.", "handler"),
		handlerSynced: of("handler_synced", "1 once the handler has been told the first list.", "handler"),
		delivered:     of("handler_delivered_total", "Changes told to the handler.", "handler"),
		panics:        of("handler_panics_total", "Calls of the handler that panicked.", "handler"),
	}
}

func (m *informerMetrics) all() []*prometheus.Desc {
	return []*prometheus.Desc{
		m.objects, m.synced, m.state, m.age, m.lag, m.failures, m.refused,
		m.drift, m.gaps, m.epochs, m.relists, m.watches, m.abandoned, m.changes, m.skipped,
		m.handlers, m.pending, m.behind, m.handlerSynced, m.delivered, m.panics,
	}
}

func (m *informerMetrics) collect(to chan<- prometheus.Metric, h informer.Health, s informer.Stats) {
	name := h.Name
	gauge(to, m.objects, float64(h.Objects), name)
	gauge(to, m.synced, truth(h.Synced), name)
	for state := reflector.Idle; state <= reflector.Stopped; state++ {
		gauge(to, m.state, truth(state == h.Source.State), name, state.String())
	}
	if !h.Source.LastProgress.IsZero() {
		gauge(to, m.age, h.Age.Seconds(), name)
	}
	gauge(to, m.lag, float64(h.Queued), name)
	gauge(to, m.failures, float64(h.Source.Failures), name)
	gauge(to, m.refused, float64(len(h.Source.Refused)), name)
	counter(to, m.drift, h.Drift, name)
	counter(to, m.gaps, h.Source.Gaps, name)
	counter(to, m.epochs, h.Epoch, name)
	counter(to, m.relists, h.Source.Lists, name, "rebuild")
	counter(to, m.relists, h.Source.Compares, name, "compare")
	counter(to, m.watches, h.Source.Watches, name)
	counter(to, m.abandoned, h.Source.Abandoned, name)
	counter(to, m.changes, s.Changes, name)
	counter(to, m.skipped, s.Skipped, name)
	m.collectHandlers(to, name, s.Handlers)
}

// collectHandlers adds up the handlers of one name.
func (m *informerMetrics) collectHandlers(to chan<- prometheus.Metric, name string, handlers []informer.HandlerStats) {
	counts := map[string]int{}
	sums := map[string]informer.HandlerStats{}
	for _, h := range handlers {
		sum, again := sums[h.Name]
		sums[h.Name] = informer.HandlerStats{
			Pending: sum.Pending + h.Pending, Delivered: sum.Delivered + h.Delivered, Panics: sum.Panics + h.Panics,
			Behind: sum.Behind || h.Behind, Synced: h.Synced && (sum.Synced || !again),
		}
		counts[h.Name]++
	}
	for handler, h := range sums {
		gauge(to, m.handlers, float64(counts[handler]), name, handler)
		gauge(to, m.pending, float64(h.Pending), name, handler)
		gauge(to, m.behind, truth(h.Behind), name, handler)
		gauge(to, m.handlerSynced, truth(h.Synced), name, handler)
		counter(to, m.delivered, h.Delivered, name, handler)
		counter(to, m.panics, h.Panics, name, handler)
	}
}
