package rest

import (
	"bytes"
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
		in:      intake[T]{o: s.o, make: s.make, kinds: s.kinds(), known: o.Known, refused: o.Refused},
		out:     outlet[listwatch.Event[T]]{ctx: ctx, each: each},
		asked:   o.InitialEvents,
		initial: o.InitialEvents || o.ResourceVersion == "" || o.ResourceVersion == "0",
		learn:   s.learn,
	}
	w.out.collect = func() error {
		return w.in.collect(w.add)
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
	glance  *jsonstream.Scanner // for the lines themselves
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
		if w.line() {
			continue
		}
		if err := w.scanner.Cut(eventShape, &w.value); err != nil {
			return err
		}
		if err := w.event(); err != nil {
			return err
		}
	}
}

// line takes an event without looking for its end, which takes as long as a tenth of the decoding:
// when a server writes events as all do, one is a line, its object all that stands between a known
// beginning and the last brace. If that were wrong, it would not decode. It returns false, and has
// done nothing, for whatever else it sees, for what is to be refused or may be held already, and when
// it is not known that decoding finds what is wrong.
func (w *stream[T]) line() bool {
	if w.initial || w.asked || w.in.o.Decode != nil {
		return false
	}
	line := w.scanner.Line()
	t, object := unwrap(line)
	if object == nil {
		return false
	}
	if w.glance == nil {
		w.glance = jsonstream.New(nil, 0, nil)
	}
	if !w.glance.Glance(object, itemShape, headFields, &w.value) {
		return false
	}
	event := listwatch.Event[T]{Type: t}
	if !w.in.whole(&w.value, object, &event) {
		return false
	}
	w.in.jobs = append(w.in.jobs, job[T]{event: event})
	w.scanner.Use(len(line))
	return true
}

// headFields is how many fields are needed of an object that has a namespace: a kind and a head.
const headFields = 5

// unwrap returns the type of the event that line seems to be, and its object; nil when it seems to
// be something else.
func unwrap(line []byte) (t listwatch.EventType, object []byte) {
	rest, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\r")), []byte(`{"type":"`))
	if !ok {
		return 0, nil
	}
	name, rest, _ := bytes.Cut(rest, []byte(`","object":`))
	switch string(name) {
	case "ADDED":
		t = listwatch.Added
	case "MODIFIED":
		t = listwatch.Modified
	case "DELETED":
		t = listwatch.Deleted
	default:
		return 0, nil
	}
	object, ok = bytes.CutSuffix(rest, []byte("}"))
	if !ok || len(object) == 0 || object[0] != '{' {
		return 0, nil
	}
	return t, object
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
	event := listwatch.Event[T]{Type: t}
	if !w.initial {
		event.ResourceVersion = p.head.ResourceVersion
	}
	if err := w.in.take(p, event, t == listwatch.Added && w.initial); err != nil {
		return w.out.stop(err)
	}
	return nil
}

// add puts a complete event into the batch.
func (w *stream[T]) add(event listwatch.Event[T]) {
	if !w.learnt && event.Type != listwatch.Bookmark && event.Type != listwatch.Synced {
		w.learn(w.in.kinds.want)
		w.learnt = true
	}
	w.out.batch = append(w.out.batch, event)
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
	w.in.jobs = append(w.in.jobs, job[T]{event: event})
	return nil
}

func (w *stream[T]) refuse(head listwatch.Head, err error) error {
	if err := w.in.refuse(head, err); err != nil {
		return w.out.stop(err)
	}
	return nil
}
