package informer_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/measure"
)

// node is a small object that a benchmark can make cheaply.
type node struct {
	listwatch.Meta
	Zone string
}

// feed is a source of n nodes, whose watch delivers what the benchmark hands to it.
type feed struct {
	n      int
	events chan []listwatch.Event[*node]
}

func (f *feed) List(_ context.Context, _ listwatch.ListOptions, each func(...*node) error) (listwatch.ListMeta, error) {
	for k := range f.n {
		if err := each(f.node(k, 1)); err != nil {
			return listwatch.ListMeta{}, err
		}
	}
	return listwatch.ListMeta{ResourceVersion: "1"}, nil
}

func (f *feed) node(k, version int) *node {
	return &node{
		Meta: listwatch.Meta{Name: "node-" + strconv.Itoa(k), UID: "u" + strconv.Itoa(k), ResourceVersion: strconv.Itoa(version)},
		Zone: "zone-" + strconv.Itoa(k%10),
	}
}

func (f *feed) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*node]) error) error {
	if o.InitialEvents {
		return listwatch.ErrUnsupported
	}
	for {
		select {
		case batch := <-f.events:
			if err := each(batch...); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// BenchmarkPipeline measures events on the whole line from a source to counting handlers, with
// one index, objects decoded before, and every delivery counted.
func BenchmarkPipeline(b *testing.B) {
	const keys, batch, ready = 10_000, 64, 100_000
	for _, handlers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("handlers=%d", handlers), func(b *testing.B) {
			f := &feed{n: keys, events: make(chan []listwatch.Event[*node], 16)}
			i := informer.New[*node](f, quiet(informer.Options{}))
			_, err := indexer.AddIndex(i.Indexer(), "zone", indexer.One(func(n *node) string { return n.Zone }))
			require.NoError(b, err)
			ctx, cancel := context.WithCancel(b.Context())
			counts := make([]struct {
				n atomic.Int64
				_ [56]byte
			}, handlers)
			for h := range handlers {
				_, err := i.AddHandler(ctx, func(context.Context, informer.Change[*node]) { counts[h].n.Add(1) },
					informer.HandlerOptions{Policy: informer.EveryEvent, Backlog: 1 << 30})
				require.NoError(b, err)
			}
			run := make(chan error)
			go func() { run <- i.Run(ctx) }()
			require.NoError(b, i.WaitForSync(ctx))
			objects := make([]*node, ready)
			for n := range objects {
				objects[n] = f.node(n%keys, n+2)
			}
			version := 1
			b.ReportAllocs()
			b.ResetTimer()
			sent := 0
			for b.Loop() {
				events := make([]listwatch.Event[*node], batch)
				for n := range events {
					version++
					o := objects[version%ready]
					if version > ready {
						clone := *o
						clone.ResourceVersion = strconv.Itoa(version)
						o = &clone
					}
					events[n] = listwatch.Event[*node]{Type: listwatch.Modified, Object: o, ResourceVersion: o.ResourceVersion}
				}
				f.events <- events
				sent += batch
			}
			want := int64(sent + keys)
			for h := range counts {
				for counts[h].n.Load() < want {
					runtime.Gosched()
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(sent*handlers)/b.Elapsed().Seconds(), "deliveries/s")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sent), "ns/event")
			cancel()
			require.NoError(b, <-run)
		})
	}
}

// BenchmarkRetained measures what an informer keeps per object beside the object itself.
func BenchmarkRetained(b *testing.B) {
	const keys = 100_000
	for b.Loop() {
		objects := make([]*node, keys)
		f := &feed{n: keys}
		for k := range objects {
			objects[k] = f.node(k, 1)
		}
		before := measure.Held()
		source := listwatch.Funcs[*node]{
			ListFunc: func(_ context.Context, _ listwatch.ListOptions, each func(...*node) error) (listwatch.ListMeta, error) {
				return listwatch.ListMeta{ResourceVersion: "1"}, each(objects...)
			},
			WatchFunc: func(ctx context.Context, _ listwatch.WatchOptions, _ func(...listwatch.Event[*node]) error) error {
				<-ctx.Done()
				return ctx.Err()
			},
		}
		i := informer.New[*node](source, quiet(informer.Options{}))
		ctx, cancel := context.WithCancel(b.Context())
		reg, err := i.AddHandler(ctx, func(context.Context, informer.Change[*node]) {}, informer.HandlerOptions{})
		require.NoError(b, err)
		run := make(chan error)
		go func() { run <- i.Run(ctx) }()
		<-reg.Synced().Done()
		b.ReportMetric(float64(measure.Held()-before)/keys, "retained-B/object")
		runtime.KeepAlive(objects)
		cancel()
		<-run
	}
}
