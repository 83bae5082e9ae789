package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// Source is a kind, in all namespaces, as informers inside the server read it: it implements
// [listwatch.ListerWatcher]. Its methods are safe for concurrent use.
type Source[T kinds.Object] struct {
	registry *Registry
	target   Target
	progress chan struct{}
}

// NewSource returns the source of a kind whose objects are of type T.
func NewSource[T kinds.Object](r *Registry, k *kinds.Kind) *Source[T] {
	return &Source[T]{registry: r, target: Target{Kind: k}, progress: make(chan struct{}, 1)}
}

// Present returns the version that the store has at the moment, and has the running watch, of which there should be
// one, tell when it has come so far.
func (s *Source[T]) Present(ctx context.Context) (string, error) {
	revision, err := s.registry.store.Revision(ctx)
	if err != nil {
		return "", err
	}
	signal(s.progress)
	return formatVersion(revision), nil
}

// List delivers everything at once.
func (s *Source[T]) List(ctx context.Context, o listwatch.ListOptions, each func(...T) error) (listwatch.ListMeta, error) {
	asked := metav1.ListOptions{}
	switch o.Match {
	case listwatch.MatchNotOlder:
		asked.ResourceVersion, asked.ResourceVersionMatch = o.ResourceVersion, metav1.ResourceVersionMatchNotOlderThan
	case listwatch.MatchExact:
		asked.ResourceVersion, asked.ResourceVersionMatch = o.ResourceVersion, metav1.ResourceVersionMatchExact
	}
	list, err := s.registry.List(ctx, s.target, asked)
	if err != nil {
		return listwatch.ListMeta{}, sourceError(err)
	}
	objects := make([]T, 0, len(list.Objects))
	for _, item := range list.Objects {
		o, err := objectOf[T](item)
		if err != nil {
			return listwatch.ListMeta{}, err
		}
		objects = append(objects, o)
	}
	return listwatch.ListMeta{ResourceVersion: list.Meta.ResourceVersion}, each(objects...)
}

// Watch delivers what changes. It has no initial events.
func (s *Source[T]) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[T]) error) error {
	if o.InitialEvents || o.ResourceVersion == "" {
		return listwatch.ErrUnsupported
	}
	w, err := s.registry.NewWatch(ctx, s.target, metav1.ListOptions{ResourceVersion: o.ResourceVersion, AllowWatchBookmarks: true})
	if err != nil {
		return sourceError(err)
	}
	w.progress = s.progress
	ended := errors.New("the time of the watch is over")
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, ended)
		defer cancel()
	}
	err = w.Run(ctx, func(b Batch) error {
		events, err := eventsOf[T](b)
		if err != nil {
			return err
		}
		return each(events...)
	})
	if errors.Is(err, ErrEnded) || errors.Is(err, ended) {
		return nil
	}
	return sourceError(err)
}

// eventsOf returns the events of a batch, or a bookmark when there are none.
func eventsOf[T kinds.Object](b Batch) ([]listwatch.Event[T], error) {
	types := map[watch.EventType]listwatch.EventType{
		watch.Added: listwatch.Added, watch.Modified: listwatch.Modified, watch.Deleted: listwatch.Deleted,
	}
	events := make([]listwatch.Event[T], 0, len(b.Events)+1)
	for _, e := range b.Events {
		o, err := objectOf[T](e.Object)
		if err != nil {
			return nil, err
		}
		events = append(events, listwatch.Event[T]{Type: types[e.Type], Object: o, ResourceVersion: o.GetResourceVersion()})
	}
	if len(events) == 0 {
		events = append(events, listwatch.Event[T]{Type: listwatch.Bookmark, ResourceVersion: b.Version})
	}
	return events, nil
}

func objectOf[T kinds.Object](item Item) (T, error) {
	o, err := item.Object()
	if err != nil {
		var none T
		return none, fmt.Errorf("%w: %w", listwatch.ErrDecode, err)
	}
	return o.(T), nil
}

// sourceError says of an answer of the API which failure it is to an informer.
func sourceError(err error) error {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return err
	}
	class := listwatch.ErrUnavailable
	switch {
	case status.Status().Code == http.StatusGone:
		class = listwatch.ErrExpired
	case apierrors.IsTimeout(err):
		class = listwatch.ErrTooLargeVersion
	case apierrors.IsBadRequest(err):
		class = listwatch.ErrUnsupported
	}
	return fmt.Errorf("%w: %w", class, err)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
