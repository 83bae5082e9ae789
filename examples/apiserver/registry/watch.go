package registry

import (
	"context"
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

const expiredWatch = "The resourceVersion for the provided watch is too old."

// Event is one event of a watch.
type Event struct {
	// Type is Added, Modified, Deleted or Bookmark.
	Type watch.EventType
	// Object is the new state. For Deleted it is the last one that the watch showed, with the
	// version of the change. For Bookmark it is an empty object with a version.
	Object kinds.Object
}

// Batch is what a watch delivers at once.
type Batch struct {
	// Events are in order. There may be none.
	Events []Event
	// Version is the position that the watch has reached with them.
	Version string
}

// Watch is a watch that has been checked and may be run. It is used by one goroutine, but for
// RequestProgress.
type Watch struct {
	registry *Registry
	target   Target
	selector selector
	after    int64
	initial  []Event
	progress chan struct{}
	// err is an answer that comes in the stream.
	err error
}

// NewWatch checks the options and reads the initial state when they ask for one. The errors
// that it returns come before the stream begins; those of [Watch.Run] come within it.
func (r *Registry) NewWatch(ctx context.Context, t Target, o metav1.ListOptions) (*Watch, error) {
	o.Watch = true
	if err := checkOptions(o); err != nil {
		return nil, err
	}
	s, err := newSelector(t.Kind, o)
	if err != nil {
		return nil, err
	}
	if _, err := strconv.ParseUint(o.ResourceVersion, 10, 64); o.ResourceVersion != "" && err != nil {
		return nil, internal(versionError(o.ResourceVersion, err))
	}
	revision, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	w := &Watch{registry: r, target: t, selector: s, after: revision, progress: make(chan struct{}, 1)}
	initial := revision == 0
	if o.SendInitialEvents != nil {
		initial = *o.SendInitialEvents
	}
	switch {
	case initial:
		if err := r.waitFor(ctx, revision); err != nil {
			return w.inStream(err)
		}
		return w, w.readInitial(ctx, o.AllowWatchBookmarks)
	case revision == 0:
		w.after, err = r.store.Revision(ctx)
	}
	return w, err
}

// inStream leaves an answer of the API for [Watch.Run].
func (w *Watch) inStream(err error) (*Watch, error) {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		w.err = err
		return w, nil
	}
	return nil, err
}

func (w *Watch) readInitial(ctx context.Context, bookmark bool) error {
	list, err := w.registry.list(ctx, w.target, w.selector, storage.ListOptions{})
	if err != nil {
		return err
	}
	for _, object := range list.Objects {
		w.initial = append(w.initial, Event{Type: watch.Added, Object: object})
	}
	if bookmark {
		end := w.Bookmark(list.Meta.ResourceVersion)
		end.Object.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		w.initial = append(w.initial, end)
	}
	w.after, err = strconv.ParseInt(list.Meta.ResourceVersion, 10, 64)
	return err
}

// Bookmark returns the event that says that a version has been reached.
func (w *Watch) Bookmark(version string) Event {
	o := w.target.Kind.Empty(true)
	o.SetResourceVersion(version)
	return Event{Type: watch.Bookmark, Object: o}
}

// Start returns the version behind which the watch started; a bookmark with it says nothing.
func (w *Watch) Start() string { return formatVersion(w.after) }

// RequestProgress asks for a batch with the newest position. It never blocks and may be called
// from any goroutine; two requests may be answered at once.
func (w *Watch) RequestProgress() {
	select {
	case w.progress <- struct{}{}:
	default:
	}
}

// Run delivers the events until each returns an error, ctx is done or the history is lost. The
// error is an answer of the API, to be sent as the last event, or else just the reason.
func (w *Watch) Run(ctx context.Context, each func(Batch) error) error {
	if w.err != nil {
		return w.err
	}
	if len(w.initial) > 0 {
		if err := each(Batch{Events: w.initial, Version: w.Start()}); err != nil {
			return err
		}
		w.initial = nil
	}
	o := storage.WatchOptions{After: w.after, Progress: w.progress}
	err := w.registry.store.Watch(ctx, w.target.prefix(), o, func(b storage.Batch) error {
		batch := Batch{Version: formatVersion(b.Revision)}
		for _, from := range b.Events {
			event, err := w.event(from)
			if err != nil {
				return err
			}
			if event.Type != "" {
				batch.Events = append(batch.Events, event)
			}
		}
		return each(batch)
	})
	if errors.Is(err, storage.ErrCompacted) {
		return apierrors.NewResourceExpired(expiredWatch)
	}
	return err
}

// event tells what a change means to who sees only what the selector matches. No type: nothing.
func (w *Watch) event(from storage.Event) (Event, error) {
	var now, before kinds.Object
	var err error
	k, version := w.target.Kind, formatVersion(from.Revision)
	if from.Value != nil {
		if now, err = k.DecodeStored(from.Value, version); err != nil {
			return Event{}, err
		}
	}
	known := from.Previous != nil
	if known && (now == nil || !w.selector.empty()) {
		if before, err = k.DecodeStored(from.Previous, version); err != nil {
			return Event{}, err
		}
		known = w.selector.matches(before)
	}
	matches := now != nil && w.selector.matches(now)
	switch {
	case matches && known:
		return Event{Type: watch.Modified, Object: now}, nil
	case matches:
		return Event{Type: watch.Added, Object: now}, nil
	case known:
		return Event{Type: watch.Deleted, Object: before}, nil
	}
	return Event{}, nil
}
