package indexer_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/internal/measure"
)

const (
	benchPods  = 100_000
	benchNodes = benchPods / 100
)

// benchPod has about what a pod's controller looks at.
type benchPod struct {
	listwatch.Meta
	Node, Phase, Owner string
	Labels             map[string]string
	Containers         []struct{ Name, Image string }
	Restarts           [4]int32
}

func makeBenchPod(i, node, version int) *benchPod {
	return &benchPod{
		Meta: listwatch.Meta{
			Namespace:       "namespace-" + strconv.Itoa(i%100),
			Name:            fmt.Sprintf("deployment-%d-7d4b9c6f5-%05d", i/10, i),
			UID:             fmt.Sprintf("8f14e45f-ceea-467f-a9d1-%012d", i),
			ResourceVersion: strconv.Itoa(version),
		},
		Node:   "node-" + strconv.Itoa(node),
		Owner:  "deployment-" + strconv.Itoa(i/10),
		Phase:  "Running",
		Labels: map[string]string{"app": "deployment-" + strconv.Itoa(i/10), "tier": "backend"},
	}
}

func benchHead(p *benchPod) listwatch.Head {
	return listwatch.Head{Key: listwatch.KeyOf(p), UID: p.UID, ResourceVersion: p.ResourceVersion}
}

// bench is a full store with three indexes, and for each object an equal state that is newer
// and one on another node.
type bench struct {
	x           *indexer.Indexer[*benchPod]
	byNode      *indexer.Index[*benchPod, string]
	keys        []listwatch.Key
	same, moved []indexer.Write[*benchPod]
	order       []int
}

func addBenchIndexes(b *testing.B, x *indexer.Indexer[*benchPod]) *indexer.Index[*benchPod, string] {
	var byNode *indexer.Index[*benchPod, string]
	for name, value := range map[string]func(*benchPod) string{
		"node":  func(p *benchPod) string { return p.Node },
		"owner": func(p *benchPod) string { return p.Owner },
		"phase": func(p *benchPod) string { return p.Phase },
	} {
		ix, err := indexer.AddIndexFunc(x.Reader(), name, func(p *benchPod, values []string) []string { return append(values, value(p)) })
		if err != nil {
			b.Fatal(err)
		}
		if name == "node" {
			byNode = ix
		}
	}
	return byNode
}

func newBench(b *testing.B) *bench {
	s := &bench{x: newStore[*benchPod](indexer.Options{})}
	s.byNode = addBenchIndexes(b, s.x)
	for i := range benchPods {
		p := makeBenchPod(i, i%benchNodes, i+1)
		q := makeBenchPod(i, i%benchNodes, benchPods+i)
		r := makeBenchPod(i, (i+1)%benchNodes, benchPods+i)
		s.x.Apply("", []indexer.Write[*benchPod]{{Head: benchHead(p), Object: p}})
		s.keys = append(s.keys, listwatch.Key{Namespace: p.Namespace, Name: p.Name})
		s.same = append(s.same, indexer.Write[*benchPod]{Head: benchHead(q), Object: q, Force: true})
		s.moved = append(s.moved, indexer.Write[*benchPod]{Head: benchHead(r), Object: r, Force: true})
	}
	s.order = rand.New(rand.NewPCG(1, 2)).Perm(benchPods)
	runtime.GC()
	return s
}

// update writes object n alone; every second time around it moves when it may.
func (s *bench) update(writes []indexer.Write[*benchPod], n int, move bool) {
	i := s.order[n%benchPods]
	writes[0] = s.same[i]
	if move && n/benchPods%2 == 0 {
		writes[0] = s.moved[i]
	}
	s.x.Apply("", writes)
}

