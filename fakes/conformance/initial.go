package conformance

import (
	"errors"
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// initial starts a watch with initial events and waits for their end. It reports false when
// the source does not offer them, which it must tell before any event.
func (r *run[T]) initial(known func(listwatch.Head) bool) (*watch[T], []told, bool) {
	r.Helper()
	w := r.watch(listwatch.WatchOptions{InitialEvents: true, Known: known}, nil)
	synced := func(e told) bool { return e.typ == listwatch.Synced }
	if !w.untilEnd(synced) {
		events := w.until("Synced", synced)
		mark := events[len(events)-1]
		r.checkVersion(mark.position)
		return w, events[:len(events)-1], true
	}
	if !errors.Is(w.err, listwatch.ErrUnsupported) {
		r.fatalf("a watch with initial events ended before Synced: %v", w.err)
	}
	r.told("initial events that are refused", w.seen())
	r.Logf("the source does not offer initial events")
	return nil, nil, false
}

// statesOf returns the states of initial events, all of which must be Added.
func (r *run[T]) statesOf(events []told) []State {
	r.Helper()
	var states []State
	for _, e := range changes(events) {
		if e.typ != listwatch.Added {
			r.Errorf("an initial event is %v", e)
		}
		states = append(states, e.state)
	}
	return states
}

func initialEvents[T listwatch.Object](r *run[T]) {
	want := r.five()
	w, events, ok := r.initial(nil)
	if !ok {
		return
	}
	r.same("initial events", r.statesOf(events), want...)
	r.update("o1", "2")
	r.delete("o2")
	rest := w.state(listwatch.Deleted, "o2", "1")[len(events):]
	r.told("what follows initial events", rest, "Synced",
		r.event(listwatch.Modified, "o1", "2"), r.event(listwatch.Deleted, "o2", "1"))
	again := r.from(rest[0].position).state(listwatch.Deleted, "o2", "1")
	r.told("a watch from the mark", again, r.event(listwatch.Modified, "o1", "2"), r.event(listwatch.Deleted, "o2", "1"))
}

func initialEventsEmpty[T listwatch.Object](r *run[T]) {
	w, events, ok := r.initial(nil)
	if !ok {
		return
	}
	r.same("initial events of an empty collection", r.statesOf(events))
	r.create("a", "1")
	r.told("what follows", w.state(listwatch.Added, "a", "1"), "Synced", r.event(listwatch.Added, "a", "1"))
}

func initialEventsKnown[T listwatch.Object](r *run[T]) {
	a, b := r.create("a", "1"), r.create("b", "1")
	asked := map[listwatch.Key]listwatch.Head{}
	var names []string
	w, events, ok := r.initial(func(h listwatch.Head) bool {
		asked[h.Key] = h
		names = append(names, h.Key.Name)
		return h.Key == a.Key
	})
	if !ok {
		return
	}
	r.update("a", "2")
	w.state(listwatch.Modified, "a", "2")
	w.cancel(errOwn)
	w.end("cancelled")
	r.checkAsked(asked, a, b)
	r.sameButKnown("initial events with Known", r.statesOf(events), a, b)
	if slices.Sort(names); len(names) > 0 && !slices.Equal(names, []string{"a", "b"}) {
		r.Errorf("Known was asked for %v", names)
	}
}
