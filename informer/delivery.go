package informer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

var errExited = errors.New("the handler ended its goroutine")

// runLength is how many changes a handler takes at a time. What it has taken is not folded.
const runLength = 64

// delivery serves one handler: it reads the shared log through a cursor, and from a mailbox
// what has left the log. What is in the mailbox comes before what the cursor reads next.
//
// Lock order: the informer's mu, then delivery.mu. No lock is held while the handler runs.
type delivery[T listwatch.Object] struct {
	i       *Informer[T]
	handler Handler[T]
	options HandlerOptions
	reg     Registration
	added   context.Context // what the handler was added with
	unhook  func() bool     // lets go of it
	// ctx, made of added, is given to the handler. It is nil until there is something to tell, and
	// written with mu held by the goroutine that is in loop, which may read it.
	ctx context.Context

	mu      sync.Mutex
	cancel  context.CancelCauseFunc // guarded by mu, as is all below; of ctx
	cursor  cursor[T]
	box     mailbox[T] // what has left the log
	buffer  []Change[T]
	running bool // a goroutine is in loop; it alone calls the handler
	ended   bool
	behind  bool // the unread part of the log is folded with every batch
	synced  bool
	// syncAt is the number of the last change before the store was synced, or, for a handler
	// that came later, of the last one before it came. Until synced, no run crosses it.
	syncAt    uint64
	delivered uint64
	run       []Change[T] // what the handler is in; its parts are not written before the next take
	panics    uint64
	stopTimer func() // of the resync; nil when there is none
}

// wake starts the goroutine that calls the handler, when there is something to tell and none
// runs. end is the number of the next change that the log will get, objects how many are held.
func (d *delivery[T]) wake(end, objects uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return nil
	}
	if d.options.Policy == EveryEvent && d.lagLocked(end, objects) > uint64(d.options.Backlog) {
		return ErrOverrun
	}
	if d.options.Policy == Coalesce && (d.behind || d.lagLocked(end, objects) > uint64(d.options.Backlog)) {
		d.behind = true
		d.absorbLocked()
	}
	d.startLocked()
	return nil
}

// lagLocked is how many live changes wait. Those of the first list do not count for EveryEvent.
// While it is read, again and again perhaps, that is one for each object.
func (d *delivery[T]) lagLocked(end, objects uint64) uint64 {
	next := d.cursor.seq()
	if d.options.Policy == EveryEvent {
		if d.syncAt == math.MaxUint64 {
			next += objects
		} else {
			next = max(next, d.syncAt+1)
		}
	}
	return end - min(next, end)
}

// absorbLocked moves the unread part of the log into the mailbox.
func (d *delivery[T]) absorbLocked() {
	for {
		seq := d.cursor.seq()
		run := d.cursor.read(math.MaxInt, math.MaxUint64)
		if len(run) == 0 {
			return
		}
		for i, c := range run {
			d.box.put(c, seq+uint64(i))
		}
	}
}

func (d *delivery[T]) startLocked() {
	if !d.running && !d.ended {
		d.running = true
		d.i.workers.Go(d.loop)
	}
}

func (d *delivery[T]) loop() {
	returned := false
	defer func() {
		if !returned { // the handler called runtime.Goexit, or panics and may
			d.remove(errExited)
			d.reg.done.Fire()
			d.report(errExited)
		}
	}()
	told := 0
	for {
		run, ok := d.take(told)
		if !ok {
			break
		}
		for told = 0; told < len(run) && d.ctx.Err() == nil; {
			told += d.tell(run[told:])
		}
	}
	returned = true
}

// take returns the next run, and lets the registration be synced or done when it is. Told is
// how many changes of the run before the handler has been told.
func (d *delivery[T]) take(told int) (run []Change[T], ok bool) {
	d.mu.Lock()
	for d.box.first != nil && d.box.first.held != nil && !d.ended {
		d.decodeLocked()
	}
	d.delivered += uint64(told)
	d.run = nil
	if d.ended {
		d.running = false
		d.mu.Unlock()
		d.reg.done.Fire()
		return nil, false
	}
	if d.added.Err() != nil { // remove is on its way
		d.running = false
		d.mu.Unlock()
		return nil, false
	}
	if d.syncLocked() {
		d.mu.Unlock()
		d.i.fire(&d.reg.synced)
		return nil, true
	}
	limit := uint64(math.MaxUint64)
	if !d.synced {
		limit = d.syncAt
	}
	if d.box.len > 0 {
		clear(d.buffer)
		d.buffer = d.box.take(d.buffer[:0], runLength, limit)
		run = d.buffer
	} else {
		d.behind, d.buffer = false, nil
		run = d.cursor.read(runLength, limit)
	}
	d.run = run
	d.running = len(run) > 0
	if d.running && d.ctx == nil {
		d.ctx, d.cancel = context.WithCancelCause(d.added)
	}
	d.mu.Unlock()
	return run, len(run) > 0
}

