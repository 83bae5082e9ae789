package simulation_test

import (
	"context"
	"maps"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
)

// handler is a handler with its habits. It checks all that it is told.
type handler struct {
	c   *client
	reg *informer.Registration
	// known is reg once AddHandler has returned: the first calls come before.
	known    atomic.Pointer[informer.Registration]
	o        informer.HandlerOptions
	calls    atomic.Int64
	nap      time.Duration
	block    time.Duration
	panicAt  int // every so many calls
	leaveAt  int
	exitAt   int
	spawnAt  int
	writeAt  int
	leftOver atomic.Bool // it has removed itself or ended its goroutine

	mu sync.Mutex
	// All below is guarded by mu.
	count int
	told  map[listwatch.Key]*object
	place map[listwatch.Key]int
}

// same reports whether two objects are one, or copies where stores make them.
func (h *handler) same(a, b *object) bool { return a == b || h.c.compact && reflect.DeepEqual(a, b) }

// listen adds a handler.
func (c *client) listen(o map[string]string) {
	h := c.newHandler(o)
	reg, err := c.pods.AddHandler(c.ctx, h.handle, h.o)
	if err != nil {
		c.Fail(ownFault, "AddHandler: %v", err)
		return
	}
	h.reg = reg
	h.known.Store(reg)
	c.handlers = append(c.handlers, h)
}

func (c *client) newHandler(o map[string]string) *handler {
	h := &handler{
		c: c, told: make(map[listwatch.Key]*object), place: make(map[listwatch.Key]int),
		nap: duration(o["nap"]), block: duration(o["block"]), panicAt: integer(o["panic"]), leaveAt: integer(o["leave"]),
		exitAt: integer(o["exit"]), spawnAt: integer(o["spawn"]), writeAt: integer(o["write"]),
	}
	h.o = informer.HandlerOptions{Backlog: integer(o["backlog"]), Resync: duration(o["resync"])}
	if o["policy"] == "every" {
		h.o.Policy, h.o.Backlog = informer.EveryEvent, 50*h.o.Backlog
	}
	return h
}

// remove ends a registration.
func (c *client) remove(n int) {
	if len(c.handlers) > 0 {
		h := c.handlers[n%len(c.handlers)]
		h.leftOver.Store(true)
		h.reg.Remove()
	}
}

func (h *handler) handle(ctx context.Context, change change) {
	if h.calls.Add(1) > 1 {
		h.c.Fail(oneVoice, "a call for %s began while another one was running", change.Key)
	}
	defer h.calls.Add(-1)
	if h.c.gone.Load() {
		h.c.Fail(nothing, "a handler was told of %s after Run has returned", change.Key)
	}
	n := h.note(change)
	h.initial(change)
	h.behave(ctx, n)
	h.initial(change)
}

// behave does what this handler is known for.
func (h *handler) behave(ctx context.Context, n int) {
	time.Sleep(h.nap)
	due := func(every int) bool { return every > 0 && n%every == 0 }
	if h.block > 0 {
		hold, cancel := context.WithTimeout(ctx, h.block)
		defer cancel()
		<-hold.Done()
	}
	if due(h.writeAt) {
		h.c.model.put(key(n%keys), "v4")
	}
	if n == h.spawnAt {
		other := h.c.newHandler(nil)
		if reg, err := h.c.pods.AddHandler(ctx, other.handle, informer.HandlerOptions{}); err == nil {
			other.known.Store(reg)
		}
	}
	if n == h.leaveAt {
		h.leftOver.Store(true)
		if reg := h.known.Load(); reg != nil {
			reg.Remove()
		}
	}
	if n == h.exitAt {
		h.leftOver.Store(true)
		runtime.Goexit()
	}
	if due(h.panicAt) {
		panic("a handler that panics")
	}
}

// initial checks that the registration is not synced while initial adds are told.
func (h *handler) initial(c change) {
	if reg := h.known.Load(); c.Initial && reg != nil && reg.Synced().Fired() {
		h.c.Fail(synced, "the handler is synced, and is told the initial %s of %s", c.Type, c.Key)
	}
}

