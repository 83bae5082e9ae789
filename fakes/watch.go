package fakes

import (
	"context"
	"errors"
	"time"

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
	err := s.faults.takeFailure(VerbWatch)
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
	w := &stream[T]{view: v, source: s, each: each, cursor: version}
	w.begin(o.Timeout)
	defer w.close()
	if w.ended {
		return w.endErr
	}
	if o.InitialEvents || version == 0 {
		err = w.initial(ctx, o)
	} else {
		err = w.startable()
	}
	if err != nil {
		return err
	}
	return w.run(ctx)
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

// stream is one running watch.
type stream[T listwatch.Object] struct {
	view   *view[T]
	source *Source[T]
	each   func(...listwatch.Event[T]) error
	bell   *alarm

	// cursor is the version up to which everything has been delivered.
	cursor uint64
	// cuts and bookmarks are how many of each this watch has seen.
	cuts, bookmarks uint64
	end             time.Time
	nextBookmark    time.Time
	// left is how many object events may still come before the ordered end; negative: no end
	// was ordered.
	left   int
	endErr error
	// ended is true when the ordered end has come.
	ended bool

	changes []change[T]
	events  []listwatch.Event[T]
}

func (w *stream[T]) begin(timeout time.Duration) {
	s := w.source
	if timeout <= 0 {
		timeout = s.o.WatchTimeout
	}
	now := s.o.Clock.Now()
	w.bell = newAlarm(s.o.Clock)
	w.end = now.Add(timeout)
	w.planBookmark(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches++
	w.cuts, w.bookmarks = s.faults.cuts, s.faults.bookmarks
	e := s.faults.takeEnding()
	w.left, w.endErr, w.ended = e.after, e.err, e.after == 0
}

func (w *stream[T]) close() {
	w.bell.stop()
	w.source.mu.Lock()
	defer w.source.mu.Unlock()
	w.source.watches--
}

// planBookmark sets when the next bookmark is due: after the usual time, but not later than
// shortly before the end, and never after that one.
func (w *stream[T]) planBookmark(now time.Time) {
	every := w.source.o.BookmarkEvery
	last := w.end.Add(-lastBookmark)
	w.nextBookmark = time.Time{}
	if every < 0 || !now.Before(last) {
		return
	}
	w.nextBookmark = now.Add(every)
	if w.nextBookmark.After(last) {
		w.nextBookmark = last
	}
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
	if ok, err := w.resumed(ctx); !ok {
		return err
	}
	version, err := s.await(ctx, w.cursor, false)
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
	page, _ := w.view.page(states, token{}, 0)
	w.cursor = version
	for i, st := range page {
		if o.Known == nil || !o.Known(s.head(st)) {
			w.put(listwatch.Added, s.copyOf(st), "")
		}
		if len(w.events) == batchSize || i+1 == len(page) {
			if err := w.flush(ctx); err != nil || w.ended {
				return err
			}
		}
	}
	if s.o.NoInitialEvents {
		return nil
	}
	return w.each(listwatch.Event[T]{Type: listwatch.Synced, ResourceVersion: format(version)})
}

// resumed waits while the source is paused. It returns false when the watch is over before
// that, which run will see too, unless it returns ctx's cause.
func (w *stream[T]) resumed(ctx context.Context) (bool, error) {
	s := w.source
	for {
		s.mu.Lock()
		paused, cut, wake := s.faults.paused, w.cuts != s.faults.cuts, s.waiterLocked()
		s.mu.Unlock()
		if cut || !s.o.Clock.Now().Before(w.end) {
			return false, nil
		}
		if !paused {
			return true, nil
		}
		if err := w.bell.wait(ctx, w.end, wake); err != nil {
			return false, err
		}
	}
}

// asEvent marks a failure as one that came in the stream.
func asEvent(err error) error {
	var e *listwatch.StatusError
	if errors.As(err, &e) {
		e.Event = true
	}
	return err
}

// turn is what a watch is to do next: deliver its changes or a bookmark, wait for wake or for
// due, or end.
type turn struct {
	done     bool
	err      error
	bookmark bool
	wake     <-chan struct{}
	due      time.Time
}

func (w *stream[T]) run(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if w.ended {
			return w.endErr
		}
		t := w.next()
		var err error
		switch {
		case t.done:
			return t.err
		case len(w.changes) > 0:
			err = w.deliver(ctx)
		case t.bookmark:
			err = w.each(listwatch.Event[T]{Type: listwatch.Bookmark, ResourceVersion: format(w.cursor)})
		default:
			err = w.bell.wait(ctx, t.due, t.wake)
		}
		if err != nil {
			return err
		}
	}
}

// next looks at the source and fills w.changes with what is unread.
func (w *stream[T]) next() turn {
	s := w.source
	now := s.o.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	w.changes = w.changes[:0]
	h := s.history
	switch {
	case w.cuts != s.faults.cuts:
		return turn{done: true, err: s.faults.cutErr}
	case !now.Before(w.end):
		return turn{done: true}
	case s.faults.paused:
		return turn{wake: s.waiterLocked(), due: w.end}
	case w.cursor < h.Floor():
		return turn{done: true} // too slow for the history; the next watch is told so
	}
	if w.changes = h.After(w.cursor, batchSize, w.changes); len(w.changes) > 0 {
		return turn{}
	}
	due := w.end
	if w.cursor <= h.Version() {
		w.cursor = h.Version()
		asked := w.bookmarks != s.faults.bookmarks
		if asked || !w.nextBookmark.IsZero() && !now.Before(w.nextBookmark) {
			w.bookmarks = s.faults.bookmarks
			if !asked {
				w.planBookmark(now)
			}
			return turn{bookmark: true}
		}
		if !w.nextBookmark.IsZero() {
			due = w.nextBookmark
		}
	}
	return turn{wake: s.waiterLocked(), due: due}
}

// deliver hands out the events of w.changes.
func (w *stream[T]) deliver(ctx context.Context) error {
	match := w.view.match
	for _, c := range w.changes {
		w.cursor = c.Version
		was := c.Was != nil && (match == nil || match(c.Was.object))
		now := c.Now != nil && (match == nil || match(c.Now.object))
		switch version := format(c.Version); {
		case c.Hidden:
		case was && now:
			w.put(listwatch.Modified, w.source.copyOf(c.Now), version)
		case now:
			w.put(listwatch.Added, w.source.copyOf(c.Now), version)
		case was:
			w.put(listwatch.Deleted, w.source.lastOf(c), version)
		}
	}
	clear(w.changes)
	return w.flush(ctx)
}

// put adds an event to the batch, unless the ordered end comes before it.
func (w *stream[T]) put(t listwatch.EventType, object T, version string) {
	if w.ended {
		return
	}
	w.events = append(w.events, listwatch.Event[T]{Type: t, Object: object, ResourceVersion: version})
	if w.left > 0 {
		w.left--
		w.ended = w.left == 0
	}
}

// flush delivers the batch.
func (w *stream[T]) flush(ctx context.Context) error {
	if len(w.events) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := w.each(w.events...)
	clear(w.events)
	w.events = w.events[:0]
	return err
}
