package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// guard watches over the calls of one each: never two at a time, none after the end.
type guard struct {
	call string

	mu     sync.Mutex
	inside int
	ended  bool
	// overlap, late and early say which rule was broken.
	overlap, late, early bool
}

func (r *run[T]) guard(call string) *guard {
	g := &guard{call: call}
	r.guards = append(r.guards, g)
	return g
}

func (g *guard) enter() (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside++
	g.overlap = g.overlap || g.inside > 1
	g.late = g.late || g.ended
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.inside--
	}
}

// end notes that the call has returned.
func (g *guard) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	g.early = g.inside > 0
}

func (g *guard) report(t TB) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.overlap {
		t.Errorf("%s: each was called while it was running", g.call)
	}
	if g.late {
		t.Errorf("%s: each was called after the call had returned", g.call)
	}
	if g.early {
		t.Errorf("%s: the call returned while each was running", g.call)
	}
}

// told is one event as it came.
type told struct {
	typ      listwatch.EventType
	state    State
	position string
	batch    int
}

func (e told) String() string {
	if e.typ == listwatch.Bookmark || e.typ == listwatch.Synced {
		return e.typ.String()
	}
	return fmt.Sprintf("%s %s=%s", e.typ, e.state.Key, e.state.Value)
}

// watch is one call of Watch in a goroutine.
type watch[T listwatch.Object] struct {
	r      *run[T]
	cancel context.CancelCauseFunc
	group  worker.Group
	// done is closed when the call has returned; err may be read then.
	done chan struct{}
	err  error

	mu      sync.Mutex
	events  []told
	batches int
	// more is closed at the next event.
	more chan struct{}
}

// watch starts a watch that is ended with the case at the latest. Hold, when not nil, is
// called in each, before what came is noted; its error ends the watch.
func (r *run[T]) watch(o listwatch.WatchOptions, hold func() error) *watch[T] {
	ctx, cancel := context.WithCancelCause(r.ctx)
	g := r.guard("watch")
	w := &watch[T]{r: r, cancel: cancel, done: make(chan struct{}), more: make(chan struct{})}
	r.watches = append(r.watches, w)
	w.group.Go(func() {
		err := r.Source.Watch(ctx, o, func(events ...listwatch.Event[T]) error {
			defer g.enter()()
			if hold != nil {
				if err := hold(); err != nil {
					return err
				}
			}
			w.note(events)
			return nil
		})
		g.end()
		w.err = err
		cancel(nil)
		close(w.done)
	})
	return w
}

func (w *watch[T]) note(events []listwatch.Event[T]) {
	batch := make([]told, len(events))
	for i, e := range events {
		batch[i] = told{typ: e.Type, position: e.ResourceVersion}
		if e.Type != listwatch.Bookmark && e.Type != listwatch.Synced {
			batch[i].state = w.r.Read(e.Object)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches++
	for _, e := range batch {
		e.batch = w.batches
		w.events = append(w.events, e)
	}
	close(w.more)
	w.more = make(chan struct{})
}

// checkPositions finds versions whose events came in two batches, and positions that went
// back; the first is enough.
func (w *watch[T]) checkPositions() {
	w.r.Helper()
	var last told
	for _, e := range w.seen() {
		if e.position == "" {
			continue
		}
		marks := e.typ == listwatch.Bookmark || e.typ == listwatch.Synced
		if e.position == last.position && e.batch != last.batch && !marks {
			w.r.Errorf("events of version %s came in two batches", e.position)
			return
		}
		if listwatch.Newer(last.position, e.position) {
			w.r.Errorf("the position went from %s back to %s", last.position, e.position)
			return
		}
		last = e
	}
}

// seen returns what has come so far.
func (w *watch[T]) seen() []told {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// until waits for an event that is the last one wanted and returns all but bookmarks, unless
// bookmarks is what is waited for. It ends the case when the watch ends first.
func (w *watch[T]) until(what string, last func(told) bool) []told {
	r := w.r
	r.Helper()
	ctx, done := r.within()
	defer done()
	for {
		w.mu.Lock()
		more := w.more
		w.mu.Unlock()
		events := w.seen()
		if i := slices.IndexFunc(events, last); i >= 0 {
			return events[:i+1]
		}
		select {
		case <-more:
		case <-w.done:
			if !slices.ContainsFunc(w.seen(), last) {
				r.fatalf("the watch ended before %s came: %v; it had told %v", what, w.err, w.seen())
			}
		case <-ctx.Done():
			r.fatalf("%s did not come; the watch has told %v", what, w.seen())
		}
	}
}

// state waits for an object event of a name with a value.
func (w *watch[T]) state(typ listwatch.EventType, name, value string) []told {
	w.r.Helper()
	want := fmt.Sprintf("%s %s=%s", typ, w.r.key(name), value)
	return w.until(want, func(e told) bool { return e.String() == want })
}

// end waits for the watch to return.
func (w *watch[T]) end(what string) error {
	w.r.Helper()
	ctx, done := w.r.within()
	defer done()
	select {
	case <-w.done:
	case <-ctx.Done():
		w.r.fatalf("%s: the watch did not return", what)
	}
	return w.err
}

// changes leaves bookmarks out.
func changes(events []told) []told {
	return slices.DeleteFunc(slices.Clone(events), func(e told) bool { return e.typ == listwatch.Bookmark })
}

// texts describes events.
func texts(events []told) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = e.String()
	}
	return out
}

// told compares events with their descriptions, bookmarks left out.
func (r *run[T]) told(what string, events []told, want ...string) {
	r.Helper()
	if got := texts(changes(events)); !slices.Equal(got, want) {
		r.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// event describes an event of a name.
func (r *run[T]) event(typ listwatch.EventType, name, value string) string {
	return fmt.Sprintf("%s %s=%s", typ, r.key(name), value)
}
