package fakes

import (
	"context"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// stream is one running watch.
type stream[T listwatch.Object] struct {
	view   *view[T]
	source *Source[T]
	each   func(...listwatch.Event[T]) error
	// refused is told of what cannot be taken.
	refused func(listwatch.Head, error) error
	bell    *alarm

	// cursor is the version up to which everything has been delivered.
	cursor       uint64
	call         *call
	end          time.Time
	nextBookmark time.Time
	// marks are bookmarks to send once everything before has been sent.
	marks []order
	// left is how many object events may still come before the ordered end; negative: no end
	// was ordered.
	left   int
	endErr error
	// ended is true when the ordered end has come.
	ended bool
	// spoiling: there are objects that cannot be taken.
	spoiling bool

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
	w.call, w.left = s.beginLocked(VerbWatch), -1
	if len(s.faults.next) > 0 {
		w.call.orders = append(w.call.orders, s.faults.next[0])
		s.faults.next = s.faults.next[1:]
		w.obeyLocked()
	}
}

func (w *stream[T]) close() {
	w.bell.stop()
	w.source.endCall(w.call)
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

// pass lets the watch send something: it blocks while nothing can be sent. It returns false when
// the watch is over before that, which run will see too, unless it returns ctx's cause.
func (w *stream[T]) pass(ctx context.Context) (bool, error) {
	s := w.source
	for {
		s.mu.Lock()
		frozen, silent, wake := w.call.frozen, s.silentLocked(w.call), s.waiterLocked()
		cut := w.obeyLocked()
		s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case cut:
			return false, nil
		case !frozen && !s.o.Clock.Now().Before(w.end):
			w.ended, w.endErr = true, nil
			return false, nil
		case !silent:
			return true, nil
		default:
			due := w.end
			if frozen {
				due = time.Time{}
			}
			if err := w.bell.wait(ctx, due, wake); err != nil {
				return false, err
			}
		}
	}
}

// obeyLocked takes the orders for the watch, and reports whether it is to end at once.
func (w *stream[T]) obeyLocked() (cut bool) {
	w.spoiling = w.source.faults.waits(VerbWatch, eventSpoilers...)
	if w.call.frozen {
		return false
	}
	for _, o := range w.call.orders {
		switch {
		case o.Kind == 0: // healed
			w.left, w.endErr, w.marks = -1, nil, nil
			continue
		case !o.ends():
			w.marks = append(w.marks, o)
			continue
		}
		if w.left, w.endErr = o.N, o.err(); o.N == 0 {
			w.ended, cut = true, true
			break
		}
	}
	w.call.orders = nil
	return cut
}

// turn is what a watch is to do next: deliver its changes or a bookmark, wait for wake or for
// due, or end.
type turn struct {
	done     bool
	bookmark uint64
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
			return w.endErr
		case len(w.changes) > 0:
			err = w.deliver(ctx)
		case t.bookmark > 0:
			err = w.each(listwatch.Event[T]{Type: listwatch.Bookmark, ResourceVersion: format(t.bookmark)})
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
	switch cut := w.obeyLocked(); {
	case cut:
		return turn{done: true}
	case w.call.frozen:
		return turn{wake: s.waiterLocked()}
	case !now.Before(w.end):
		w.endErr = nil
		return turn{done: true}
	case s.silentLocked(w.call):
		return turn{wake: s.waiterLocked(), due: w.end}
	case w.cursor < h.Floor():
		w.endErr = nil
		return turn{done: true} // too slow for the history; the next watch is told so
	}
	served := s.servedLocked(VerbWatch)
	w.changes = h.After(w.cursor, batchSize, w.changes)
	for n := len(w.changes); n > 0 && w.changes[n-1].Version > served; n-- {
		w.changes = w.changes[:n-1]
	}
	if len(w.changes) > 0 {
		return turn{}
	}
	t := turn{due: w.end}
	if w.cursor <= served {
		w.cursor = served
		if t.bookmark = w.markLocked(now); t.bookmark > 0 {
			return t
		}
		if !w.nextBookmark.IsZero() {
			t.due = w.nextBookmark
		}
	}
	t.wake = s.waiterLocked()
	return t
}

// markLocked returns the version of the bookmark that is due, or 0.
func (w *stream[T]) markLocked(now time.Time) (version uint64) {
	if len(w.marks) > 0 {
		version = w.cursor
		m := &w.marks[0]
		n := m.N
		if m.Kind == FaultLateBookmark {
			version, n = max(1, w.cursor-min(w.cursor, uint64(m.N))), 1
		}
		if m.N--; n == 1 {
			w.marks = w.marks[1:]
		}
	} else if !w.nextBookmark.IsZero() && !now.Before(w.nextBookmark) {
		w.planBookmark(now)
		version = w.cursor
	}
	if w.source.faults.lasts(VerbWatch, FaultNoBookmarks) != nil {
		w.marks = nil
		return 0
	}
	return version
}

// deliver hands out the events of w.changes.
func (w *stream[T]) deliver(ctx context.Context) (err error) {
	match := w.view.match
	for _, c := range w.changes {
		w.cursor = c.Version
		was := c.Was != nil && (match == nil || match(c.Was.object))
		now := c.Now != nil && (match == nil || match(c.Now.object))
		switch version := format(c.Version); {
		case c.Hidden:
		case was && now:
			err = w.put(listwatch.Modified, w.source.copyOf(c.Now), version)
		case now:
			err = w.put(listwatch.Added, w.source.copyOf(c.Now), version)
		case was:
			err = w.put(listwatch.Deleted, w.source.lastOf(c), version)
		}
		if err != nil {
			return err
		}
	}
	clear(w.changes)
	return w.flush(ctx)
}

// put adds an event to the batch, unless the ordered end comes before it, or its object cannot
// be taken.
func (w *stream[T]) put(t listwatch.EventType, object T, version string) error {
	if w.ended {
		return nil
	}
	sent := true
	if w.spoiling {
		h := listwatch.Head{Key: listwatch.KeyOf(object), UID: w.source.uid(object), ResourceVersion: object.GetResourceVersion()}
		var err error
		if sent, err = w.source.spoiled(VerbWatch, h, w.refused); err != nil {
			return err
		}
	}
	if sent {
		w.events = append(w.events, listwatch.Event[T]{Type: t, Object: object, ResourceVersion: version})
	}
	if w.left > 0 {
		w.left--
		w.ended = w.left == 0
	}
	return nil
}

// flush delivers the batch.
func (w *stream[T]) flush(ctx context.Context) error {
	if len(w.events) == 0 {
		return nil
	}
	if err := w.source.slow(ctx, VerbWatch); err != nil {
		return err
	}
	if ok, err := w.pass(ctx); !ok {
		return err
	}
	err := w.each(w.events...)
	clear(w.events)
	w.events = w.events[:0]
	return err
}
