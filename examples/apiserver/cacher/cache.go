package cacher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/btree"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// The ways in which a watch can end. Test for them with [errors.Is].
var (
	// ErrSlow: the watch was so slow that the history has passed it.
	ErrSlow = errors.New("the watch is too slow")
	// ErrAnew: the collection had to be read anew, and what happened meanwhile is not known.
	ErrAnew = errors.New("the collection was read anew")
)

// TooOldError says that a watch would have to start before the history.
type TooOldError struct {
	// Asked is the revision asked for, Oldest the oldest that would do.
	Asked, Oldest int64
}

// Error returns the message as the Kubernetes API words it.
func (e *TooOldError) Error() string {
	return fmt.Sprintf("too old resource version: %d (%d)", e.Asked, e.Oldest)
}

// degree is that of the B-tree: nodes of up to 127 entries, of which a write behind a list copies a few.
const degree = 64

// Options say how a [Cache] works.
type Options struct {
	// Stamp makes what is held out of what is stored. It must be set.
	Stamp Stamp
	// History is the number of events that are held for watches. Defaults to 10,000.
	History int
	// HistoryBytes is the size in bytes of the events beyond which fewer are held. Defaults to 16 MiB.
	HistoryBytes int
	// Backfill is how many revisions of etcd, of whatever kind, are looked back at the start. Negative: none.
	// Defaults to 10,000.
	Backfill int64
	// Logger hears of failures. Defaults to nobody.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.History == 0 {
		o.History = 10_000
	}
	if o.HistoryBytes == 0 {
		o.HistoryBytes = 16 << 20
	}
	if o.Backfill == 0 {
		o.Backfill = 10_000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

type tree = btree.BTreeG[*Entry]

func newTree() *tree { return btree.NewG(degree, func(a, b *Entry) bool { return a.Key < b.Key }) }

// Cache is a collection in memory. It is made by [New]; everything waits until Run has read the collection.
type Cache struct {
	store   *storage.Store
	prefix  string
	options Options
	// progress asks the watch of etcd for its position.
	progress chan struct{}

	mu sync.Mutex
	// The following are guarded by mu.
	tree *tree
	// shared is a copy of tree that lists read; nil when the tree has changed since. A copy is never changed.
	shared *tree
	// position is the revision of etcd that tree is of; 0: nothing has been read.
	position int64
	// present is the revision from which on the cache may be read: that of etcd when it was listed.
	present int64
	history history
	// epoch counts how often the collection was read.
	epoch uint64
	// changed is closed at the next event, moved when position moves; nil while nobody waits.
	changed, moved chan struct{}
}

// New returns a cache of what the store holds under a prefix, which ends with a slash.
func New(store *storage.Store, prefix string, o Options) *Cache {
	o = o.withDefaults()
	return &Cache{
		store: store, prefix: prefix, options: o, progress: make(chan struct{}, 1), tree: newTree(),
		history: history{limit: o.History, limitBytes: o.HistoryBytes},
	}
}

// Run keeps the cache equal to etcd until ctx is done. It blocks, and is called once.
func (c *Cache) Run(ctx context.Context) {
	for ctx.Err() == nil {
		running, cancel := context.WithCancel(ctx)
		r := reflector.New(source{c}, &sink{cache: c, lost: cancel}, reflector.Options{
			Name: c.prefix, Logger: c.options.Logger, FirstList: reflector.FirstPages, Relist: -1,
			BackoffBase: 50 * time.Millisecond, BackoffMax: time.Second, WatchTimeout: 10 * time.Minute, Grace: 10 * time.Second,
		})
		if err := r.Run(running); err != nil {
			c.options.Logger.Error("cache failed", "collection", c.prefix, "error", err)
		}
		cancel()
	}
}

// WaitFor blocks until the cache has reached a revision of etcd, and the present of its own start. When ctx ends
// before, that is the error.
func (c *Cache) WaitFor(ctx context.Context, revision int64) error {
	for {
		c.mu.Lock()
		if c.position >= max(revision, c.present, 1) {
			c.mu.Unlock()
			return nil
		}
		if c.moved == nil {
			c.moved = make(chan struct{})
		}
		moved := c.moved
		c.mu.Unlock()
		signal(c.progress)
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("cacher: %s: wait for revision %d: %w", c.prefix, revision, context.Cause(ctx))
		}
	}
}

// Fresh blocks until the cache has reached the revision that etcd has when it is called: a read behind it sees
// every write that had been answered.
func (c *Cache) Fresh(ctx context.Context) error {
	revision, err := c.store.Revision(ctx)
	if err != nil {
		return err
	}
	return c.WaitFor(ctx, revision)
}

// Reached reports whether WaitFor would return at once.
func (c *Cache) Reached(revision int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.position >= max(revision, c.present, 1)
}

// Size is how much a cache holds.
type Size struct {
	// Objects are those of the collection, Events those that are held for watches.
	Objects, Events int
}

// Size returns how much the cache holds.
func (c *Cache) Size() Size {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Size{c.tree.Len(), len(c.history.events)}
}

// Forget has every watch refused that starts before a revision. Running ones are not disturbed.
func (c *Cache) Forget(revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history.oldest = max(c.history.oldest, revision)
}

// snapshot returns the present state and where it stands in the history.
func (c *Cache) snapshot() (t *tree, position int64, number, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared == nil {
		c.shared = c.tree.Clone()
	}
	return c.shared, c.position, c.history.next(), c.epoch
}

// ListOptions say what part of the collection to list.
type ListOptions struct {
	// Prefix is what the keys begin with: "" or "namespace/".
	Prefix string
	// From is the key to start at, without Prefix.
	From string
	// Limit is the greatest number of entries to return; 0: all.
	Limit int
	// Matches decides what is returned. Its error ends the list and is returned. Nil: everything.
	Matches func(*Entry) (bool, error)
}

// Page is what a list returned.
type Page struct {
	// Entries are in bytewise order of their keys.
	Entries []*Entry
	// Revision is the one that the collection has in all of them.
	Revision int64
	// Remaining is the number of entries behind the page, whether they match or not.
	Remaining int64
}

// List returns entries as they are now. It never blocks for long: see Fresh and WaitFor.
func (c *Cache) List(o ListOptions) (Page, error) {
	page, _, err := c.list(o)
	return page, err
}

// ListAndWatch is a List and the watch of what changes behind it.
func (c *Cache) ListAndWatch(o ListOptions) (Page, *Watch, error) { return c.list(o) }

func (c *Cache) list(o ListOptions) (page Page, w *Watch, err error) {
	t, position, number, epoch := c.snapshot()
	page.Revision = position
	t.AscendGreaterOrEqual(&Entry{Key: o.Prefix + o.From}, func(e *Entry) bool {
		if !strings.HasPrefix(e.Key, o.Prefix) {
			return false
		}
		if o.Limit > 0 && len(page.Entries) == o.Limit {
			page.Remaining++
			return true
		}
		matches := true
		if o.Matches != nil {
			matches, err = o.Matches(e)
		}
		if matches && err == nil {
			page.Entries = append(page.Entries, e)
		}
		return err == nil
	})
	return page, &Watch{cache: c, after: position, number: number, epoch: epoch}, err
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
