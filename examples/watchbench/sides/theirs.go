package sides

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

type theirs struct {
	pods     []corev1.Pod
	events   chan watch.Event
	informer cache.SharedIndexInformer
}

func newTheirs(pods []corev1.Pod, backlog int) *theirs {
	t := &theirs{pods: pods, events: make(chan watch.Event, backlog)}
	source := &cache.ListWatch{ListWithContextFunc: t.list, WatchFuncWithContext: t.watch}
	t.informer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, noStreamingList{}),
		&corev1.Pod{}, 0, cache.Indexers{})
	return t
}

// noStreamingList tells client-go that the source has lists of the ordinary kind alone, as
// the other side's has.
type noStreamingList struct{}

// IsWatchListSemanticsUnSupported is true.
func (noStreamingList) IsWatchListSemanticsUnSupported() bool { return true }

func (t *theirs) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(FirstVersion - 1)}, Items: t.pods}, nil
}

func (t *theirs) watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewProxyWatcher(t.events), nil
}

func (t *theirs) addIndex() error {
	return t.informer.AddIndexers(cache.Indexers{"node": func(object any) ([]string, error) {
		return []string{node(object.(*corev1.Pod))}, nil
	}})
}

func (t *theirs) addHandler(_ context.Context, _ bool, told func(*corev1.Pod)) (func(context.Context) error, error) {
	r, err := t.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { told(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { told(object.(*corev1.Pod)) },
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		select {
		case <-r.HasSyncedChecker().Done():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, nil
}

func (t *theirs) run(ctx context.Context) error {
	t.informer.RunWithContext(ctx)
	return nil
}

func (t *theirs) send(ctx context.Context, pod *corev1.Pod) error {
	select {
	case t.events <- watch.Event{Type: watch.Modified, Object: pod}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
