package pipeline

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/measure"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/sides"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// size is how much a run does.
type size struct {
	// keys are those of the pipeline; rounds of one event each are sent until so much of all
	// processors' time was used, so that other load on the machine makes a run longer, not shorter.
	keys   int
	budget time.Duration
	// hotKeys get so many updates in all while a handler is blocked.
	hotKeys, updates int
}

var (
	full  = size{keys: 10_000, budget: 2 * time.Second, hotKeys: 1_000, updates: 1_000_000}
	quick = size{keys: 2_500, budget: 120 * time.Millisecond, hotKeys: 1_000, updates: 20_000}
)

// handlers are the numbers of handlers of the pipeline.
var handlers = []int{1, 10, 100}

// Cases returns workload P, the pipeline at several numbers of handlers, and workload H, what a
// blocked handler costs.
func Cases() []work.Case { return cases(full, quick) }

func cases(full, quick size) []work.Case {
	sized := func(run func(context.Context, size) (work.Metrics, error)) func(context.Context, bool) (work.Metrics, error) {
		return func(ctx context.Context, small bool) (work.Metrics, error) {
			if small {
				return run(ctx, quick)
			}
			return run(ctx, full)
		}
	}
	var all []work.Case
	for _, side := range []string{sides.Listwatch, sides.ClientGo} {
		for _, n := range handlers {
			all = append(all, work.Case{
				Workload: "P", Name: strconv.Itoa(n), Side: side, Quick: true,
				Run: sized(func(ctx context.Context, s size) (work.Metrics, error) { return run(ctx, side, n, s) }),
			})
		}
		all = append(all, work.Case{
			Workload: "H", Name: "blocked", Side: side, Quick: side == sides.Listwatch, // which alone is judged
			Run: sized(func(ctx context.Context, s size) (work.Metrics, error) {
				return blocked(ctx, side, s.hotKeys, s.updates)
			}),
		})
	}
	return all
}

// run sends rounds of events until they have taken the budget. Every event is a new state of
// a pod, in a random order that is the same on both sides.
func run(ctx context.Context, side string, handlers int, s size) (work.Metrics, error) {
	pods := sides.Pods(s.keys)
	i, err := sides.New(side, pods, sides.Backlog)
	if err != nil {
		return nil, err
	}
	if err := i.AddIndex(); err != nil {
		return nil, err
	}
	r := NewRounds(i, pods, rand.New(rand.NewPCG(1, 2)).Perm(s.keys))
	if err := r.Start(ctx, handlers); err != nil {
		return nil, err
	}
	for r.Used.CPU < s.budget {
		if err := r.Send(ctx); err != nil {
			return nil, err
		}
	}
	n := r.Events()
	return work.Metrics{
		"events":           float64(n),
		"events_per_s":     float64(n) / r.Used.Wall.Seconds(),
		"deliveries_per_s": float64(n*handlers) / r.Used.Wall.Seconds(),
		"cpu_ns_per_event": measure.Per(r.Used.CPU, n),
		"allocs_per_event": float64(r.Used.Allocs) / float64(n),
		"B_per_event":      float64(r.Used.Bytes) / float64(n),
	}, i.Stop()
}
