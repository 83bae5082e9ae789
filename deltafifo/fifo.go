package deltafifo

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/identity"
	"github.com/seed3bce33ad/listwatch/internal/table"
)

// Store is what the consumer of a [DeltaFIFO] keeps its objects in, as far as the queue must
// know: *indexer.Indexer is one. A store belongs to one queue, and only what the queue hands
// out is written to it, the deltas of one key in one step.
//
// Its methods must not call the queue: they are called with its lock held, but for most calls of Get,
// which are made by Pop before process.
type Store[T listwatch.Object] interface {
	// Get returns the object held under k.
	Get(k listwatch.Key) (T, bool)
	// Mark notes that what is held under k was listed in the snapshot of this generation, and
	// returns what is held. Generations grow; 0 notes nothing.
	Mark(k listwatch.Key, generation uint64) (held listwatch.Head, ok bool)
	// Unmarked returns what is held without the mark of this generation, in any order.
	Unmarked(generation uint64) []listwatch.Head
}

// DeltaFIFO is a lossless, bounded queue of changes, in order per key, between one source and
// one store. Writers are the live path ([DeltaFIFO.Apply]) and snapshots ([DeltaFIFO.Begin]);
// the reader is one loop around [DeltaFIFO.Pop].
//
// All methods are safe for concurrent use. The zero value does not work: use [New].
type DeltaFIFO[T listwatch.Object] struct {
	store Store[T] // may be nil
	uid   func(T) string
	limit int
	// wake tells the one Pop that waits.
	wake chan struct{}
	// scratch is a slice in which the next call prepares what it queues; nil when there is none.
	scratch atomic.Pointer[[]staged[T]]
	// out is what process was given; the Pop that is at work has it.
	out []Deltas[T]

	mu sync.Mutex // guards all below; taken before the store's locks
	// items has an item for each key that is queued or in flight: the queued one, if there are two.
	items *table.Table[listwatch.Key, *item[T]]
	peak  int // the greatest length of items since it was made
	// order[first:] are the queued items, by seq.
	order []*item[T]
	first int
	// flight are the items that process has, free empty ones.
	flight, free []*item[T]
	// deltas is the number of queued deltas, seq the last number given to an item.
	deltas int
	seq    uint64
	// handed and processed are the numbers of the last items given to process, and returned by it.
	handed, processed uint64

	position position
	told     report // of the last batch
	settled  bool   // the memory that the first list took was given back
	// ahead is the greatest version queued without the position; below it none is exact.
	ahead string
	// torn: no position describes the store before the next Rebuild or Reset is committed.
	torn bool
	// complete: a snapshot was committed; the first one ended with the item syncSeq.
	complete bool
	syncSeq  uint64

	generation uint64
	open       *snapshot[T] // nil when none is open
	sweep      *sweep       // of a Compare, until the position reaches its version; may be nil
	drift      uint64
	// contradicted: a Compare has found drift, and no event of a watch has come since.
	contradicted bool
	gap          gap

	popping bool // a Pop is at work
	idle    bool // it waits for wake
	closed  bool
	turn    chan struct{} // closed when Pop has ended; nil: nobody waits
	space   chan struct{} // closed when there is room or a snapshot ended; nil: nobody waits
	waiting int
}

// New returns an empty queue in front of store. With a nil store nothing counts as held but
// what is queued or being processed. It panics when the options are not valid.
func New[T listwatch.Object](store Store[T], o Options) *DeltaFIFO[T] {
	if err := o.validate(); err != nil {
		panic(fmt.Sprintf("deltafifo: %v", err))
	}
	return &DeltaFIFO[T]{
		store: store,
		uid:   identity.Of[T](),
		limit: o.withDefaults().Limit,
		wake:  make(chan struct{}, 1),
		items: table.New[listwatch.Key, *item[T]](),
	}
}

// Close ends the queue: writers get ErrStopped, those that wait too, and an open snapshot is
// aborted. Pop goes on until everything queued is handed out. A second Close does nothing.
func (q *DeltaFIFO[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endLocked()
	q.sweep = nil
	q.closed = true
	q.freeWritersLocked()
	q.wakeLocked()
}

// HasSynced reports whether a snapshot was committed and process has returned from every key
// that was queued then. Once true it stays true.
func (q *DeltaFIFO[T]) HasSynced() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.complete && q.processed >= q.syncSeq
}

// Position returns the version up to which everything has been queued; empty while unknown.
func (q *DeltaFIFO[T]) Position() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.position.version
}

// Len returns the number of queued keys. Those that process has do not count.
func (q *DeltaFIFO[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.keysLocked()
}

// List returns the last queued state of each queued key, deleted ones too, in the order of the
// queue. It is for debugging.
func (q *DeltaFIFO[T]) List() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	objects := make([]T, 0, q.keysLocked())
	for _, it := range q.order[q.first:] {
		objects = append(objects, it.deltas[len(it.deltas)-1].Object)
	}
	return objects
}

// Stats are numbers of a [DeltaFIFO] at one moment.
type Stats struct {
	// Keys and Deltas are queued.
	Keys, Deltas int
	// InFlight is the number of keys that process has.
	InFlight int
	// Waiting is the number of writers that wait for room.
	Waiting int
	// Unswept is the number of keys that a Compare found missing, and that are deleted if they
	// are unchanged once the position has reached its version.
	Unswept int
	// Drift is the number of states and deletions that a Compare had to repair.
	Drift uint64
	// Epoch is the number of Reset snapshots that were committed.
	Epoch uint64
}

// Stats returns the present numbers.
func (q *DeltaFIFO[T]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Stats{
		Keys: q.keysLocked(), Deltas: q.deltas, InFlight: len(q.flight), Waiting: q.waiting,
		Drift: q.drift, Epoch: q.position.epoch,
	}
	if q.sweep != nil {
		s.Unswept = len(q.sweep.keys)
	}
	return s
}
