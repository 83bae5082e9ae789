package registry

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/cacher"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// Item is an object of a list or of a watch: shared bytes, decoded only for those who ask.
type Item struct {
	*cacher.Entry
	kind *kinds.Kind
}

// JSON returns what [kinds.Kind.EncodeItem] makes of the object. It is shared and must not be changed.
func (i Item) JSON() ([]byte, error) { return i.Value, i.Err }

// Object returns the object, decoded anew: it is the caller's.
func (i Item) Object() (kinds.Object, error) {
	if i.Err != nil {
		return nil, i.Err
	}
	return i.kind.DecodeStored(i.Value, i.GetResourceVersion())
}

// caches are those of the kinds that have been asked for.
type caches struct {
	// running is done when the caches are to end.
	running context.Context
	cancel  context.CancelFunc
	group   sync.WaitGroup

	mu     sync.Mutex
	closed bool                     // guarded by mu
	byRoot map[string]*cacher.Cache // guarded by mu
}

// cache returns the cache of a kind, and starts it when it is the first to ask.
func (r *Registry) cache(k *kinds.Kind) *cacher.Cache {
	c := &r.caches
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.byRoot[root(k)]; known != nil {
		return known
	}
	o := r.options.Cache
	o.Stamp = k.Stamp
	made := cacher.New(r.store, root(k), o)
	if c.byRoot == nil {
		c.byRoot = make(map[string]*cacher.Cache)
	}
	c.byRoot[root(k)] = made
	if !c.closed {
		c.group.Go(func() { made.Run(c.running) })
	}
	return made
}

// Sizes returns the sizes of the caches by resource, such as "deployments.apps".
func (r *Registry) Sizes() map[string]cacher.Size {
	r.caches.mu.Lock()
	defer r.caches.mu.Unlock()
	sizes := make(map[string]cacher.Size, len(r.caches.byRoot))
	for root, c := range r.caches.byRoot {
		group, resource, ok := strings.Cut(strings.Trim(root, "/"), "/")
		name := group
		if ok {
			name = resource + "." + group
		}
		sizes[name] = c.Size()
	}
	return sizes
}

// Advance blocks until every cache has reached a revision of the store. The history up to there can then be dropped
// without a cache having to read its collection anew, whatever becomes of its watch.
func (r *Registry) Advance(ctx context.Context, revision int64) error {
	r.caches.mu.Lock()
	all := slices.Collect(maps.Values(r.caches.byRoot))
	r.caches.mu.Unlock()
	for _, c := range all {
		if err := c.WaitFor(ctx, revision); err != nil {
			return err
		}
	}
	return nil
}

// Forget has watches refused that start before a revision of the store. Running ones are not disturbed.
func (r *Registry) Forget(revision int64) {
	r.caches.mu.Lock()
	defer r.caches.mu.Unlock()
	for _, c := range r.caches.byRoot {
		c.Forget(revision)
	}
}

// Close ends the caches and blocks until they have ended. Lists and watches then wait until their context ends.
func (r *Registry) Close() {
	r.caches.mu.Lock()
	r.caches.closed = true
	r.caches.mu.Unlock()
	r.caches.cancel()
	r.caches.group.Wait()
}

// reach waits until the cache can answer a read of that version: "" means the present, "0" any.
func (r *Registry) reach(ctx context.Context, c *cacher.Cache, version string) error {
	if version == "" {
		return c.Fresh(ctx)
	}
	revision, err := parseVersion(version)
	if err == nil && !c.Reached(revision) {
		err = r.waitFor(ctx, revision)
	}
	if err != nil {
		return err
	}
	return c.WaitFor(ctx, revision)
}
