package sides

import (
	"context"
	"log/slog"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

type ours struct {
	pods     []*corev1.Pod
	events   chan listwatch.Event[*corev1.Pod]
	informer *informer.Informer[*corev1.Pod]
}

func newOurs(pods []corev1.Pod, backlog int, compact *indexer.Compact) *ours {
	o := &ours{events: make(chan listwatch.Event[*corev1.Pod], backlog)}
	for i := range pods {
		o.pods = append(o.pods, &pods[i])
	}
	source := listwatch.Funcs[*corev1.Pod]{ListFunc: o.list, WatchFunc: o.watch}
	o.informer = informer.New[*corev1.Pod](source, informer.Options{
		Logger: slog.New(slog.DiscardHandler), Index: indexer.Options{Compact: compact},
	})
	return o
}

func (o *ours) list(_ context.Context, _ listwatch.ListOptions, each func(...*corev1.Pod) error) (listwatch.ListMeta, error) {
	for part := range slices.Chunk(o.pods, batch) {
		if err := each(part...); err != nil {
			return listwatch.ListMeta{}, err
		}
	}
	return listwatch.ListMeta{ResourceVersion: strconv.Itoa(FirstVersion - 1)}, nil
}

// watch makes batches of what stands in the channel.
func (o *ours) watch(ctx context.Context, _ listwatch.WatchOptions, each func(...listwatch.Event[*corev1.Pod]) error) error {
	events := make([]listwatch.Event[*corev1.Pod], 0, batch)
	for {
		select {
		case e := <-o.events:
			events = append(events[:0], e)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for len(events) < batch && len(o.events) > 0 {
			events = append(events, <-o.events)
		}
		if err := each(events...); err != nil {
			return err
		}
		clear(events)
	}
}

func (o *ours) addIndex() error {
	_, err := indexer.AddIndexFunc(o.informer.Indexer(), "node", func(p *corev1.Pod, values []string) []string {
		return append(values, node(p))
	})
	return err
}

func (o *ours) addHandler(ctx context.Context, every bool, told func(*corev1.Pod)) (func(context.Context) error, error) {
	policy := informer.Coalesce
	if every {
		policy = informer.EveryEvent
	}
	r, err := o.informer.AddHandler(ctx, func(_ context.Context, c informer.Change[*corev1.Pod]) { told(c.Object) },
		informer.HandlerOptions{Policy: policy})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		select {
		case <-r.Synced().Done():
			return nil
		case <-r.Done():
			return r.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, nil
}

func (o *ours) run(ctx context.Context) error { return o.informer.Run(ctx) }

func (o *ours) send(ctx context.Context, pod *corev1.Pod) error {
	select {
	case o.events <- listwatch.Event[*corev1.Pod]{Type: listwatch.Modified, Object: pod, ResourceVersion: pod.ResourceVersion}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
