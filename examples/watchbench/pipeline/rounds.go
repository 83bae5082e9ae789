// Package pipeline has the workloads of an informer without a wire: events from a source in the
// process, through the store and one index, to handlers.
package pipeline

import (
	"context"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/measure"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/sides"
)

// round is so many events to each of some handlers.
type round struct {
	events int
	// told is closed when the last handler has been told the last event.
	told chan struct{}
	left atomic.Int64 // handlers
}

// counter is a handler that counts. It stands alone in its cache lines.
type counter struct {
	_     [64]byte
	round *round // nil until the first one begins
	n     int
	_     [64]byte
}

// tell counts. Calls of one handler never overlap, on either side.
func (c *counter) tell(*corev1.Pod) {
	if c.n++; c.round != nil && c.n == c.round.events && c.round.left.Add(-1) == 0 {
		close(c.round.told)
	}
}

// Rounds sends rounds of events, one for each pod, to an informer with handlers that count.
type Rounds struct {
	informer *sides.Informer
	counters []*counter
	pods     []corev1.Pod
	// sent has the pods of two rounds, which take turns: when one begins, nobody looks at those of
	// the round before the last any more. So sending makes no garbage.
	sent    [2][]corev1.Pod
	order   []int
	number  int
	version int
	// Used is what the rounds took, from the first event sent to the last one told.
	Used measure.Usage
}

// NewRounds prepares rounds for an informer that lists the pods and does not run yet. Order says which
// of them each round is about, in which order.
func NewRounds(i *sides.Informer, pods []corev1.Pod, order []int) *Rounds {
	r := &Rounds{informer: i, pods: pods, order: order, version: sides.FirstVersion}
	for n := range r.sent {
		r.sent[n] = make([]corev1.Pod, len(order))
	}
	return r
}

// Start starts the informer with handlers that are told every event, and waits until it is synced.
func (r *Rounds) Start(ctx context.Context, handlers int) error {
	for range handlers {
		c := new(counter)
		r.counters = append(r.counters, c)
		if err := r.informer.AddHandler(ctx, true, c.tell); err != nil {
			return err
		}
	}
	r.informer.Start(ctx)
	return r.informer.Synced(ctx)
}

// Send sends one round and waits until all was told.
func (r *Rounds) Send(ctx context.Context) error {
	sent := r.sent[r.number%2]
	for n, version := range sides.Versions(r.version, len(sent)) {
		sent[n] = r.pods[r.order[n]]
		sent[n].ResourceVersion = version
	}
	r.number++
	r.version += len(sent)
	next := &round{events: len(sent), told: make(chan struct{})}
	next.left.Store(int64(len(r.counters)))
	for _, c := range r.counters {
		c.round, c.n = next, 0
	}
	start, err := measure.Now()
	if err != nil {
		return err
	}
	for n := range sent {
		if err := r.informer.Send(ctx, &sent[n]); err != nil {
			return err
		}
	}
	select {
	case <-next.told:
		return r.Used.Add(start)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Events is how many events were sent.
func (r *Rounds) Events() int { return r.number * len(r.order) }
