package simulation_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
)

type (
	change = informer.Change[*object]
	pods   = informer.Informer[*object]
)

// client is one informer with what belongs to it. It is made anew when the process is replaced.
type client struct {
	*library
	name   string
	view   view
	source *counted
	pods   *pods
	reader *indexer.Reader[*object]
	desk   *desk
	ctx    context.Context
	cancel context.CancelFunc
	ended  *listwatch.Signal
	// gone: Run has returned. No handler may be called, no request made.
	gone atomic.Bool

	indexMu sync.Mutex
	// indexes is written by the driver, with indexMu held.
	indexes []*index

	// All below is the driver's.
	eyes     *eyes
	handlers []*handler
	waits    []*wait
	version  string // of the store
	place    string // of the reflector
	epoch    uint64
	// lists is how often it had listed, and one, when things became calm; 0: they are not.
	lists uint64
	calm  time.Time
	drift uint64
}

// eyes are what one reader has seen: for each key the place in its line, and the object.
type eyes struct {
	place map[listwatch.Key]int
	last  map[listwatch.Key]*object
}

func newEyes() *eyes {
	return &eyes{place: make(map[listwatch.Key]int), last: make(map[listwatch.Key]*object)}
}

// wait is a signal of Reached.
type wait struct {
	version string
	signal  *listwatch.Signal
	places  map[listwatch.Key]int
	history int
}

// open starts an informer under a name, in the place of the one before.
func (l *library) open(name string, o map[string]string) {
	if old := l.clients[name]; old != nil {
		old.close()
	}
	c := &client{library: l, name: name, eyes: newEyes(), ended: new(listwatch.Signal)}
	c.view = view{model: l.model}
	var source listwatch.ListerWatcher[*object] = l.model.server
	if l.wired != nil {
		source = l.wired.source()
	} else if o["view"] == "low" {
		c.view.match = func(value string) bool { return value < "v2" }
		source = l.model.server.Select(func(o *object) bool { return c.view.match(o.Value) })
	}
	if l.opaque {
		source = opaque{source}
	}
	c.source = &counted{ListerWatcher: source, c: c}
	options := informer.Options{Name: name, Logger: l.log, Resync: duration(o["resync"])}
	options.Reflector = reflector.Options{PageSize: int64(integer(o["page"])), Rand: l.rand, Relist: l.relist}
	if o["first"] == "pages" {
		options.Reflector.FirstList = reflector.FirstPages
	}
	if l.compact {
		options.Index.Compact = &indexer.Compact{Recent: 2}
	}
	c.pods = informer.New[*object](c.source, options)
	c.reader = c.pods.Indexer()
	c.ctx, c.cancel = context.WithCancel(context.Background())
	l.clients[name] = c
	c.desk = newDesk(c, max(1, integer(o["workers"])))
	c.desk.feed()
	go func() {
		if err := c.pods.Run(c.ctx); err != nil {
			l.Fail(nothing, "Run returned %v", err)
		}
		c.gone.Store(true)
		c.ended.Fire()
	}()
	go c.desk.work()
}

// close ends a client, and waits until it has ended.
func (c *client) close() {
	c.cancel()
	late := time.AfterFunc(5*time.Minute, func() {
		c.Fail(nothing, "informer %s has not ended five minutes after its context", c.name)
		c.ended.Fire()
		c.desk.ended.Fire()
	})
	defer late.Stop()
	<-c.ended.Done()
	<-c.desk.ended.Done()
	if n := c.source.calls.Load(); n > 0 {
		c.Fail(nothing, "Run of %s has returned, %d calls of its source have not", c.name, n)
	}
	for _, h := range c.handlers {
		select {
		case <-h.reg.Done():
		default:
			c.Fail(nothing, "Run of %s has returned, a registration has not ended", c.name)
		}
	}
	delete(c.clients, c.name)
}

// look checks what must hold at every moment.
func (l *library) look() error {
	for _, name := range l.names {
		if c := l.clients[name]; c != nil {
			c.look()
		}
	}
	return nil
}

// rest checks what must hold when nothing has happened for long.
func (l *library) rest() error {
	for _, name := range l.names {
		if c := l.clients[name]; c != nil {
			c.rest()
		}
	}
	l.model.rested()
	return nil
}

func (c *client) look() {
	health := c.pods.Health()
	if c.Still() {
		c.lookAtHealth(health)
		c.lookAtIndexes()
	}
	c.readOnce(c.eyes)
	for _, h := range c.handlers {
		h.look()
	}
	c.lookAtWaits(health)
	c.desk.look()
}

// readOnce reads the whole store with a reader's eyes.
func (c *client) readOnce(e *eyes) {
	held := maps.Collect(c.reader.All())
	for n := range keys {
		k := key(n)
		o := held[k]
		place, reason := c.view.see(k, e.place[k]-1, o)
		if reason != "" && o == nil {
			c.Fail(quiet, "a reader of %s: %s", c.name, reason)
		} else if reason != "" {
			c.Fail(noTravel, "a reader of %s: %s", c.name, reason)
		}
		if last := e.last[k]; last != nil && o != nil && last != o && !c.compact && last.Value == o.Value && !c.view.again(k, place, o.Value) {
			c.Fail(quiet, "a reader of %s: %s is another object in the same state %s", c.name, k, o.Value)
		}
		e.place[k], e.last[k] = place+1, o
	}
}

