package stores

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/measure"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/pod"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/sides"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// reads is how much a run of S4's reads does.
type reads struct {
	// objects are held, of which recent ones are kept decoded.
	objects, recent int
	// hits are Gets of what is kept, misses of what is not. Looks are those in the index by node.
	hits, misses, looks int
}

var (
	fullReads  = reads{objects: 100_000, recent: 1_000, hits: 3_000_000, misses: 100_000, looks: 5_000}
	quickReads = reads{objects: 3_000, recent: 100, hits: 300_000, misses: 6_000, looks: 300}
)

// compactCases returns the part of workload S4 that needs no server: reads of whole pods of a compact
// store, beside those of an ordinary one. There a miss is what the pod costs to decode, by itself.
func compactCases(full, quick reads) []work.Case {
	var all []work.Case
	for _, side := range []string{sides.Listwatch, sides.Ordinary} {
		compact := side == sides.Listwatch
		all = append(all, work.Case{
			Workload: "S4", Name: "reads", Side: side, Quick: true,
			Run: func(ctx context.Context, small bool) (work.Metrics, error) {
				if small {
					return quick.run(ctx, compact)
				}
				return full.run(ctx, compact)
			},
		})
	}
	return all
}

// reading is a store that is read.
type reading struct {
	reads
	indexer *indexer.Indexer[*corev1.Pod]
	nodes   *indexer.Index[*corev1.Pod, string]
	keys    []listwatch.Key
	order   []int // of keys, random
	names   []string
}

func (r reads) open(compact bool) (*reading, error) {
	o := indexer.Options{}
	if compact {
		o.Compact = &indexer.Compact{Recent: r.recent}
	}
	s := &reading{reads: r, indexer: indexer.New[*corev1.Pod](o), order: rand.New(rand.NewPCG(1, 2)).Perm(r.objects)}
	var err error
	s.nodes, err = indexer.AddIndexFunc(s.indexer.Reader(), nodes, func(p *corev1.Pod, values []string) []string {
		return append(values, p.Spec.NodeName)
	})
	if err != nil {
		return nil, err
	}
	for n := range r.objects {
		p := new(corev1.Pod)
		if err := asListed(n, p); err != nil {
			return nil, err
		}
		s.indexer.Put(p)
		s.keys, s.names = append(s.keys, listwatch.KeyOf(p)), append(s.names, p.Spec.NodeName)
	}
	if plain := s.indexer.Reader().Stats().Plain; plain > 0 {
		return nil, fmt.Errorf("%d pods could not be encoded", plain)
	}
	return s, nil
}

// asListed makes p pod n as it is when it has come from a server.
func asListed(n int, p *corev1.Pod) error {
	o, err := rest.ObjectOf(pod.Make(1, n))
	if err != nil {
		return err
	}
	return o.Decode(p)
}

var errNotHeld = errors.New("what is stored is not found")

func (r reads) run(ctx context.Context, compact bool) (work.Metrics, error) {
	s, err := r.open(compact)
	if err != nil {
		return nil, err
	}
	get := func(n int) error {
		if _, ok := s.indexer.Get(s.keys[s.order[n]]); !ok {
			return errNotHeld
		}
		return nil
	}
	miss := func(n int) error { return get(n % r.objects) }
	if !compact {
		if miss, err = decoding(r.recent); err != nil {
			return nil, err
		}
	}
	hot := r.recent / 2
	metrics := work.Metrics{}
	for _, o := range []struct {
		name  string
		count int
		run   func(n int) error
	}{
		{"by_index", r.looks, func(n int) error {
			if len(s.nodes.Get(s.names[s.order[n%r.objects]])) == 0 {
				return errNotHeld
			}
			return nil
		}},
		{"miss", r.misses, miss},
		{"warm", hot, get}, // brings what is hit
		{"hit", r.hits, func(n int) error { return get(n % hot) }},
	} {
		m, err := timed(o.name, o.count, o.run)
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		maps.Copy(metrics, m)
	}
	return metrics, nil
}

// decoding returns what decodes one of the first pods, as rest.Source does, without any store.
func decoding(pods int) (func(n int) error, error) {
	objects := make([]rest.Object, pods)
	for n := range objects {
		var err error
		if objects[n], err = rest.ObjectOf(pod.Make(1, n)); err != nil {
			return nil, err
		}
	}
	return func(n int) error { return objects[n%pods].Decode(new(corev1.Pod)) }, nil
}

// timed runs an operation so often.
func timed(name string, count int, run func(n int) error) (work.Metrics, error) {
	runtime.GC()
	start, err := measure.Now()
	if err != nil {
		return nil, err
	}
	for n := range count {
		if err := run(n); err != nil {
			return nil, err
		}
	}
	var used measure.Usage
	if err := used.Add(start); err != nil {
		return nil, err
	}
	return work.Metrics{
		name + "_ns": measure.Per(used.Wall, count), name + "_cpu_ns": measure.Per(used.CPU, count),
		name + "_allocs": float64(used.Allocs) / float64(count),
	}, nil
}
