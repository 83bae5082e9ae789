// Package stores has the workload of the indexed store by itself: what readers and writers of an
// informer's cache do, from one goroutine and from several.
package stores

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/measure"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/sides"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// size is how much a run does. Both sides do the same.
type size struct {
	objects int
	// gets, looks, lists, updates and mixed are the numbers of operations. Looks are those in an
	// index, in the mixture too.
	gets, looks, lists, updates, mixed int
}

var (
	full  = size{objects: 100_000, gets: 1_500_000, looks: 30_000, lists: 300, updates: 200_000, mixed: 600_000}
	quick = size{objects: 10_000, gets: 100_000, looks: 2_000, lists: 100, updates: 15_000, mixed: 50_000}
)

// goroutines are the numbers of goroutines that work on a store at once.
var goroutines = []int{1, 8}

// onNode is how many pods a node has.
const onNode = 100

// Cases returns workload I, the store, and the reads of workload S4.
func Cases() []work.Case { return append(cases(full, quick), compactCases(fullReads, quickReads)...) }

func cases(full, quick size) []work.Case {
	var all []work.Case
	for _, side := range []string{sides.Listwatch, sides.ClientGo} {
		for _, n := range goroutines {
			all = append(all, work.Case{
				Workload: "I", Name: strconv.Itoa(n), Side: side, Quick: true,
				Run: func(ctx context.Context, small bool) (work.Metrics, error) {
					if small {
						return run(ctx, side, quick, n)
					}
					return run(ctx, side, full, n)
				},
			})
		}
	}
	return all
}

// store is one side's store with three indexes: of the pods on a node (a hundred each), of an owner
// (ten) and of an app (a hundred). This library's store has a fourth by itself, by namespace.
type store interface {
	// put has a worker store a state. Version is newer than the one held; the pod's own is not looked
	// at, so that two states of a pod can be stored in turn.
	put(worker int, pod *corev1.Pod, version string)
	// get looks up a key that is ready, by its number; built does so from namespace and name, of
	// which client-go's side has to make its key first.
	get(n int) bool
	built(namespace, name string) bool
	// find returns how many pods it finds on a node.
	find(node string) int
	list() int
}

// operation is one kind of operation, and how many of them there are.
type operation struct {
	name  string
	count int
	// updates counts those among them that store something.
	updates int
	run     func(worker, n int) bool
}

// operations returns what is measured, in order: at the end the pods move to other nodes.
func (p *pool) operations(s size) []operation {
	const every = 20 // in a mixture, one in twenty is an update
	get := func(worker, n int) bool { return p.store.get(p.pod(worker, n)) }
	find := func(worker, n int) bool {
		return p.store.find(p.pods[p.pod(worker, n)].Spec.NodeName) == onNode
	}
	mixed := func(read func(worker, n int) bool) func(worker, n int) bool {
		return func(worker, n int) bool {
			if n%every == 0 {
				return p.update(worker, n/every, p.same)
			}
			return read(worker, n)
		}
	}
	return []operation{
		{"get_ready", s.gets, 0, get},
		{"get_built", s.gets, 0, func(worker, n int) bool {
			name := &p.names[p.pod(worker, n)]
			return p.store.built(name[0], name[1])
		}},
		{"by_index", s.looks, 0, find},
		{"list", s.lists, 0, func(int, int) bool { return p.store.list() == len(p.pods) }},
		{"mix_get", s.mixed, s.mixed/every + p.workers, mixed(get)},
		{"mix_by_index", s.looks, s.looks/every + p.workers, mixed(find)},
		{"update_same", s.updates, s.updates, func(worker, n int) bool { return p.update(worker, n, p.same) }},
		{"update_moved", s.updates, s.updates, func(worker, n int) bool { return p.update(worker, n, p.moved) }},
	}
}

// do has the workers do the operations, and returns what one took.
func (p *pool) do(o operation) (work.Metrics, error) {
	p.pass = nil
	for range (o.updates + len(p.order) - 1) / len(p.order) {
		p.pass = append(p.pass, sides.Versions(p.version, len(p.order)))
		p.version += len(p.order)
	}
	runtime.GC()
	each := max(o.count/p.workers, 1)
	failed := make([]bool, p.workers)
	var group sync.WaitGroup
	start, err := measure.Now()
	if err != nil {
		return nil, err
	}
	for worker := range p.workers {
		group.Go(func() {
			for n := range each {
				if !o.run(worker, n) {
					failed[worker] = true
					return
				}
			}
		})
	}
	group.Wait()
	var used measure.Usage
	if err := used.Add(start); err != nil {
		return nil, err
	}
	for worker := range failed {
		if failed[worker] {
			return nil, fmt.Errorf("%s: worker %d did not find what is stored", o.name, worker)
		}
	}
	all := each * p.workers
	return work.Metrics{
		o.name + "_ns": measure.Per(used.Wall, all), o.name + "_cpu_ns": measure.Per(used.CPU, all),
		o.name + "_allocs": float64(used.Allocs) / float64(all),
	}, nil
}

func run(ctx context.Context, side string, s size, workers int) (work.Metrics, error) {
	p, err := newPool(side, s.objects, workers)
	if err != nil {
		return nil, err
	}
	metrics := work.Metrics{}
	for _, o := range p.operations(s) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := p.do(o)
		if err != nil {
			return nil, err
		}
		maps.Copy(metrics, m)
	}
	return metrics, nil
}
