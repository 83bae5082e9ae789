package growth

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/measure"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/pipeline"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/sides"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// objects measures what an object costs in an informer of n, with one index and one handler: the
// first list, an update of a random one, and memory beside the object itself.
func objects(ctx context.Context, side string, s size, n int) (work.Metrics, error) {
	if err := warmUp(ctx, side, s); err != nil {
		return nil, err
	}
	pods := sides.Pods(n)
	i, err := sides.New(side, pods, sides.Backlog)
	if err != nil {
		return nil, err
	}
	if err := i.AddIndex(); err != nil {
		return nil, err
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)[:min(n, s.updated)]
	r := pipeline.NewRounds(i, pods, order)
	before := measure.Heap()
	start := time.Now()
	if err := r.Start(ctx, 1); err != nil {
		return nil, err
	}
	synced := time.Since(start)
	held := measure.Heap() - before
	for range s.rounds {
		if err := r.Send(ctx); err != nil {
			return nil, err
		}
	}
	return work.Metrics{
		"sync_ns_per_object": measure.Per(synced, n),
		"B_per_object":       held / float64(n),
		"update_ns":          measure.Per(r.Used.Wall, r.Events()),
	}, i.Stop()
}

// handlers measures what a handler costs among n of one informer: each delivery, and memory while
// nothing happens.
func handlers(ctx context.Context, side string, s size, n int) (work.Metrics, error) {
	if err := warmUp(ctx, side, s); err != nil {
		return nil, err
	}
	held, err := idleHandler(ctx, side, s, n)
	if err != nil {
		return nil, err
	}
	pods := sides.Pods(s.watched)
	i, err := sides.New(side, pods, sides.Backlog)
	if err != nil {
		return nil, err
	}
	r := pipeline.NewRounds(i, pods, rand.New(rand.NewPCG(1, 2)).Perm(s.watched))
	start := time.Now()
	if err := r.Start(ctx, n); err != nil {
		return nil, err
	}
	synced := time.Since(start)
	for r.Events() == 0 || r.Events()*n < s.deliveries {
		if err := r.Send(ctx); err != nil {
			return nil, err
		}
	}
	return work.Metrics{
		"sync_ns_per_handler_object": measure.Per(synced, n*s.watched),
		"ns_per_delivery":            measure.Per(r.Used.Wall, r.Events()*n),
		"B_per_handler":              held,
	}, i.Stop()
}

// idleHandler returns the bytes that a handler takes while nothing happens, when an informer has n.
func idleHandler(ctx context.Context, side string, s size, n int) (float64, error) {
	g, err := newGroup(side, max(s.many/n, 1), sides.Pods(s.held))
	if err != nil {
		return 0, err
	}
	if err := g.start(ctx, 1); err != nil { // one more, so that what the first one needs is there
		return 0, err
	}
	before := measure.Heap()
	if err := g.handle(ctx, n); err != nil {
		return 0, err
	}
	if err := g.synced(ctx); err != nil {
		return 0, err
	}
	held := measure.Heap() - before
	return held / float64(len(g.informers)*n), g.stop()
}

// informers measures what an informer of few objects with one handler costs among n: the first
// list, one update to each, memory beside the objects and goroutines while nothing happens.
func informers(ctx context.Context, side string, s size, n int) (work.Metrics, error) {
	if err := warmUp(ctx, side, s); err != nil {
		return nil, err
	}
	pods := sides.Pods(s.held)
	before, goroutines := measure.Heap(), runtime.NumGoroutine()
	g, err := newGroup(side, n, pods)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := g.start(ctx, 1); err != nil {
		return nil, err
	}
	synced := time.Since(start)
	held := measure.Heap() - before
	running := runtime.NumGoroutine() - goroutines
	start = time.Now()
	if err := g.update(ctx, 1); err != nil {
		return nil, err
	}
	return work.Metrics{
		"sync_us_per_informer":    measure.Per(synced, n) / 1000,
		"update_us_per_informer":  measure.Per(time.Since(start), n) / 1000,
		"B_per_informer":          held / float64(n),
		"goroutines_per_informer": float64(running) / float64(n),
	}, g.stop()
}
