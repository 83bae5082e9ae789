package informer

import (
	"fmt"
	"math"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// Queue is a work queue as it is looked at from here, whatever its keys are: every
// *[workqueue.Queue] is one. For a queue whose keys are made from something else than the key of
// the object, embed it in a type whose Find knows how.
type Queue interface {
	// Name returns the name that the queue's options gave.
	Name() string
	// Stats returns the queue's figures.
	Stats() workqueue.Stats
	// Find returns what the queue holds under a key. Explain asks for the listwatch.Key, and
	// when there is none of that, for its string.
	Find(key any) (workqueue.Item[any], bool)
	// Some returns up to n keys of each state.
	Some(n int) []workqueue.Item[any]
}

// Inspected is an informer as it is looked at from outside, whatever its objects are: every
// *[Informer] is one.
type Inspected interface {
	// Health returns how the informer fares.
	Health() Health
	// Stats returns the informer's numbers.
	Stats() Stats
	// SomeKeys returns up to n keys of the store.
	SomeKeys(n int) []listwatch.Key
	// Explain returns where a key stands.
	Explain(k listwatch.Key, queues ...Queue) Explanation
}

// Explanation is where one key stands on the whole line, from the source to the work queues. As
// a string it is readable lines, and as JSON it is for tools.
//
// Its parts were looked at one after the other, in the order of the fields: what moves meanwhile
// may show twice, or as not there any more. Store and Handlers are of one moment.
type Explanation struct {
	// Informer is the informer's name, Key what was asked for, Time when.
	Informer string
	Key      listwatch.Key
	Time     time.Time
	// Source is what the reading from the server says.
	Source ExplainedSource
	// Reading is what waits between reading and storing.
	Reading deltafifo.Explanation
	// Store is what readers see.
	Store ExplainedStore
	// Handlers holds one entry for each registration that lives.
	Handlers []ExplainedHandler
	// Queues holds one entry for each work queue that was given.
	Queues []ExplainedQueue

	object any
}

// Object returns the object that the store held, and nil when it held none. It is neither in the
// string nor in the JSON, since it may be a secret. It is shared: it must not be changed.
func (e *Explanation) Object() any { return e.object }

// ExplainedSource is how reading goes, and whether it has refused the key.
type ExplainedSource struct {
	// State is what the reflector does, since Since. Synced: the first list was complete.
	State  reflector.State
	Since  time.Time
	Synced bool
	// Position is the version up to which everything was read.
	Position string
	// LastProgress is when something was read last; zero: never.
	LastProgress time.Time `json:",omitzero"`
	// Failures counts the failures since then, LastError is the last one, also when it is over.
	Failures  int
	LastError string `json:",omitempty"`
	// NextRetry is when the next attempt is due; zero: none is.
	NextRetry time.Time `json:",omitzero"`
	// Refused tells of a state of the object that could not be taken; nil: of none. More: so
	// many objects were refused that this one may be among them without being named.
	Refused *ExplainedRefusal `json:",omitempty"`
	More    bool              `json:",omitempty"`
}

// ExplainedRefusal is a [reflector.Refusal] for people.
type ExplainedRefusal struct {
	// ResourceVersion is that of the refused state, as far as it could be read.
	ResourceVersion string
	// Reason is why, Time when it was refused last.
	Reason string
	Time   time.Time
}

// ExplainedStore is what the store holds under the key.
type ExplainedStore struct {
	// Held: there is an object, of that UID and ResourceVersion.
	Held                 bool
	UID, ResourceVersion string
	// Mark is the generation of the last list that showed it.
	Mark uint64
	// Indexes has the values that it is found under.
	Indexes []ExplainedIndex `json:",omitempty"`
	// Version is the collection's version up to which everything is in the store.
	Version string
}

// ExplainedIndex is where the object stands in one index.
type ExplainedIndex struct {
	// Name is the index's, Values are the values as text. They are made from the object.
	Name   string
	Values []string
}

// ExplainedHandler is what one handler knows of the key.
type ExplainedHandler struct {
	// HandlerStats are the figures of the handler, for all keys.
	HandlerStats
	// Told is the state that the handler has been told for sure; the zero Head: it holds none.
	Told listwatch.Head
	// InCall counts the changes of the key among the up to 64 that the handler is in: those
	// that it may have been told, too. Waiting counts those that come after them.
	InCall, Waiting int
	// Changes are these changes, oldest first, at most 16.
	Changes []ChangeHead `json:",omitempty"`
}

// ChangeHead is a [Change] without the objects.
type ChangeHead struct {
	// Head is of Change.Object; Type, Initial, Unknown and Resync are those of the Change.
	Type                     ChangeType
	Head                     listwatch.Head
	Initial, Unknown, Resync bool
}

// ExplainedQueue is where the key stands in one work queue.
type ExplainedQueue struct {
	// Name is the queue's. Held: it holds the key; if not, Item has only the failures.
	Name string
	Held bool
	workqueue.Item[any]
}

// explained is how many changes of one key an explanation shows.
const explained = 16

// Explain returns where a key stands: what was read and refused of it, what waits to be stored,
// what the store holds, what each handler has been told, and where it stands in the queues. It is for
// people and costs the informer nothing while it isn't called; it never waits for I/O or handlers.
func (i *Informer[T]) Explain(k listwatch.Key, queues ...Queue) Explanation {
	e := Explanation{Informer: i.options.Name, Key: k, Time: i.now(), Source: explainSource(i.reflector.Health(), k)}
	e.Reading = i.queue.Explain(k)
	i.explainStore(&e)
	for _, q := range queues {
		item, held := q.Find(k)
		if !held {
			if byName, ok := q.Find(k.String()); ok || byName.Failures > 0 {
				item, held = byName, ok
			}
		}
		e.Queues = append(e.Queues, ExplainedQueue{Name: q.Name(), Held: held, Item: item})
	}
	return e
}

func explainSource(h reflector.Health, k listwatch.Key) ExplainedSource {
	s := ExplainedSource{
		State: h.State, Since: h.Since, Synced: h.Synced, Position: h.Position, LastProgress: h.LastProgress,
		Failures: h.Failures, NextRetry: h.NextRetry,
	}
	if h.LastError != nil {
		s.LastError = h.LastError.Error()
	}
	for _, r := range h.Refused {
		if r.Key == k {
			s.Refused = &ExplainedRefusal{ResourceVersion: r.ResourceVersion, Reason: fmt.Sprint(r.Reason), Time: r.Time}
		}
	}
	s.More = s.Refused == nil && len(h.Refused) >= reflector.MaxRefused
	return s
}

// explainStore fills in Store, Handlers and the object. The log is walked without a lock.
func (i *Informer[T]) explainStore(e *Explanation) {
	reader := i.store.Reader()
	i.mu.Lock()
	entry, held := reader.Explain(e.Key)
	state, _ := reader.State(e.Key)
	e.Store.Version = i.version
	end := i.log.seq()
	places := make([]place[T], 0, len(i.deliveries))
	for _, d := range i.deliveries {
		if p, ok := d.place(e.Key, end); ok {
			places = append(places, p)
		}
	}
	i.mu.Unlock()
	if held {
		e.object = state.Object()
		e.Store.Held, e.Store.UID, e.Store.ResourceVersion, e.Store.Mark = true, entry.Head.UID, entry.Head.ResourceVersion, entry.Mark
	}
	for _, index := range entry.Indexes {
		values := make([]string, len(index.Values))
		for n, v := range index.Values {
			values[n] = fmt.Sprint(v)
		}
		e.Store.Indexes = append(e.Store.Indexes, ExplainedIndex{Name: index.Name, Values: values})
	}
	for _, p := range places {
		e.Handlers = append(e.Handlers, i.explainHandler(p, e.Key, end, entry.Head))
	}
}

// place is a handler's at one moment.
type place[T listwatch.Object] struct {
	stats HandlerStats
	// inCall and waiting are changes of the key; what waits in the log is not in waiting yet.
	inCall, waiting []Change[T]
	held            []*indexer.State[T] // see mailbox.about
	log             cursor[T]
}

// place returns the delivery's place; end is the number of the log's next change. One that has
// ended has none.
func (d *delivery[T]) place(k listwatch.Key, end uint64) (p place[T], ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return p, false
	}
	p = place[T]{stats: d.statsLocked(end), log: d.cursor}
	for _, c := range d.run {
		if c.Key == k {
			p.inCall = append(p.inCall, c)
		}
	}
	p.waiting, p.held = d.box.about(k)
	return p, true
}

