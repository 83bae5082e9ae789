package owned

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// believed is how long own writes are believed against the cache: longer than anybody leaves a cluster like that.
const believed = 7 * 24 * time.Hour

// Options say what a Set holds. All fields must be set.
type Options[T kube.Object] struct {
	// Cluster is where it is written.
	Cluster *kube.Cluster
	// Informer reads it. Others may share it.
	Informer *informer.Informer[T]
	// Name is that of the Set's index, one of its own for each Set on an informer.
	Name string
	// Kind is that of the owners, such as "ReplicaSet".
	Kind string
}

// owner is what objects are found by: the UID of their controller, or the namespace of those that have none.
type owner struct {
	uid       types.UID
	namespace string
}

// Set is all that owners of one kind may own. Make one with [New]; it lives as long as its informer.
type Set[T kube.Object] struct {
	kube.Client[T]
	own   *informer.Overlay[T]
	index *indexer.Index[T, owner]
	mu    sync.Mutex
	// waiting are the keys that come again. Guarded by mu.
	waiting map[listwatch.Key]bool
}

// New returns a set. It returns an error when the informer has an index of that name.
func New[T kube.Object](o Options[T]) (*Set[T], error) {
	index, err := indexer.AddIndex(o.Informer.Indexer(), o.Name+" owner", func(object T) []owner {
		switch ref := metav1.GetControllerOfNoCopy(object); {
		case ref == nil:
			return []owner{{namespace: object.GetNamespace()}}
		case ref.Kind == o.Kind:
			return []owner{{uid: ref.UID}}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	own := informer.NewOverlay(o.Informer, informer.OverlayOptions{Size: 1 << 16, Expire: believed})
	return &Set[T]{Client: kube.For[T](o.Cluster), own: own, index: index, waiting: map[listwatch.Key]bool{}}, nil
}

// KeysOf returns a function for informer.EnqueueOf: the key of an object's owner, if that is of the kind.
func KeysOf[T kube.Object](kind string) func(T) []listwatch.Key {
	return func(object T) []listwatch.Key {
		if ref := metav1.GetControllerOfNoCopy(object); ref != nil && ref.Kind == kind {
			return []listwatch.Key{{Namespace: object.GetNamespace(), Name: ref.Name}}
		}
		return nil
	}
}

// Whole reports whether all own writes are seen. It is false when there were very many and the cache is far behind:
// then a step does nothing but [Set.Again].
func (s *Set[T]) Whole() bool { return s.own.Whole() }

// Of returns what an owner owns, own writes included. The objects are shared; the slice is the caller's.
func (s *Set[T]) Of(uid types.UID) []T { return informer.Look(s.own, s.index, owner{uid: uid}) }

// Again adds the key to the queue when the cache shows all own writes. It does nothing when the cache does so already.
// Each step calls it at its end.
func (s *Set[T]) Again(q *workqueue.Queue[listwatch.Key], key listwatch.Key) {
	caught := s.own.Caught()
	if caught.Fired() && s.own.Whole() {
		return
	}
	s.mu.Lock()
	waits := s.waiting[key]
	s.waiting[key] = true
	s.mu.Unlock()
	if waits {
		return
	}
	caught.AfterFunc(func() {
		s.mu.Lock()
		delete(s.waiting, key)
		s.mu.Unlock()
		q.Add(key)
	})
}

// Create makes an object, as [kube.Client.Create] does.
func (s *Set[T]) Create(ctx context.Context, o T) (T, error) { return s.wrote(s.Client.Create(ctx, o)) }

// Update replaces an object, as [kube.Client.Update] does.
func (s *Set[T]) Update(ctx context.Context, o T) (T, error) { return s.wrote(s.Client.Update(ctx, o)) }

// Patch changes an object, as [kube.Client.Patch] does.
func (s *Set[T]) Patch(ctx context.Context, o T, p kube.Patch) (T, error) {
	return s.wrote(s.Client.Patch(ctx, listwatch.KeyOf(o), p))
}

func (s *Set[T]) wrote(o T, err error) (T, error) {
	if err == nil {
		s.own.Wrote(o)
	}
	return o, err
}

// Delete deletes that object and none that has come under its name. From then on it isn't seen any more, though it may
// take its time to end. That it is gone already is no error.
func (s *Set[T]) Delete(ctx context.Context, o T, options metav1.DeleteOptions) error {
	if options.Preconditions == nil {
		options.Preconditions = metav1.NewUIDPreconditions(string(o.GetUID()))
	}
	err := s.Client.Delete(ctx, listwatch.KeyOf(o), options)
	if err == nil || apierrors.IsNotFound(err) {
		s.own.Deleted(o)
		return nil
	}
	return err
}

// Mark deletes like Delete an object that finalizers keep, which is seen on as the server holds it then.
func (s *Set[T]) Mark(ctx context.Context, o T) error {
	key := listwatch.KeyOf(o)
	err := s.Client.Delete(ctx, key, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))})
	if err != nil && !apierrors.IsNotFound(err) {
		return kube.UnlessBehind(err)
	}
	now, err := s.Get(ctx, key)
	switch {
	case apierrors.IsNotFound(err), err == nil && now.GetUID() != o.GetUID():
		s.own.Deleted(o)
		return nil
	case err == nil:
		s.own.Wrote(now)
	}
	return err
}