// lookAtHealth checks what an informer says of itself, when nothing is under way.
func (c *client) lookAtHealth(h informer.Health) {
	s := h.Source
	now := c.Now()
	const slack = time.Second
	switch {
	case s.State == reflector.Watching && !s.ConnectedSince.IsZero() && now.Sub(s.ConnectedSince) > 240*time.Second+slack:
		c.Fail(neverStuck, "the watch of %s is %s old", c.name, now.Sub(s.ConnectedSince))
	case s.State == reflector.Waiting && now.Sub(s.NextRetry) > slack:
		c.Fail(neverStuck, "the retry of %s was due %s ago", c.name, now.Sub(s.NextRetry))
	case s.State == reflector.Listing && now.Sub(later(s.Since, s.LastProgress)) > 130*time.Second:
		c.Fail(neverStuck, "the list of %s goes without progress for %s", c.name, now.Sub(later(s.Since, s.LastProgress)))
	case h.Queued > 2*keys:
		c.Fail(bounded, "%d keys are queued in %s, there are %d", h.Queued, c.name, keys)
	case h.Objects != c.reader.Len() || h.Objects > keys:
		c.Fail(bounded, "%d objects in %s, of %d keys", h.Objects, c.name, keys)
	}
	if c.epoch == h.Epoch && !c.opaque && listwatch.Newer(c.version, h.Version) {
		c.Fail(noTravel, "the version of %s went from %s back to %s", c.name, c.version, h.Version)
	}
	if c.epoch == h.Epoch && !c.opaque && listwatch.Newer(c.place, s.Position) {
		c.Fail(noTravel, "the position of %s went from %s back to %s", c.name, c.place, s.Position)
	}
	c.version, c.place, c.epoch = h.Version, s.Position, h.Epoch
	c.lookAtLists(h)
	if h.Drift > c.drift && c.lists > 0 {
		c.Fail(quiet, "%d drift in %s, though nothing was hidden", h.Drift-c.drift, c.name)
	}
	c.drift = h.Drift
}

// lookAtLists checks that nothing is listed without need. When the period is over that is a list
// beside the watch, or one in its place when the watch has shown no life.
func (c *client) lookAtLists(h informer.Health) {
	switch {
	case !h.Synced || c.opaque || !c.model.calm():
		c.lists = 0
	case c.lists == 0:
		c.lists, c.calm = h.Source.Lists+1, c.Now()
	default:
		periods := uint64(c.Now().Sub(c.calm) / (c.relist * 9 / 10))
		// A watch that is silent for two minutes makes room for a list, which is tried until it succeeds.
		if c.relist > 2*time.Minute && h.Source.Lists+1 > c.lists+periods {
			c.Fail(position, "%s has listed again, though its version was good: %v", c.name, h.Source.LastError)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// reached waits for the version that the server has now.
func (c *client) reached() {
	places, history := c.view.places()
	if lossy, _ := c.model.state(); lossy {
		return // nobody knows what a version means
	}
	version := c.model.server.Version()
	if c.opaque {
		version = opaquePrefix + version
	}
	c.waits = append(c.waits, &wait{version: version, signal: c.pods.Reached(version), places: places, history: history})
}

// lookAtWaits checks the signals of Reached: one that has fired is believed.
func (c *client) lookAtWaits(h informer.Health) {
	lossy, history := c.model.state()
	c.waits = slices.DeleteFunc(c.waits, func(w *wait) bool {
		if w.history != history || lossy {
			return true
		}
		if !w.signal.Fired() {
			if c.Still() && !c.opaque && h.Version != "" && !listwatch.Newer(w.version, h.Version) {
				c.Fail(ownWrites, "%s has version %s, the signal for %s has not fired", c.name, h.Version, w.version)
			}
			return false
		}
		if c.opaque {
			return true // it says nothing of other objects
		}
		for k, place := range w.places {
			if reason := c.behind(k, place); reason != "" {
				c.Fail(ownWrites, "the signal for version %s has fired, but in %s %s", w.version, c.name, reason)
			}
		}
		return true
	})
}

// behind says how the store is behind a place of a key's line; "" when it is not.
func (c *client) behind(k listwatch.Key, place int) string {
	o, ok := c.reader.Get(k)
	if !ok {
		o = nil
	}
	c.model.mu.Lock()
	defer c.model.mu.Unlock()
	if c.model.shaken {
		return "" // what was told may have been taken back since
	}
	line := c.model.line[k]
	for i := place; i < len(line); i++ {
		if o == nil && !c.view.shows(line[i]) || o != nil && line[i].exists && line[i].value == o.Value {
			return ""
		}
	}
	return fmt.Sprintf("%s is %v and not at place %d of %v", k, o, place, line)
}

// read starts a reader of its own.
func (c *client) read(times int, every time.Duration) {
	e := newEyes()
	go func() {
		for range times {
			c.readOnce(e)
			time.Sleep(every)
		}
	}()
}

// rest checks what must hold at rest.
func (c *client) rest() {
	held := maps.Collect(c.reader.All())
	if diff := c.view.differs(held); diff != "" {
		c.Fail(converges, "%s: %s", c.name, diff)
	}
	h := c.pods.Health()
	if !h.Synced {
		c.Fail(synced, "%s is not synced at rest", c.name)
	}
	for _, r := range h.Source.Refused {
		if !listwatch.Newer(r.ResourceVersion, c.model.server.Version()) { // else a restore took it back
			c.Fail(untrusted, "what %s has refused is not taken at rest: %v", c.name, r)
		}
	}
	for _, h := range c.handlers {
		h.rest()
	}
	c.desk.rest()
	if len(c.waits) > 0 && !c.opaque {
		c.Fail(ownWrites, "%s: the signal for version %s has not fired at rest", c.name, c.waits[0].version)
	}
}
