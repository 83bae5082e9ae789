package crd

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// source are the definitions as the library reads them: out of the registry, as a client would.
type source struct {
	registry *registry.Registry
	target   registry.Target
}

var eventTypes = map[watch.EventType]listwatch.EventType{
	watch.Added: listwatch.Added, watch.Modified: listwatch.Modified, watch.Deleted: listwatch.Deleted, watch.Bookmark: listwatch.Bookmark,
}

// List delivers all definitions.
func (s source) List(ctx context.Context, o listwatch.ListOptions, each func(...*Definition) error) (listwatch.ListMeta, error) {
	asked := metav1.ListOptions{}
	switch o.Match {
	case listwatch.MatchNotOlder:
		asked.ResourceVersion = o.ResourceVersion
	case listwatch.MatchExact:
		return listwatch.ListMeta{}, listwatch.ErrUnsupported
	}
	list, err := s.registry.List(ctx, s.target, asked)
	if err != nil {
		return listwatch.ListMeta{}, classify(err)
	}
	all := make([]*Definition, 0, len(list.Objects))
	for _, item := range list.Objects {
		d, err := decoded(item)
		if err != nil {
			return listwatch.ListMeta{}, err
		}
		all = append(all, d)
	}
	return listwatch.ListMeta{ResourceVersion: list.Meta.ResourceVersion}, each(all...)
}

// Watch delivers what changes behind a version.
func (s source) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*Definition]) error) error {
	if o.InitialEvents {
		return listwatch.ErrUnsupported
	}
	w, err := s.registry.NewWatch(ctx, s.target, metav1.ListOptions{ResourceVersion: o.ResourceVersion})
	if err != nil {
		return classify(err)
	}
	err = w.Run(ctx, func(b registry.Batch) error {
		events := make([]listwatch.Event[*Definition], 0, len(b.Events))
		for _, e := range b.Events {
			d, err := decoded(e.Object)
			if err != nil {
				return err
			}
			events = append(events, listwatch.Event[*Definition]{
				Type: eventTypes[e.Type], ResourceVersion: d.ResourceVersion, Object: d})
		}
		return each(events...)
	})
	if errors.Is(err, registry.ErrEnded) {
		return nil
	}
	return classify(err)
}

func decoded(i registry.Item) (*Definition, error) {
	o, err := i.Object()
	if err != nil {
		return nil, err
	}
	return o.(*Definition), nil
}

func classify(err error) error {
	switch {
	case apierrors.IsResourceExpired(err):
		return fmt.Errorf("%w: %w", listwatch.ErrExpired, err)
	case apierrors.IsTimeout(err):
		return fmt.Errorf("%w: %w", listwatch.ErrTooLargeVersion, err)
	case err != nil:
		return fmt.Errorf("%w: %w", listwatch.ErrUnavailable, err)
	}
	return nil
}
