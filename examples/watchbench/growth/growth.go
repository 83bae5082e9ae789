// Package growth has the workload that shows how costs grow with the numbers of objects, handlers
// and informers. What one of them costs should not depend on how many there are.
package growth

import (
	"context"
	"strconv"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/sides"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// size is how much the runs do.
type size struct {
	// objects, handlers and informers are the numbers that are gone through, and compact those of objects
	// in compact storage.
	objects, compact, handlers, informers []int
	// updated objects get an update each, in as many rounds.
	updated, rounds int
	// deliveries are about how many are made to all handlers, which watch so few objects.
	deliveries, watched int
	// many handlers are added before memory is measured, to as many informers as it takes: a few
	// alone would be lost in what else happens on the heap.
	many int
	// held objects are in each of the informers.
	held int
}

var full = size{
	objects: []int{10_000, 30_000, 100_000, 300_000}, compact: []int{10_000, 100_000, 1_000_000},
	handlers: []int{1, 10, 100, 1_000}, informers: []int{1, 10, 100, 1_000, 10_000},
	updated: 10_000, rounds: 5, deliveries: 500_000, watched: 1_000, many: 1_000, held: 10,
}

// Cases returns workload G, in each of its sizes. It is no part of a quick run.
func Cases() []work.Case { return cases(full) }

func cases(s size) []work.Case {
	var all []work.Case
	add := func(side, of string, sizes []int, run func(ctx context.Context, side string, s size, n int) (work.Metrics, error)) {
		for _, n := range sizes {
			all = append(all, work.Case{
				Workload: "G", Name: of + "-" + strconv.Itoa(n), Side: side,
				Run: func(ctx context.Context, _ bool) (work.Metrics, error) { return run(ctx, side, s, n) },
			})
		}
	}
	for _, side := range []string{sides.Listwatch, sides.ClientGo} {
		add(side, "objects", s.objects, objects)
		add(side, "handlers", s.handlers, handlers)
		add(side, "informers", s.informers, informers)
	}
	add(sides.Compact, "objects", s.compact, objects)
	return all
}

// warmUp has one informer begin and end, so that what is made once in a process is made before
// anything is measured.
func warmUp(ctx context.Context, side string, s size) error {
	group, err := newGroup(side, 1, sides.Pods(s.held))
	if err != nil {
		return err
	}
	if err := group.start(ctx, 1); err != nil {
		return err
	}
	return group.stop()
}