// explainHandler walks the log up to end. stored is what the store held when that was its end, so
// a handler that nothing waits for has been told it.
func (i *Informer[T]) explainHandler(p place[T], k listwatch.Key, end uint64, stored listwatch.Head) ExplainedHandler {
	for n, s := range p.held {
		if s != nil {
			p.waiting[n].Object, p.waiting[n].Old = s.Object(), s.Object()
		}
	}
	changes := append(p.inCall, p.waiting...)
	for run := p.log.read(math.MaxInt, end-1); len(run) > 0; run = p.log.read(math.MaxInt, end-1) {
		for _, c := range run {
			if c.Key == k {
				changes = append(changes, c)
			}
		}
	}
	h := ExplainedHandler{HandlerStats: p.stats, Told: stored, InCall: len(p.inCall), Waiting: len(changes) - len(p.inCall)}
	for n, c := range changes {
		if n == 0 {
			h.Told = listwatch.Head{}
			if c.Type != Add {
				h.Told = i.headOf(c.Old)
			}
		}
		if n < explained {
			h.Changes = append(h.Changes, ChangeHead{
				Type: c.Type, Head: i.headOf(c.Object), Initial: c.Initial, Unknown: c.Unknown, Resync: c.Resync,
			})
		}
	}
	return h
}

func (i *Informer[T]) headOf(object T) listwatch.Head {
	return listwatch.Head{Key: listwatch.KeyOf(object), UID: i.uid(object), ResourceVersion: object.GetResourceVersion()}
}

// SomeKeys returns up to n keys of the store, and no more than it holds.
func (i *Informer[T]) SomeKeys(n int) []listwatch.Key { return i.store.Reader().Some(n) }