// decodeLocked has the objects of the next run decoded. It lets go of the lock meanwhile.
func (d *delivery[T]) decodeLocked() {
	entries := d.box.cold(runLength)
	states, objects := make([]*indexer.State[T], len(entries)), make([]T, len(entries))
	for i, p := range entries {
		states[i] = p.held
	}
	d.mu.Unlock()
	for i, s := range states {
		objects[i] = s.Object()
	}
	d.mu.Lock()
	for i, p := range entries {
		if p.held == states[i] {
			p.warm(objects[i])
		}
	}
}

// syncLocked notes that everything up to syncAt has been told, and reports whether that is news.
func (d *delivery[T]) syncLocked() bool {
	if d.synced || d.box.pendingUpTo(d.syncAt) || d.cursor.seq() <= d.syncAt {
		return false
	}
	d.synced = true
	return true
}

// syncedAt tells the delivery that the store is synced, with the number of the last change so far.
// A wake follows.
func (d *delivery[T]) syncedAt(seq uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncAt = seq
}

// tell calls the handler for each change of run until one panics or the registration ends, and
// returns for how many.
func (d *delivery[T]) tell(run []Change[T]) (n int) {
	if !d.i.options.CrashOnPanic {
		defer func() {
			if p := recover(); p != nil {
				d.panicked(run[n].Key, p)
				n++
			}
		}()
	}
	for n = range run {
		if d.ctx.Err() != nil {
			return n
		}
		d.handler(d.ctx, run[n])
	}
	return len(run)
}

func (d *delivery[T]) panicked(k listwatch.Key, p any) {
	d.mu.Lock()
	d.panics++
	d.mu.Unlock()
	d.report(&PanicError{Where: "at " + k.String(), Value: p, Stack: debug.Stack()})
}

// end takes the delivery out of service. A call of the handler may be under way still.
func (d *delivery[T]) end(err error) {
	d.mu.Lock()
	if d.ended {
		d.mu.Unlock()
		return
	}
	d.ended = true
	d.cursor, d.box, d.buffer, d.run = cursor[T]{}, mailbox[T]{}, nil, nil // they keep objects alive
	running, stopTimer, cancel := d.running, d.stopTimer, d.cancel
	d.stopTimer = nil
	d.reg.setErr(err) // before anybody can close done
	d.mu.Unlock()
	if stopTimer != nil {
		stopTimer()
	}
	d.unhook()
	if cancel != nil {
		cancel(err)
	}
	if !running {
		d.reg.done.Fire()
	}
}

// resync adds an update for each object of the store that nothing is pending for: such an
// object is what the handler was told last, so it may come before what the log still has. It is
// called with the informer's mu held, so the store is what the log tells up to its end.
func (d *delivery[T]) resync(states []indexer.State[T], end uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || !d.synced || d.box.syncs > 0 {
		return
	}
	unread := make(map[listwatch.Key]bool)
	at := d.cursor
	for run := at.read(math.MaxInt, math.MaxUint64); len(run) > 0; run = at.read(math.MaxInt, math.MaxUint64) {
		for i := range run {
			unread[run[i].Key] = true
		}
	}
	for n := range states {
		k := states[n].Head.Key
		if !unread[k] && !d.box.holds(k) {
			d.box.hold(Change[T]{Type: Update, Key: k, Resync: true}, &states[n], end-1)
		}
	}
	d.startLocked()
}

// keepTimer keeps what stops the timer of the next resync, unless the end has come meanwhile.
func (d *delivery[T]) keepTimer(stop func()) {
	d.mu.Lock()
	ended := d.ended
	if !ended {
		d.stopTimer = stop
	}
	d.mu.Unlock()
	if ended {
		stop()
	}
}

// remove ends the delivery and takes it out of the informer.
func (d *delivery[T]) remove(err error) { d.i.remove(d, err) }

// leave removes it since the context that it was added with is done.
func (d *delivery[T]) leave() { d.remove(context.Cause(d.added)) }

// report tells of a failure of the handler.
func (d *delivery[T]) report(err error) {
	d.i.options.report(fmt.Errorf("informer %s: %s: %w", d.i.options.Name, d.options.Name, err))
}

// stats returns the numbers of this moment.
func (d *delivery[T]) stats() HandlerStats { return d.statsNow(d.i.logEnd()) }

// statsNow returns the numbers of this moment; end is the number of the log's next change.
func (d *delivery[T]) statsNow(end uint64) HandlerStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.statsLocked(end)
}

func (d *delivery[T]) statsLocked(end uint64) HandlerStats {
	s := HandlerStats{Name: d.options.Name, Delivered: d.delivered, Behind: d.behind, Panics: d.panics, Synced: d.synced}
	if !d.ended {
		s.Pending = uint64(d.box.len+len(d.run)) + end - min(d.cursor.seq(), end)
	}
	return s
}
