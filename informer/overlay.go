package informer

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// OverlayOptions configure an [Overlay]. The zero value works.
type OverlayOptions struct {
	// Size is how many own writes are kept at most, beside the keys of deleted objects that the
	// cache still holds; see [Overlay.Whole] for what happens when there are more that the cache
	// does not show yet. Defaults to 4096.
	Size int
	// Expire is how long an own write is believed against the cache: longer than the cache may be
	// behind. After that the cache is believed again. Defaults to 10 minutes.
	Expire time.Duration
}

func (o OverlayOptions) withDefaults() OverlayOptions {
	if o.Size == 0 {
		o.Size = 4096
	}
	if o.Expire == 0 {
		o.Expire = 10 * time.Minute
	}
	return o
}

func (o OverlayOptions) validate() error {
	var faults []error
	if o.Size < 0 {
		faults = append(faults, fmt.Errorf("option Size is %d", o.Size))
	}
	if o.Expire < 0 {
		faults = append(faults, fmt.Errorf("option Expire is %s", o.Expire))
	}
	return errors.Join(faults...)
}

// Overlay shows a collection as the cache does, with own writes in front of it until the cache has
// caught up with them: what one has created is there, what one has deleted is not. Make one for
// each informer whose collection is written, with [NewOverlay], and share it by all steps.
//
// An own write is shown until the cache stores that state of the object or a later one, or has
// passed its version: an object that came and went unseen does not linger. Then it leaves the
// overlay, before any handler is told. A restored server ends them all. Versions that can't be
// ordered end when the cache takes any other state of the object.
//
// That own writes leave is told to no handler, and what came and went unseen is nobody's event. So
// every step that has read from here comes again by itself while own writes stand in front of the
// cache, also one that has written nothing: its key may be back by the deadline of the queue, 30 s
// unless it says otherwise, and the cache still behind.
//
//	if s := own.Caught(); !s.Fired() { // one that has would make a hot loop
//		r.Await = s
//	}
//
// A parked key does not come for events of others. A step that has to go on with them has
// s.AfterFunc add its key instead: once for what it has written, since that has no deadline.
//
// While a watch has lost something that no list has repaired yet, no version behind that is passed:
// own writes stay, Caught and Reached wait. Versions that can't be ordered are passed by none.
//
// All methods are safe for concurrent use. They never block for I/O, handlers or index functions,
// and after Run has ended they show the last state. Objects are shared and must not be changed.
type Overlay[T listwatch.Object] struct {
	i *Informer[T]
	o OverlayOptions

	// mu guards all below. Lock order: the informer's mu, this, the indexer's.
	mu      sync.Mutex
	version string // the informer's at the last batch, as is epoch
	epoch   uint64
	// written are in the order in which they were told: reading moves none. For a key in it, the
	// cache has stored nothing since that is not older.
	written *simplelru.LRU[listwatch.Key, own[T]]
	// deleted hide an object, and those before it, for as long as the cache holds it or may still
	// get it. They are as many as the objects of the cache and Size at most.
	deleted map[listwatch.Key]own[T]
	newest  string // of all that was told
	// Reads may lack own writes until the cache has passed the version lost, or until that time.
	lost      string
	lostUntil time.Time
}

// own is a state that was written, or the last one of what was deleted, without object.
type own[T listwatch.Object] struct {
	head   listwatch.Head
	object T
	due    time.Time // when it is not believed any more
	// answered: the version of head is that of the deletion, not of the last state.
	answered bool
}

// NewOverlay returns an empty overlay over the store of an informer, which keeps it for as long as
// it lives. It has no goroutine, runs no timer and needs no closing. Options that do not make sense
// panic: they are programming errors.
func NewOverlay[T listwatch.Object](i *Informer[T], options OverlayOptions) *Overlay[T] {
	options = options.withDefaults()
	err := options.validate()
	if err != nil {
		panic(fmt.Sprintf("informer %s: overlay: %v", i.options.Name, err))
	}
	o := &Overlay[T]{i: i, o: options}
	o.written, _ = simplelru.NewLRU[listwatch.Key, own[T]](options.Size, nil) // fails for no size alone
	i.mu.Lock()
	defer i.mu.Unlock()
	i.overlays = append(i.overlays, o)
	o.version, o.epoch = i.version, i.epoch
	return o
}

// follow lets go of what the cache shows now. The informer calls it with every batch, before it
// wakes handlers.
func (o *Overlay[T]) follow(writes []indexer.Write[T], version string, epoch uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.epoch != epoch {
		o.written.Purge()
		o.deleted, o.newest, o.lost = nil, "", ""
	}
	o.version, o.epoch = version, epoch
	for n := range writes {
		if o.written.Len()+len(o.deleted) == 0 {
			return
		}
		w := &writes[n]
		now := w.Head.ResourceVersion
		if was, ok := o.written.Peek(w.Head.Key); ok && !listwatch.Newer(was.head.ResourceVersion, now) {
			o.written.Remove(w.Head.Key)
		}
		gone, ok := o.deleted[w.Head.Key]
		if ok && (w.Delete || differ(gone.head, w.Head)) && !listwatch.Newer(gone.head.ResourceVersion, now) {
			o.undeleteLocked(w.Head.Key)
		}
	}
}

// differ reports whether two states are known to be of two identities.
func differ(a, b listwatch.Head) bool { return a.UID != b.UID && a.UID != "" && b.UID != "" }

// covers reports whether a state that is held under the key of one that was deleted is of that object,
// or of one before it.
func covers(gone, held listwatch.Head) bool {
	return !differ(gone, held) || listwatch.Newer(gone.ResourceVersion, held.ResourceVersion)
}

// later returns the newer version; when they can't be ordered, b.
func later(a, b string) string {
	if listwatch.Newer(a, b) {
		return a
	}
	return b
}
