package rest

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

// envelope is how much longer than its object an event may be.
const envelope = 1 << 10

// Watch sends one request, or one for each namespace, and hands on the events as they come. It
// blocks until the server ends the stream, which is no error, each returns one, ctx is done or
// the stream breaks; events that were complete by then have been handed on. An ERROR event is
// returned as a [*listwatch.StatusError].
//
// Added events of the initial state have no position, for they come in no order: neither with
// [listwatch.WatchOptions.InitialEvents], where nothing but a bookmark has one before Synced,
// nor in a watch from "" or "0" before the first event of another type.
func (s *Source[T]) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[T]) error) error {
	if len(s.paths) == 1 {
		return s.watch(ctx, s.paths[0], o, each)
	}
	return s.watchAll(ctx, o, each)
}

// watch reads one stream.
func (s *Source[T]) watch(ctx context.Context, path string, o listwatch.WatchOptions, each func(...listwatch.Event[T]) error) error {
	accept := acceptJSON
	if s.o.MetadataOnly {
		accept = acceptPartial
	}
	body, err := s.endpoint.get(ctx, path, s.watchQuery(o), accept, true)
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	defer body.Close()
	w := &stream[T]{
		in:      intake[T]{o: s.o, kinds: s.kinds(), known: o.Known, refused: o.Refused},
		out:     outlet[listwatch.Event[T]]{ctx: ctx, each: each},
		asked:   o.InitialEvents,
		initial: o.InitialEvents || o.ResourceVersion == "" || o.ResourceVersion == "0",
		learn:   s.learn,
	}
	w.scanner = jsonstream.New(body, s.o.MaxObjectBytes+envelope, w.out.flush)
	if err := w.out.finish(w.read()); err != nil {
		if w.out.err != nil {
			return err
		}
		return fmt.Errorf("watch %s: %w", path, err)
	}
	return nil
}

func (s *Source[T]) watchQuery(o listwatch.WatchOptions) url.Values {
	query := s.selection()
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	if o.ResourceVersion != "" {
		query.Set("resourceVersion", o.ResourceVersion)
	}
	if o.Timeout > 0 {
		// 0 would mean the server's own.
		query.Set("timeoutSeconds", strconv.FormatInt(int64((o.Timeout-1)/time.Second)+1, 10))
	}
	if o.InitialEvents {
		query.Set("sendInitialEvents", "true")
		query.Set("resourceVersionMatch", "NotOlderThan")
	}
	return query
}

// stream reads the answer to a watch request.
type stream[T listwatch.Object] struct {
	in      intake[T]
	out     outlet[listwatch.Event[T]]
	scanner *jsonstream.Scanner
	value   jsonstream.Value
	asked   bool // initial events were asked for, and their end has not come
	initial bool // an Added may be part of the initial state
	learn   func(kind string)
	learnt  bool
}

// read returns nil at the end of the stream.
func (w *stream[T]) read() error {
	for {
		c, err := w.scanner.Peek()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case c != '{':
			return fmt.Errorf("%w: at byte %d: an event was expected", listwatch.ErrDecode, w.scanner.Offset())
		}
		if err := w.scanner.Cut(eventShape, &w.value); err != nil {
			return err
		}
		if err := w.event(); err != nil {
			return err
		}
	}
}

// event takes what was cut.
func (w *stream[T]) event() error {
	p := w.in.piece(&w.value, w.value.Field(slotObject))
	name, _ := jsonstream.Text(w.value.Field(slotType))
	switch name {
	case "ADDED":
		return w.object(listwatch.Added, p)
	case "MODIFIED":
		return w.object(listwatch.Modified, p)
	case "DELETED":
		return w.object(listwatch.Deleted, p)
	case "BOOKMARK":
		return w.bookmark(p)
	case "ERROR":
		return w.failure(p)
	case "":
		if top, _ := jsonstream.Text(w.value.Field(slotTopKind)); top == "Status" && !p.tooLarge {
			return eventStatus(w.value.Bytes) // the failure itself, without an event around it
		}
		return w.refuse(p.head, fmt.Errorf("%w: an event without type", listwatch.ErrProtocol))
	}
	return w.refuse(p.head, fmt.Errorf("%w: an event of type %q", listwatch.ErrProtocol, shortened(name)))
}

// failure returns the error that an ERROR event is.
func (w *stream[T]) failure(p piece) error {
	if p.tooLarge {
		return &listwatch.StatusError{Event: true, Kind: listwatch.ErrTooLarge, Message: fmt.Sprintf("a status of %d bytes", p.size)}
	}
	return eventStatus(p.data)
}

// object takes an event that has an object.
func (w *stream[T]) object(t listwatch.EventType, p piece) error {
	if t != listwatch.Added && !w.asked {
		w.initial = false
	}
	object, ok, err := w.in.take(p, t == listwatch.Added && w.initial)
	if err != nil {
		return w.out.stop(err)
	}
	if !ok {
		return nil
	}
	if !w.learnt {
		w.learn(w.in.kinds.want)
		w.learnt = true
	}
	event := listwatch.Event[T]{Type: t, Object: object}
	if !w.initial {
		event.ResourceVersion = p.head.ResourceVersion
	}
	w.out.batch = append(w.out.batch, event)
	return nil
}

// bookmark takes a bookmark, whose object is never decoded: it holds nothing but a version.
func (w *stream[T]) bookmark(p piece) error {
	err := w.in.kinds.check(p.kind)
	if err == nil && p.head.ResourceVersion == "" {
		err = fmt.Errorf("%w: a bookmark without version", listwatch.ErrProtocol)
	}
	if err != nil {
		return w.refuse(p.head, err)
	}
	event := listwatch.Event[T]{Type: listwatch.Bookmark, ResourceVersion: p.head.ResourceVersion}
	if !w.asked {
		w.initial = false
	} else if mark, _ := jsonstream.Text(w.value.Field(slotMark)); mark == "true" {
		event.Type = listwatch.Synced
		w.asked, w.initial = false, false
	}
	w.out.batch = append(w.out.batch, event)
	return nil
}

func (w *stream[T]) refuse(head listwatch.Head, err error) error {
	if err := w.in.refuse(head, err); err != nil {
		return w.out.stop(err)
	}
	return nil
}
