package workqueue_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

func benchKeys(n int) []listwatch.Key {
	keys := make([]listwatch.Key, n)
	for i := range keys {
		keys[i] = listwatch.Key{Namespace: "namespace-" + strconv.Itoa(i%100), Name: "name-" + strconv.Itoa(i)}
	}
	return keys
}

// produce has one goroutine add and so many others work off, and returns when all is done.
func produce(q *workqueue.Queue[listwatch.Key], workers int, add func()) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				k, err := q.Get(context.Background())
				if err != nil {
					return
				}
				q.Done(k)
			}
		})
	}
	add()
	_, _ = q.Drain(context.Background())
	group.Wait()
}

func perSecond(b *testing.B, n int) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "keys/s")
}

func BenchmarkDistinct(b *testing.B) {
	keys := benchKeys(200_000)
	for _, workers := range []int{1, 2, 8, 64} {
		b.Run(strconv.Itoa(workers)+"workers", func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				q := workqueue.New[listwatch.Key](workqueue.Options{})
				produce(q, workers, func() {
					for _, k := range keys {
						q.Add(k)
					}
				})
				n += len(keys)
			}
			perSecond(b, n)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/key")
		})
	}
}

func BenchmarkHot(b *testing.B) {
	keys := benchKeys(1000)
	q := workqueue.New[listwatch.Key](workqueue.Options{})
	b.ReportAllocs()
	produce(q, 8, func() {
		i := 0
		for b.Loop() {
			q.Add(keys[i])
			if i++; i == len(keys) {
				i = 0
			}
		}
	})
}

func BenchmarkAddOnly(b *testing.B) {
	keys := benchKeys(200_000)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		q := workqueue.New[listwatch.Key](workqueue.Options{})
		for _, k := range keys {
			q.Add(k)
		}
		n += len(keys)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/key")
}

func BenchmarkGetDone(b *testing.B) {
	keys := benchKeys(200_000)
	b.ReportAllocs()
	n := 0
	q := workqueue.New[listwatch.Key](workqueue.Options{})
	for b.Loop() {
		b.StopTimer()
		for _, k := range keys {
			q.Add(k)
		}
		b.StartTimer()
		for range keys {
			k, _ := q.Get(context.Background())
			q.Done(k)
		}
		n += len(keys)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/key")
}

// BenchmarkCycle is one key after the other through an otherwise empty queue.
func BenchmarkCycle(b *testing.B) {
	q := workqueue.New[listwatch.Key](workqueue.Options{})
	keys := benchKeys(1000)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		q.Add(keys[i])
		k, _ := q.Get(context.Background())
		q.Done(k)
		if i++; i == len(keys) {
			i = 0
		}
	}
}

func BenchmarkRateLimitedCycle(b *testing.B) {
	q := workqueue.New[listwatch.Key](workqueue.Options{}, workqueue.Policy[listwatch.Key]{
		Limiter: &workqueue.Exponential[listwatch.Key]{Base: 1, Max: 1},
	})
	keys := benchKeys(1000)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		q.AddRateLimited(keys[i])
		k, _ := q.Get(context.Background())
		q.Forget(k)
		q.Done(k)
		if i++; i == len(keys) {
			i = 0
		}
	}
}

// BenchmarkAddAfter grows to so many delayed keys, and reports what one retains.
func BenchmarkAddAfter(b *testing.B) {
	keys := benchKeys(500_000)
	b.ReportAllocs()
	n, retained := 0, 0.0
	for b.Loop() {
		b.StopTimer()
		before := measure.Held()
		b.StartTimer()
		q := workqueue.New[listwatch.Key](workqueue.Options{})
		for i, k := range keys {
			q.AddAfter(k, time.Hour+time.Duration(i*7919%len(keys))*time.Millisecond)
		}
		b.StopTimer()
		retained = float64(measure.Held()-before) / float64(len(keys))
		q.Close()
		b.StartTimer()
		n += len(keys)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/key")
	b.ReportMetric(retained, "B/key")
}

func BenchmarkAddAfterSooner(b *testing.B) {
	keys := benchKeys(500_000)
	q := workqueue.New[listwatch.Key](workqueue.Options{})
	for i, k := range keys {
		q.AddAfter(k, 24*time.Hour+time.Duration(i*7919%len(keys))*time.Millisecond)
	}
	sooner := 23 * time.Hour
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		q.AddAfter(keys[i], sooner+time.Duration(i*7919%len(keys))*time.Millisecond)
		if i++; i == len(keys) {
			i, sooner = 0, sooner-10*time.Minute
		}
	}
	q.Close()
}

func BenchmarkDueBurst(b *testing.B) {
	keys := benchKeys(200_000)
	n := 0
	for b.Loop() {
		q := workqueue.New[listwatch.Key](workqueue.Options{})
		for i, k := range keys {
			q.AddAfter(k, time.Duration(i%1000)*100*time.Microsecond)
		}
		for range keys {
			k, _ := q.Get(context.Background())
			q.Done(k)
		}
		n += len(keys)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/key")
}