// note checks a change and keeps it.
func (h *handler) note(c change) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	last := h.told[c.Key]
	h.checkOrder(c, last)
	h.checkPlace(c)
	h.checkStore(c)
	if c.Type == informer.Delete {
		delete(h.told, c.Key)
	} else {
		h.told[c.Key] = c.Object
	}
	return h.count
}

// checkOrder checks a change against what was told last of its key.
func (h *handler) checkOrder(c change, last *object) {
	fail := func(promise, what string) {
		h.c.Fail(promise, "%s: %s of %s: %v after %v", what, c.Type, c.Key, c.Object, last)
	}
	switch {
	case listwatch.KeyOf(c.Object) != c.Key:
		fail(oneVoice, "another key")
	case c.Type == informer.Add && last != nil:
		fail(oneVoice, "added twice")
	case c.Type == informer.Add:
	case last == nil:
		fail(oneVoice, "not held")
	case !h.same(c.Old, last):
		fail(oneVoice, "Old is not what was told last")
	case c.Type == informer.Delete && c.Object.UID != last.UID:
		fail(identities, "deleted another identity")
	case c.Type == informer.Delete:
	case c.Object.UID != last.UID:
		fail(identities, "updated to another identity")
	case c.Resync && !h.same(c.Object, last):
		fail(oneVoice, "a resync of another state")
	case !c.Resync && c.Object.Value == last.Value && !h.c.model.restored():
		// After a restore a change and what takes it back may have been folded.
		fail(quiet, "an update without a change")
	}
}

// checkPlace checks that the server was in this state, and not before the one told last.
func (h *handler) checkPlace(c change) {
	see, promise := h.c.view.see, noTravel
	switch {
	case c.Type == informer.Delete && c.Unknown:
		see, promise = h.c.view.seeGone, noLost
	case c.Type == informer.Delete:
		see, promise = h.c.view.seeDeleted, noLost
	}
	place, reason := see(c.Key, h.place[c.Key]-1, c.Object)
	if reason != "" {
		h.c.Fail(promise, "a handler: %s of %s: %s", c.Type, c.Key, reason)
	}
	h.place[c.Key] = place + 1
}

// checkStore checks that the store, and each index, shows the state that is told, or a later one.
func (h *handler) checkStore(c change) {
	place := h.place[c.Key] - 1
	if place < 0 || c.Type == informer.Delete && c.Unknown {
		return
	}
	if reason := h.c.behind(c.Key, place); reason != "" {
		h.c.Fail(cacheFirst, "%s of %s: %s", c.Type, c.Key, reason)
	}
	if c.Type != informer.Delete {
		h.c.checkIndexesFor(c.Object)
	}
}

// look checks what must hold between two operations.
func (h *handler) look() {
	s := h.reg.Stats()
	limit := uint64(h.o.Backlog + 64 + 2*keys)
	if h.o.Policy == informer.EveryEvent {
		limit += keys
	}
	if s.Pending > limit && !done(h.reg.Done()) {
		h.c.Fail(bounded, "%d changes wait for a handler with a backlog of %d, of %d keys", s.Pending, h.o.Backlog, keys)
	}
	if !h.c.Still() || h.calls.Load() > 0 || h.ended() {
		return
	}
	if s.Pending > 0 {
		h.c.Fail(ownFault, "%d changes wait for a handler that is free", s.Pending)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !maps.EqualFunc(h.told, maps.Collect(h.c.reader.All()), h.same) {
		h.c.Fail(noLost, "a handler that nothing is pending for holds %v, the store %v", h.told, maps.Collect(h.c.reader.All()))
	}
}

// ended reports whether the registration has ended, or is about to.
func (h *handler) ended() bool { return h.leftOver.Load() || done(h.reg.Done()) }

func (h *handler) rest() {
	if h.ended() {
		if err := h.reg.Err(); err != nil && !h.leftOver.Load() && h.o.Policy != informer.EveryEvent {
			h.c.Fail(ownFault, "a registration has ended: %v", err)
		}
		return
	}
	if h.calls.Load() > 0 {
		return // it is still at it
	}
	if !h.reg.Synced().Fired() {
		h.c.Fail(synced, "a handler is not synced at rest")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if diff := h.c.view.differs(h.told); diff != "" {
		h.c.Fail(noLost, "a handler: %s", diff)
	}
}

func done(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
