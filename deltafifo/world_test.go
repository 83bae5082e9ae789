package deltafifo_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

// world is a server, the watch and the lists of it, and a consumer. Everything happens in one
// goroutine; what goes on while a batch is in process is done inside of process.
type world struct {
	choose func(n int) int
	server *server
	q      *deltafifo.DeltaFIFO[*pod]
	store  *memory

	// lossy: the watch loses events. refusing: lists refuse objects. Both make real drift.
	lossy, refusing bool

	watching bool
	cursor   int // the version up to which the watch has delivered
	restored bool

	snapshot snapshot
	mode     listwatch.Mode
	listed   []*pod // still to be put; nil until the list was answered
	version  int    // of the list; 0 until it was answered
	from     int    // cursor at Begin

	inProcess bool
	// seen is the newest version of each key that the store has had, deletions included. It
	// speaks of one timeline of the server, and is nil while the queue hands out an older one.
	seen   map[listwatch.Key]string
	since  int // deletions up to that version are not in seen
	faults []string
}

func newWorld(choose func(int) int) *world {
	w := &world{choose: choose, store: newMemory(), seen: map[listwatch.Key]string{}}
	kind := choose(6)
	w.lossy, w.refusing = kind == 4, kind == 5
	w.server = &server{uids: choose(2) == 0, live: map[string]state{}}
	w.q = deltafifo.New[*pod](w.store, deltafifo.Options{})
	w.store.changed = w.changed
	return w
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) must(err error) {
	if err != nil {
		w.fault("unexpected error: %v", err)
	}
}

// step does one thing at random.
func (w *world) step() {
	switch w.choose(12) {
	case 0, 1, 2:
		w.server.write(w.choose)
	case 3, 4:
		w.deliver(1 + w.choose(3))
	case 5, 6:
		w.pop(w.choose(4))
	case 7:
		w.begin()
	case 8, 9:
		w.list(1 + w.choose(3))
	case 10:
		w.list(len(w.listed) + 1)
		w.commit()
	case 11:
		w.disturb()
	}
}

// deliver hands the next events to the live path, those of up to n versions in one batch.
func (w *world) deliver(n int) {
	if !w.watching {
		return
	}
	var events []listwatch.Event[*pod]
	for ; n > 0 && w.cursor < w.server.clock; n-- {
		w.cursor++
		e := w.server.event(w.cursor)
		if w.lossy && w.choose(4) == 0 {
			e = bookmark(e.ResourceVersion)
		}
		events = append(events, e)
	}
	if n > 0 && w.cursor > 0 {
		events = append(events, bookmark(strconv.Itoa(w.cursor)))
	}
	w.must(goOn(w.q, events...))
}

// begin opens a snapshot as a reflector may.
func (w *world) begin() {
	w.listed, w.version, w.from = nil, 0, w.cursor
	switch mode := w.choose(5); {
	case w.restored:
		w.mode = listwatch.Reset
	case mode == 0 && w.cursor > 0:
		w.mode, w.restored, w.watching = listwatch.Reset, true, false
		w.server.restore(w.choose)
		w.seen = nil
	case mode <= 2 && w.watching:
		w.mode = listwatch.Compare
	default:
		w.mode, w.watching = listwatch.Rebuild, false
	}
	w.snapshot = w.q.Begin(w.mode)
}

// list puts the next n listed objects.
func (w *world) list(n int) {
	if w.snapshot == nil {
		return
	}
	if w.version == 0 {
		w.answer()
	}
	for ; n > 0 && len(w.listed) > 0; n-- {
		p := w.listed[0]
		w.listed = w.listed[1:]
		switch {
		case w.refusing && w.choose(4) == 0:
			h := listwatch.Head{Key: key(p.Name)}
			if w.choose(4) == 0 {
				h = listwatch.Head{}
			}
			if w.snapshot.Known(h) {
				w.fault("a refused object is known")
			}
		case w.choose(3) > 0 && w.snapshot.Known(headOf(p)):
		default:
			w.must(w.snapshot.Put(context.Background(), p))
		}
	}
}

// answer takes the list from a server that may lag, though never behind what was asked for. A
// Compare is right with any version.
func (w *world) answer() {
	oldest := w.from
	if w.mode == listwatch.Compare {
		oldest = max(oldest-w.choose(4), 1)
	}
	if w.mode == listwatch.Reset || oldest > w.server.clock {
		oldest = w.server.clock
	}
	w.server.ensure(w.choose)
	w.version = max(1, oldest+w.choose(w.server.clock-oldest+1))
	w.listed = w.server.list(w.version)
}

