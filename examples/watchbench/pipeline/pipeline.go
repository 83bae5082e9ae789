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
	keys                int
	budget, quickBudget time.Duration
	// hotKeys get so many updates in all while a handler is blocked.
	hotKeys, updates, quickUpdates int
}

var full = size{
	keys: 10_000, budget: 2 * time.Second, quickBudget: 400 * time.Millisecond,
	hotKeys: 1_000, updates: 1_000_000, quickUpdates: 100_000,
}

// handlers are the numbers of handlers of the pipeline.
var handlers = []int{1, 10, 100}

// Cases returns workload P, the pipeline at several numbers of handlers, and workload H, what a
// blocked handler costs.
func Cases() []work.Case { return cases(full) }

func cases(s size) []work.Case {
	var all []work.Case
	for _, side := range []string{sides.Listwatch, sides.ClientGo} {
		for _, n := range handlers {
			all = append(all, work.Case{
				Workload: "P", Name: strconv.Itoa(n), Side: side, Quick: true,
				Run: func(ctx context.Context, quick bool) (work.Metrics, error) {
					budget := s.budget
					if quick {
						budget = s.quickBudget
					}
					return run(ctx, side, s.keys, n, budget)
				},
			})
		}
		all = append(all, work.Case{
			Workload: "H", Name: "blocked", Side: side, Quick: true,
			Run: func(ctx context.Context, quick bool) (work.Metrics, error) {
				updates := s.updates
				if quick {
					updates = s.quickUpdates
				}
				return blocked(ctx, side, s.hotKeys, updates)
			},
		})
	}
	return all
}

// run sends rounds of events until they have taken the budget. Every event is a new state of
// a pod, in a random order that is the same on both sides.
func run(ctx context.Context, side string, keys, handlers int, budget time.Duration) (work.Metrics, error) {
	pods := sides.Pods(keys)
	i, err := sides.New(side, pods)
	if err != nil {
		return nil, err
	}
	if err := i.AddIndex(); err != nil {
		return nil, err
	}
	r := NewRounds(i, pods, rand.New(rand.NewPCG(1, 2)).Perm(keys))
	if err := r.Start(ctx, handlers); err != nil {
		return nil, err
	}
	for r.Used.CPU < budget {
		if err := r.Send(ctx); err != nil {
			return nil, err
		}
	}
	n := r.Events()
	return work.Metrics{
		"events_per_s":     float64(n) / r.Used.Wall.Seconds(),
		"deliveries_per_s": float64(n*handlers) / r.Used.Wall.Seconds(),
		"cpu_ns_per_event": measure.Per(r.Used.CPU, n),
		"allocs_per_event": float64(r.Used.Allocs) / float64(n),
		"B_per_event":      float64(r.Used.Bytes) / float64(n),
	}, i.Stop()
}