func BenchmarkIndexer(b *testing.B) {
	s := newBench(b)
	r := s.x.Reader()
	buffer := func() []indexer.Write[*benchPod] { return make([]indexer.Write[*benchPod], 1) }
	for _, op := range []struct {
		name string
		run  func(writes []indexer.Write[*benchPod], n int)
	}{
		{"UpdateSame", func(w []indexer.Write[*benchPod], n int) { s.update(w, n, false) }},
		{"UpdateMoved", func(w []indexer.Write[*benchPod], n int) { s.update(w, n, true) }},
		{"Get", func(_ []indexer.Write[*benchPod], n int) { r.Get(s.keys[s.order[n%benchPods]]) }},
		{"ByIndex100", func(_ []indexer.Write[*benchPod], n int) { s.byNode.Get(s.same[s.order[n%benchPods]].Object.Node) }},
		{"List", func([]indexer.Write[*benchPod], int) { r.List() }},
		{"Get95Update5", func(w []indexer.Write[*benchPod], n int) {
			if n%20 == 0 {
				s.update(w, n, false)
			} else {
				r.Get(s.keys[s.order[n%benchPods]])
			}
		}},
		{"ByIndex95Update5", func(w []indexer.Write[*benchPod], n int) {
			if n%20 == 0 {
				s.update(w, n, false)
			} else {
				s.byNode.Get(s.same[s.order[n%benchPods]].Object.Node)
			}
		}},
	} {
		b.Run(op.name+"/1", func(b *testing.B) {
			b.ReportAllocs()
			writes, n := buffer(), 0
			for b.Loop() {
				op.run(writes, n)
				n++
			}
		})
		b.Run(op.name+"/8", func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism((8 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
			var start atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				writes, n := buffer(), int(start.Add(benchPods/8))
				for pb.Next() {
					op.run(writes, n)
					n++
				}
			})
		})
	}
	b.Run("UpdateSameBatch64/1", func(b *testing.B) {
		writes, n := make([]indexer.Write[*benchPod], 64), 0
		for b.Loop() {
			for i := range writes {
				writes[i] = s.same[s.order[n%benchPods]]
				n++
			}
			s.x.Apply("", writes)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/object")
	})
	b.Run("Mark", func(b *testing.B) {
		n := 0
		for b.Loop() {
			s.x.Mark(s.keys[s.order[n%benchPods]], uint64(n/benchPods))
			n++
		}
	})
	b.Run("Unmarked100k", func(b *testing.B) {
		for _, k := range s.keys {
			s.x.Mark(k, 1<<60)
		}
		for b.Loop() {
			s.x.Unmarked(1 << 60)
		}
	})
}

// BenchmarkInsert reports the cost of one of 100,000 objects in an empty store with three
// indexes.
func BenchmarkInsert(b *testing.B) {
	pods := make([]*benchPod, benchPods)
	for i := range pods {
		pods[i] = makeBenchPod(i, i%benchNodes, i+1)
	}
	writes := make([]indexer.Write[*benchPod], 1)
	b.ReportAllocs()
	for b.Loop() {
		x := newStore[*benchPod](indexer.Options{})
		addBenchIndexes(b, x)
		for _, p := range pods {
			writes[0] = indexer.Write[*benchPod]{Head: benchHead(p), Object: p}
			x.Apply("", writes)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchPods), "ns/object")
}

// BenchmarkRetained reports what the store keeps for each object beside the object itself.
func BenchmarkRetained(b *testing.B) {
	pods := make([]*benchPod, benchPods)
	for i := range pods {
		pods[i] = makeBenchPod(i, i%benchNodes, i+1)
	}
	for name, values := range map[string][]func(*benchPod) string{
		"NoIndex":     {},
		"ByNode":      {func(p *benchPod) string { return p.Node }},
		"ByUnique":    {func(p *benchPod) string { return p.UID }},
		"ThreeValues": {func(p *benchPod) string { return p.Node }, func(p *benchPod) string { return p.Owner }, func(p *benchPod) string { return p.Phase }},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := measure.Held()
				x := newStore[*benchPod](indexer.Options{})
				if len(values) > 0 {
					if _, err := indexer.AddIndexFunc(x.Reader(), "index", func(p *benchPod, found []string) []string {
						for _, value := range values {
							found = append(found, value(p))
						}
						return found
					}); err != nil {
						b.Fatal(err)
					}
				}
				writes := make([]indexer.Write[*benchPod], 1)
				for _, p := range pods {
					writes[0] = indexer.Write[*benchPod]{Head: benchHead(p), Object: p}
					x.Apply("", writes)
				}
				b.ReportMetric(float64(measure.Held()-before)/benchPods, "B/object")
				runtime.KeepAlive(x)
			}
		})
	}
	runtime.KeepAlive(pods)
}
