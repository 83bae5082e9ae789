package informer

import (
	"time"

	"github.com/seed3bce33ad/listwatch/reflector"
)

// Health is how an informer fares at one moment.
type Health struct {
	// Name is the informer's.
	Name string
	// Running is true between the begin and the end of Run.
	Running bool
	// Synced is true once the store has held the whole first list.
	Synced bool
	// Version is the collection's version up to which everything is in the store. It stands still
	// while Source.Gap.
	Version string
	// Objects is the number of objects in the store.
	Objects int
	// Age is for how long nothing was heard of the server: neither a page nor an event nor a
	// bookmark. What the store shows may be that old. Zero before the first.
	Age time.Duration
	// Queued is the number of keys between reading and storing: by so many keys the store lags
	// behind what was read.
	Queued int
	// Drift counts what a comparing list found that the watch had missed.
	Drift uint64
	// Epoch counts how often the server was recognised as restored to an older state.
	Epoch uint64
	// Source tells how reading goes: its state, last progress, last error, next retry.
	Source reflector.Health
}

// Stats are numbers that only grow, and the handlers'.
type Stats struct {
	// Changes counts the changes of the store that handlers were told of.
	Changes uint64
	// Skipped counts what was read and not stored, since the store held that or a newer state.
	Skipped uint64
	// LastChange is the time of the last change; zero before the first.
	LastChange time.Time
	// Handlers holds one entry for each registration that lives.
	Handlers []HandlerStats
}

// Health returns how the informer fares now. It is cheap, and never waits for I/O or handlers.
func (i *Informer[T]) Health() Health {
	queue := i.queue.Stats()
	h := Health{
		Name:    i.options.Name,
		Objects: i.store.Reader().Len(),
		Queued:  queue.Keys,
		Drift:   queue.Drift,
		Source:  i.reflector.Health(),
	}
	if heard := h.Source.LastProgress; !heard.IsZero() {
		h.Age = max(0, i.options.Clock.Since(heard))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	h.Running, h.Synced, h.Version, h.Epoch = i.state == isRunning, i.complete, i.version, i.epoch
	return h
}

// Stats returns the numbers of this moment. It never waits for I/O or handlers.
func (i *Informer[T]) Stats() Stats {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.stats
	for _, d := range i.deliveries {
		s.Handlers = append(s.Handlers, d.statsNow(i.log.seq()))
	}
	return s
}
