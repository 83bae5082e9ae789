package owned

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

// Owner is for whom [Set.Claim] claims.
type Owner struct {
	// Object is the owner as the cache has it.
	Object metav1.Object
	// Kind is its kind.
	Kind schema.GroupVersionKind
	// Live reads it from the server.
	Live func(ctx context.Context) (metav1.Object, error)
}

// Claim returns what the owner owns, once it is as the selector wants it: what has no controller and matches becomes the
// owner's, if the server says that this very owner is there; what doesn't match any more is released. An owner that is
// being deleted takes and gives nothing. The objects are shared; the slice is the caller's.
func (s *Set[T]) Claim(ctx context.Context, o Owner, selector labels.Selector) ([]T, error) {
	uid := o.Object.GetUID()
	mine := s.Of(uid)
	if o.Object.GetDeletionTimestamp() != nil {
		return mine, nil
	}
	kept, errs := mine[:0], []error(nil)
	for _, object := range mine {
		if selector.Matches(labels.Set(object.GetLabels())) || object.GetDeletionTimestamp() != nil {
			kept = append(kept, object)
		} else {
			errs = append(errs, s.change(ctx, object, map[string]any{"$patch": "delete", "uid": uid}))
		}
	}
	allowed := sync.OnceValues(func() (bool, error) { return o.lives(ctx) })
	for _, object := range informer.Look(s.own, s.index, owner{namespace: o.Object.GetNamespace()}) {
		if !selector.Matches(labels.Set(object.GetLabels())) || object.GetDeletionTimestamp() != nil {
			continue
		}
		if ok, err := allowed(); !ok {
			errs = append(errs, err)
			break
		}
		if err := s.change(ctx, object, metav1.NewControllerRef(o.Object, o.Kind)); err != nil {
			errs = append(errs, err)
			continue
		}
		if now, ok := s.own.Get(listwatch.KeyOf(object)); ok && metav1.IsControlledBy(now, o.Object) {
			kept = append(kept, now)
		}
	}
	return kept, errors.Join(errs...)
}

// lives asks the server whether the owner is there. When it isn't the cache will say so, too.
func (o Owner) lives(ctx context.Context) (bool, error) {
	now, err := o.Live(ctx)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && now.GetUID() == o.Object.GetUID() && now.GetDeletionTimestamp() == nil, err
}

// change changes one owner reference of an object, if it is that object still.
func (s *Set[T]) change(ctx context.Context, o T, ref any) error {
	_, err := s.Patch(ctx, o, kube.Patch{Type: types.StrategicMergePatchType, Body: map[string]any{
		"metadata": map[string]any{"uid": o.GetUID(), "ownerReferences": []any{ref}},
	}})
	return kube.UnlessBehind(err)
}

// Batches calls f n times: once, then twice at a time, then four times, and so on, so that a server which refuses them
// all isn't flooded. After a batch with an error it calls no more. It returns the errors joined.
func Batches(n int, f func(i int) error) error {
	for done, size := 0, 1; done < n; size *= 2 {
		size = min(size, n-done, 64)
		errs := make([]error, size)
		var batch sync.WaitGroup
		for i := range size {
			batch.Go(func() { errs[i] = f(done + i) })
		}
		batch.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		done += size
	}
	return nil
}
