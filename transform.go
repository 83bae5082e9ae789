package listwatch

import (
	"context"
	"fmt"
)

// Transform returns a source whose objects have passed through f, once each.
//
// It is the place to drop what a controller does not need (managed fields, large annotations)
// before it is stored. f owns the object and may change it in place or return another; it must
// keep name, namespace, version and UID. An error or a panic of f, or another key or version
// than before, refuses the object by way of [ListOptions.Refused]. f is never called for an
// object that Known says is held, and never for a cached one. It may be called from several
// goroutines at once when the source's methods are.
func Transform[T Object](source ListerWatcher[T], f func(T) (T, error)) ListerWatcher[T] {
	return &transformed[T]{source: source, f: f}
}

type transformed[T Object] struct {
	source ListerWatcher[T]
	f      func(T) (T, error)
}

func (t *transformed[T]) List(ctx context.Context, o ListOptions, each func(...T) error) (ListMeta, error) {
	return t.source.List(ctx, o, func(objects ...T) error {
		kept := make([]T, 0, len(objects))
		for _, object := range objects {
			result, head, err := t.apply(object)
			if err == nil {
				kept = append(kept, result)
			} else if err := refuse(o.Refused, head, err); err != nil {
				return err
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return each(kept...)
	})
}

func (t *transformed[T]) Watch(ctx context.Context, o WatchOptions, each func(...Event[T]) error) error {
	return t.source.Watch(ctx, o, func(events ...Event[T]) error {
		kept := make([]Event[T], 0, len(events))
		for _, event := range events {
			if event.Type != Added && event.Type != Modified && event.Type != Deleted {
				kept = append(kept, event)
				continue
			}
			result, head, err := t.apply(event.Object)
			if err == nil {
				event.Object = result
				kept = append(kept, event)
			} else if err := refuse(o.Refused, head, err); err != nil {
				return err
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return each(kept...)
	})
}

func (t *transformed[T]) apply(object T) (result T, head Head, err error) {
	head = Head{Key: KeyOf(object), ResourceVersion: object.GetResourceVersion()}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("transform of %s panicked: %v", head.Key, p)
		}
	}()
	result, err = t.f(object)
	if err != nil {
		return result, head, fmt.Errorf("transform of %s: %w", head.Key, err)
	}
	if KeyOf(result) != head.Key || result.GetResourceVersion() != head.ResourceVersion {
		return result, head, fmt.Errorf("%w: transform of %s changed its key or version", ErrProtocol, head.Key)
	}
	return result, head, nil
}

func refuse(refused func(Head, error) error, head Head, err error) error {
	if refused == nil {
		return err
	}
	return refused(head, err)
}
