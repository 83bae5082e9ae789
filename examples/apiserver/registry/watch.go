package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/cacher"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// ErrEnded says that a watch cannot go on, while a new one from its last version can, if that is not too old: it
// was slow, or the collection had to be read anew.
var ErrEnded = errors.New("the watch cannot go on")

// takeSize is how many events are taken, or initial ones sent, at once.
const takeSize = 100

// Event is one event of a watch.
type Event struct {
	// Type is Added, Modified, Deleted or Bookmark.
	Type watch.EventType
	// Object is the new state. For Deleted it is the last one that the watch showed, with the
	// version of the change. For Bookmark it is an empty object with a version.
	Object Item

	// from is the change that the event tells of; nil for initial objects and bookmarks.
	from *cacher.Event
}

// Protobuf returns the object in that form. What has just happened is encoded once for all watches of built-in kinds;
// it must not be changed.
func (e Event) Protobuf() ([]byte, error) {
	encode := func() (any, error) {
		o, err := e.Object.Object()
		if err != nil {
			return nil, err
		}
		k := e.Object.kind
		o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind())
		return k.EncodeProtobuf(o)
	}
	memo := func(_ string, make func() (any, error)) (any, error) { return make() }
	if e.from != nil {
		memo = e.from.Memo
	}
	name := kinds.Protobuf
	if e.Type == watch.Deleted { // who selects sees it go while for others it has changed
		name += " last"
	}
	data, err := memo(name, encode)
	if err != nil {
		return nil, err
	}
	return data.([]byte), nil
}

// Batch is what a watch delivers at once.
type Batch struct {
	// Events are in order. There may be none.
	Events []Event
	// Version is the position that the watch has reached with them; "" as long as initial events are to come.
	Version string
}

// Watch is a watch that has been checked and may be run. It is used by one goroutine, but for
// RequestProgress.
type Watch struct {
	cache    *cacher.Cache
	target   Target
	selector selector
	at       *cacher.Watch
	after    int64
	// initial are the objects that come first, and end the mark behind them.
	initial  []*cacher.Entry
	end      []Event
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
	w := &Watch{cache: r.cache(t.Kind), target: t, selector: s, after: revision, progress: make(chan struct{}, 1)}
	initial := revision == 0
	if o.SendInitialEvents != nil {
		initial = *o.SendInitialEvents
	}
	switch {
	case initial:
		if err := r.reach(ctx, t.Kind, o.ResourceVersion); err != nil {
			return w.inStream(err)
		}
		return w, w.readInitial(o.AllowWatchBookmarks)
	case revision == 0:
		err := r.reach(ctx, t.Kind, "")
		w.at, w.after = w.cache.Now()
		return w, err
	}
	if err := r.reach(ctx, t.Kind, "0"); err != nil {
		return nil, err
	}
	w.at, err = w.cache.Watch(revision)
	if tooOld := (*cacher.TooOldError)(nil); errors.As(err, &tooOld) {
		err = apierrors.NewResourceExpired(err.Error())
	}
	return w.inStream(err)
}

// inStream leaves an answer of the API for [Watch.Run].
func (w *Watch) inStream(err error) (*Watch, error) {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		w.err, err = err, nil
	}
	return w, err
}

func (w *Watch) readInitial(bookmark bool) error {
	page, at, err := w.cache.ListAndWatch(cacher.ListOptions{Prefix: w.target.within(), Matches: w.selector.matches})
	if err != nil {
		return err
	}
	w.initial, w.at, w.after = page.Entries, at, page.Revision
	if bookmark {
		end := w.bookmark(formatVersion(w.after), map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		w.end = []Event{end}
	}
	return nil
}

// Bookmark returns the event that says that a version has been reached.
func (w *Watch) Bookmark(version string) Event { return w.bookmark(version, nil) }

func (w *Watch) bookmark(version string, annotations map[string]string) Event {
	o := w.target.Kind.Empty(false)
	o.SetResourceVersion(version)
	o.SetAnnotations(annotations)
	e := &cacher.Entry{}
	e.Revision, _ = strconv.ParseInt(version, 10, 64) // it comes from formatVersion
	e.Value, e.Err = w.target.Kind.EncodeItem(o)
	return Event{Type: watch.Bookmark, Object: Item{e, w.target.Kind}}
}

// Start returns the version behind which the watch started; a bookmark with it says nothing.
func (w *Watch) Start() string { return formatVersion(w.after) }

// RequestProgress asks for a batch with the newest position. It never blocks and may be called
// from any goroutine; two requests may be answered at once.
func (w *Watch) RequestProgress() { signal(w.progress) }

// Run delivers the events until each returns an error, ctx is done or the watch can't go on ([ErrEnded]). The
// error is an answer of the API, to be sent as the last event, or else just the reason.
func (w *Watch) Run(ctx context.Context, each func(Batch) error) error {
	if w.err != nil {
		return w.err
	}
	if err := w.runInitial(ctx, each); err != nil {
		return err
	}
	for due := false; ; {
		taken, position, more, err := w.at.Take(takeSize)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrEnded, err)
		}
		batch := Batch{Version: formatVersion(position)}
		if batch.Events, err = w.events(taken); err != nil {
			return err
		}
		if len(batch.Events) > 0 || due && position >= w.after {
			if err := each(batch); err != nil {
				return err
			}
		}
		due = due && len(taken) > 0
		if len(taken) > 0 {
			continue
		}
		if ended := w.target.Kind.Served; ended != nil && ended.Err() != nil {
			return fmt.Errorf("%w: the kind has another definition", ErrEnded)
		}
		select {
		case <-more:
		case <-served(w.target.Kind):
		case <-w.progress:
			// A position that is not the newest will do, too.
			due = w.cache.Fresh(ctx) == nil || ctx.Err() == nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// served is closed when the kind is served no more.
func served(k *kinds.Kind) <-chan struct{} {
	if k.Served == nil {
		return nil
	}
	return k.Served.Done()
}

// runInitial delivers what exists, in parts.
func (w *Watch) runInitial(ctx context.Context, each func(Batch) error) error {
	for part := range slices.Chunk(w.initial, takeSize) {
		var batch Batch
		for _, e := range part {
			batch.Events = append(batch.Events, Event{Type: watch.Added, Object: Item{e, w.target.Kind}})
		}
		if err := each(batch); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	w.initial = nil
	if len(w.end) == 0 {
		return nil
	}
	return each(Batch{Events: w.end, Version: w.Start()})
}

// events are those of a batch that the watch shows.
func (w *Watch) events(from []*cacher.Event) ([]Event, error) {
	var events []Event
	for _, f := range from {
		if !strings.HasPrefix(f.Key, w.target.within()) {
			continue
		}
		event, err := w.event(f)
		if err != nil {
			return nil, err
		}
		if event.Type != "" {
			events = append(events, event)
		}
	}
	return events, nil
}

// event tells what a change means to who sees only what the selector matches. No type: nothing.
func (w *Watch) event(from *cacher.Event) (Event, error) {
	var matches, known bool
	var err error
	if from.Current != nil {
		if matches, err = w.selector.matches(from.Current); err != nil {
			return Event{}, err
		}
	}
	if from.Previous != nil {
		// What could not be read was not shown.
		known, _ = w.selector.matches(from.Previous)
	}
	k := w.target.Kind
	switch {
	case matches && known:
		return Event{watch.Modified, Item{from.Current, k}, from}, nil
	case matches:
		return Event{watch.Added, Item{from.Current, k}, from}, nil
	case known:
		return Event{watch.Deleted, Item{from.Last(k.Stamp), k}, from}, nil
	}
	return Event{}, nil
}
