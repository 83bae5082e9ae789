package informer

import (
	"context"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// Enqueue puts the key of whatever changes into q, until ctx is done: the first half of a
// controller. It is AddHandler with [ToQueue].
func Enqueue[T listwatch.Object](ctx context.Context, i *Informer[T], q *workqueue.Queue[listwatch.Key]) (*Registration, error) {
	return i.AddHandler(ctx, ToQueue[T](q), HandlerOptions{Name: "enqueue"})
}

// EnqueueOf puts keys made from whatever changes into q, until ctx is done. It is AddHandler
// with [ToQueueOf]: use it for the owner's key of an owned object, or for keys of any other kind.
func EnqueueOf[T listwatch.Object, K comparable](
	ctx context.Context, i *Informer[T], q *workqueue.Queue[K], keys func(T) []K,
) (*Registration, error) {
	return i.AddHandler(ctx, ToQueueOf(q, keys), HandlerOptions{Name: "enqueue"})
}

// ToQueue returns a handler that adds the object's own key to q. A nil queue makes a nil
// handler, which AddHandler refuses. As an argument it needs its T written out.
func ToQueue[T listwatch.Object](q *workqueue.Queue[listwatch.Key]) Handler[T] {
	if q == nil {
		return nil
	}
	return func(_ context.Context, c Change[T]) { q.Add(c.Key) }
}

// ToQueueOf returns a handler that adds to q the keys that the function returns for the object,
// and for an update or a delete those of the state told before, too: when an object moves to
// another owner, both owners hear of it. A function that returns nothing is silent. A nil queue
// or function makes a nil handler, which AddHandler refuses.
func ToQueueOf[T listwatch.Object, K comparable](q *workqueue.Queue[K], keys func(T) []K) Handler[T] {
	if q == nil || keys == nil {
		return nil
	}
	return func(_ context.Context, c Change[T]) {
		if c.Type != Add {
			for _, k := range keys(c.Old) {
				q.Add(k)
			}
			if c.Resync {
				return
			}
		}
		for _, k := range keys(c.Object) {
			q.Add(k)
		}
	}
}
