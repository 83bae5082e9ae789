package deltafifo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

func benchmarkPods(n int) []*pod {
	pods := make([]*pod, n)
	for i := range pods {
		pods[i] = newPod(fmt.Sprintf("pod-%06d", i), fmt.Sprintf("uid-%06d", i), fmt.Sprint(i+1))
		pods[i].Namespace = fmt.Sprintf("namespace-%d", i%100)
	}
	return pods
}

func BenchmarkApplyPop(b *testing.B) {
	pods := benchmarkPods(10_000)
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			q := deltafifo.New[*pod](nil, deltafifo.Options{})
			process := func(deltafifo.Batch[*pod]) error { return nil }
			events := make([]listwatch.Event[*pod], size)
			next, total := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				for i := range events {
					events[i] = listwatch.Event[*pod]{Type: listwatch.Modified, Object: pods[next], ResourceVersion: "1"}
					if next += 7; next >= len(pods) {
						next -= len(pods)
					}
				}
				if q.Apply(context.Background(), events...) != nil || q.Pop(context.Background(), 0, process) != nil {
					b.Fatal("failed")
				}
				total += size
			}
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkBacklog queues three events for each of 10,000 keys and pops them 1,000 keys a time.
func BenchmarkBacklog(b *testing.B) {
	pods := benchmarkPods(10_000)
	q := deltafifo.New[*pod](nil, deltafifo.Options{})
	events := make([]listwatch.Event[*pod], 0, 64)
	total := 0
	b.ReportAllocs()
	for b.Loop() {
		for range 3 {
			for i, p := range pods {
				events = append(events, listwatch.Event[*pod]{Type: listwatch.Modified, Object: p, ResourceVersion: "1"})
				if len(events) == cap(events) || i == len(pods)-1 {
					_ = q.Apply(context.Background(), events...)
					events = events[:0]
				}
			}
		}
		for q.Len() > 0 {
			_ = q.Pop(context.Background(), 1000, func(deltafifo.Batch[*pod]) error { return nil })
		}
		total += 3 * len(pods)
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkKnown is a relist of unchanged objects, with the plain store of these tests.
func BenchmarkKnown(b *testing.B) {
	pods := benchmarkPods(100_000)
	store := newMemory()
	q := deltafifo.New[*pod](store, deltafifo.Options{})
	heads := make([]listwatch.Head, len(pods))
	for i, p := range pods {
		heads[i] = headOf(p)
		store.held[heads[i].Key] = &entry{head: heads[i], object: p}
	}
	s := q.Begin(listwatch.Rebuild)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if !s.Known(heads[i]) {
			b.Fatal("not known")
		}
		if i++; i == len(heads) {
			i = 0
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "objects/s")
}

// BenchmarkList queues a list of 100,000 new objects, in batches as a body yields them, and hands
// them out.
func BenchmarkList(b *testing.B) {
	const batch = 16
	pods := benchmarkPods(100_000)
	b.ReportAllocs()
	for b.Loop() {
		q := deltafifo.New[*pod](newMemory(), deltafifo.Options{})
		s := q.Begin(listwatch.Rebuild)
		for at := 0; at < len(pods); at += batch {
			if err := s.Put(context.Background(), pods[at:min(at+batch, len(pods))]...); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Commit("1000000"); err != nil {
			b.Fatal(err)
		}
		if err := q.Pop(context.Background(), 0, func(deltafifo.Batch[*pod]) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(pods))/b.Elapsed().Seconds(), "objects/s")
}