func (w *world) commit() {
	if w.snapshot == nil {
		return
	}
	w.list(len(w.listed) + 1)
	w.must(w.snapshot.Commit(strconv.Itoa(w.version)))
	w.snapshot = nil
	switch w.mode {
	case listwatch.Rebuild:
		w.cursor = max(w.cursor, w.version)
		w.watching = true
	case listwatch.Reset:
		w.cursor, w.restored, w.watching = w.version, false, true
	}
}

// disturb ends what is going on.
func (w *world) disturb() {
	switch w.choose(3) {
	case 0:
		if w.snapshot != nil {
			w.snapshot.Abort()
			w.snapshot = nil
		}
	case 1:
		w.watching = false
	case 2:
		rebuilding := w.snapshot != nil && w.mode != listwatch.Compare
		w.watching = w.watching || w.cursor > 0 && !w.restored && !rebuilding
	}
}

// pop processes a batch; other things happen before, while and after it is written.
func (w *world) pop(keys int) {
	if w.inProcess || w.q.Len() == 0 {
		return
	}
	w.must(w.q.Pop(context.Background(), keys, w.process))
	if w.q.Len() == 0 && w.q.Stats().Deltas != 0 {
		w.fault("%d deltas without key", w.q.Stats().Deltas)
	}
}

func (w *world) process(b deltafifo.Batch[*pod]) error {
	w.inProcess = true
	meanwhile := func() {
		for range w.choose(3) {
			w.step()
		}
	}
	timeline, clock := w.server.timeline, w.server.clock
	meanwhile()
	for _, item := range b.Items {
		for i := range item.Deltas {
			w.store.write(&item.Deltas[i])
			if w.choose(8) == 0 {
				meanwhile()
			}
		}
	}
	w.check(b, timeline == w.server.timeline && clock <= w.server.clock)
	meanwhile()
	w.inProcess = false
	return nil
}

// finish lets everything calm down and compares the store with the server.
func (w *world) finish() {
	w.server.ensure(w.choose)
	w.watching = w.watching || w.cursor > 0 && w.choose(2) == 0
	w.settle()
	for w.q.Len() > 0 {
		w.pop(0)
		w.settle()
	}
	before, differ := w.q.Stats().Drift, w.differences()
	if !w.lossy && !w.refusing && before != 0 {
		w.fault("drift %d in a healthy run", before)
	}
	if len(differ) > 0 && !w.lossy && !w.refusing {
		w.fault("differs in a healthy run: %v", differ)
	}
	touched := w.ahead()
	w.mode = listwatch.Compare
	w.last()
	w.lossy = false
	w.settle()
	lost := uint64(0)
	for name := range differ {
		if !touched[name] {
			lost++
		}
	}
	// What was touched the watch repairs, unless the state held has lost its version.
	found := w.q.Stats().Drift - before
	if found < lost || found > lost && !w.refusing || found > uint64(len(differ)) {
		w.fault("drift %d, but %d differ: %v", found, lost, differ)
	}
	w.drain()
}

// ahead lets the server run ahead of the watch, and returns the names of what changed.
func (w *world) ahead() map[string]bool {
	touched := map[string]bool{}
	for range w.choose(4) {
		w.server.write(w.choose)
		touched[w.server.log[w.server.clock-1].name] = true
	}
	return touched
}

// settle brings what goes on to its end, and the queue up to date with the server.
func (w *world) settle() {
	if w.snapshot != nil {
		w.snapshot.Abort()
		w.snapshot = nil
	}
	if w.restored || !w.watching {
		w.mode = listwatch.Rebuild
		if w.restored {
			w.mode = listwatch.Reset
		}
		w.last()
	}
	w.watching = true
	for w.cursor < w.server.clock {
		w.deliver(3)
	}
}

// last takes a whole list at the server's present version, with nothing refused.
func (w *world) last() {
	w.snapshot, w.version = w.q.Begin(w.mode), w.server.clock
	w.listed = w.server.list(w.version)
	refusing := w.refusing
	w.refusing = false
	w.commit()
	w.refusing = refusing
}

func (w *world) drain() {
	w.q.Close()
	last := deltafifo.Batch[*pod]{}
	for {
		err := w.q.Pop(context.Background(), 2, func(b deltafifo.Batch[*pod]) error {
			for _, item := range b.Items {
				w.store.apply(item.Deltas)
			}
			last = b
			return nil
		})
		if errors.Is(err, listwatch.ErrStopped) {
			break
		}
		w.must(err)
	}
	if differ := w.differences(); len(differ) > 0 {
		w.fault("differs in the end: %v", differ)
	}
	if !w.q.HasSynced() || w.q.Stats().InFlight != 0 {
		w.fault("not done: %+v", w.q.Stats())
	}
	if last.Items != nil && (!last.Exact || !last.Synced || last.Version != w.q.Position()) {
		w.fault("last batch: %+v", last)
	}
}
