package footprint

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/meter"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// starter starts informers of empty collections. It returns when they watch, and a function that
// ends them.
type starter func(ctx context.Context, n int) (stop func() error, err error)

// idle measures n synced informers.
func idle(ctx context.Context, n int, start starter) (work.Metrics, error) {
	before, goroutines := meter.Heap(), runtime.NumGoroutine()
	stop, err := start(ctx, n)
	if err != nil {
		return nil, err
	}
	heap := (meter.Heap() - before) / float64(n)
	m := work.Metrics{"heap_bytes": heap, "goroutines": float64(runtime.NumGoroutine()-goroutines) / float64(n)}
	return m, stop()
}

// fleet are informers that run.
type fleet struct {
	cancel   context.CancelFunc
	running  sync.WaitGroup
	watching sync.WaitGroup // each is done when it watches
	kept     []any
}

func (f *fleet) stop() error {
	f.cancel()
	f.running.Wait()
	runtime.KeepAlive(f.kept)
	return nil
}

// settle blocks until all watch.
func (f *fleet) settle(ctx context.Context) error {
	done := make(chan struct{})
	f.running.Go(func() {
		f.watching.Wait()
		close(done)
	})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), f.stop())
	}
}

func startOurs(ctx context.Context, n int) (func() error, error) {
	f := &fleet{}
	running, cancel := context.WithCancel(ctx)
	f.cancel = cancel
	f.watching.Add(n)
	for range n {
		source := listwatch.Funcs[*corev1.Pod]{
			ListFunc: func(context.Context, listwatch.ListOptions, func(...*corev1.Pod) error) (listwatch.ListMeta, error) {
				return listwatch.ListMeta{ResourceVersion: "1"}, nil
			},
			WatchFunc: func(ctx context.Context, _ listwatch.WatchOptions, _ func(...listwatch.Event[*corev1.Pod]) error) error {
				f.watching.Done()
				<-ctx.Done()
				return ctx.Err()
			},
		}
		i := informer.New(source, informer.Options{
			Logger: slog.New(slog.DiscardHandler), Reflector: reflector.Options{FirstList: reflector.FirstPages},
		})
		if _, err := i.AddHandler(running, func(context.Context, informer.Change[*corev1.Pod]) {}, informer.HandlerOptions{}); err != nil {
			return nil, errors.Join(err, f.stop())
		}
		f.kept = append(f.kept, i)
		f.running.Go(func() { _ = i.Run(running) })
	}
	return f.stop, f.settle(ctx)
}

func startTheirs(ctx context.Context, n int) (func() error, error) {
	f := &fleet{}
	running, cancel := context.WithCancel(ctx)
	f.cancel = cancel
	f.watching.Add(n)
	for range n {
		source := &cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (k8sruntime.Object, error) {
				return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
			},
			WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
				if o.SendInitialEvents != nil {
					return nil, errors.New("no initial events")
				}
				f.watching.Done()
				return watch.NewFake(), nil
			},
		}
		lists := cache.ToListWatcherWithWatchListSemantics(source, unstreamed{})
		i := cache.NewSharedIndexInformer(lists, &corev1.Pod{}, 0, cache.Indexers{})
		if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}}); err != nil {
			return nil, errors.Join(err, f.stop())
		}
		f.kept = append(f.kept, i)
		f.running.Go(func() { i.RunWithContext(running) })
	}
	return f.stop, f.settle(ctx)
}

// unstreamed is a client that says that it has no streaming lists.
type unstreamed struct{}

// IsWatchListSemanticsUnSupported says so.
func (unstreamed) IsWatchListSemanticsUnSupported() bool { return true }
