package fakes

import (
	"context"
	"errors"
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// Watch delivers what changes after a version until its timeout, which is a clean end. It
// implements [listwatch.ListerWatcher].
//
// A version older than the history ends it at once, before any event, with an error that wraps
// [listwatch.ErrExpired]; a version from the future keeps it silent until the collection has
// passed it. An empty version and "0" deliver what exists first, as Added events in the order of
// a list, and then Synced, as initial events do; but Known is not asked. Initial events do not
// move the position, and a version from the future fails them with
// [listwatch.ErrTooLargeVersion].
func (s *Source[T]) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[T]) error) error {
	return (&view[T]{source: s, match: s.o.Select}).Watch(ctx, o, each)
}

// Watch is [Source.Watch] of what is selected.
func (v *view[T]) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[T]) error) error {
	s := v.source
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	err := s.faults.failure(VerbWatch)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if before := s.o.Hooks.BeforeWatch; before != nil {
		if err := before(ctx, o); err != nil {
			return err
		}
	}
	if o.InitialEvents && s.o.NoInitialEvents {
		return Status(422, "sendInitialEvents is forbidden for watch")
	}
	return v.stream(ctx, o, each)
}

func (v *view[T]) stream(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[T]) error) error {
	s := v.source
	version, err := watchVersion(o.ResourceVersion)
	if err != nil {
		return err
	}
	w := &stream[T]{view: v, source: s, each: each, refused: o.Refused, cursor: version}
	w.begin(o.Timeout)
	defer w.close()
	if w.ended {
		begun(ctx)
		return w.endErr
	}
	if ok, err := w.pass(ctx); !ok {
		if w.ended {
			return w.endErr
		}
		return err
	}
	if o.InitialEvents || version == 0 {
		err = w.initial(ctx, o)
	} else if err = w.startable(); err == nil {
		begun(ctx)
	}
	if err != nil {
		return err
	}
	return w.run(ctx)
}

type begunKey struct{}

// WithBegun returns a context for a watch of a [Source] that calls f when it has begun: from now
// on a failure is no refusal any more. f is called in the goroutine of the watch, before each,
// and may block.
func WithBegun(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, begunKey{}, f)
}

func begun(ctx context.Context) {
	if f, ok := ctx.Value(begunKey{}).(func()); ok {
		f()
	}
}

// watchVersion reads the version of a watch; "" and "0" are 0.
func watchVersion(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	version, err := parse(s)
	if err != nil {
		return 0, Status(500, err.Error())
	}
	return version, nil
}

// startable reports whether everything after the cursor can be replayed.
func (w *stream[T]) startable() error {
	s := w.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.cursor >= s.history.Floor() {
		return nil
	}
	e := tooOld(w.cursor, s.history.Floor())
	e.Event = !s.o.ExpiredStatus
	return e
}

// initial delivers what exists and the mark behind it.
func (w *stream[T]) initial(ctx context.Context, o listwatch.WatchOptions) error {
	s := w.source
	replica := VerbWatch
	if o.ResourceVersion == "" {
		replica = 0
	}
	version, err := s.await(ctx, w.cursor, replica)
	if err != nil {
		return asEvent(err)
	}
	states, err := s.sorted(version)
	if err != nil {
		return asEvent(err)
	}
	if !o.InitialEvents {
		o.Known = nil
	}
	begun(ctx)
	page, _ := w.view.cut(states, 0)
	w.cursor = version
	for states := range slices.Chunk(page, batchSize) {
		for _, st := range states {
			if o.Known == nil || !o.Known(s.head(st)) {
				if err := w.put(listwatch.Added, s.copyOf(st), ""); err != nil {
					return err
				}
			}
		}
		if err := w.flush(ctx); err != nil || w.ended {
			return err
		}
	}
	if s.o.NoInitialEvents {
		return nil
	}
	if ok, err := w.pass(ctx); !ok {
		return err
	}
	return w.each(listwatch.Event[T]{Type: listwatch.Synced, ResourceVersion: format(version)})
}

// asEvent marks a failure as one that came in the stream.
func asEvent(err error) error {
	var e *listwatch.StatusError
	if errors.As(err, &e) {
		e.Event = true
	}
	return err
}
