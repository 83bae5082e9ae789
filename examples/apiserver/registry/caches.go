package registry

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/cacher"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

// Item is an object of a list or of a watch: shared bytes, decoded only for those who ask.
type Item struct {
	*cacher.Entry
	kind *kinds.Kind
}

// JSON returns what [kinds.Kind.EncodeItem] makes of the object. It is shared and must not be changed.
func (i Item) JSON() ([]byte, error) { return i.Value, i.Err }

// Metadata returns the metadata as it stands in the object, without reading what is behind it. It is shared and must not be
// changed.
func (i Item) Metadata() ([]byte, error) {
	if i.Err != nil {
		return nil, i.Err
	}
	return jsonstream.Find(i.Value, "metadata")
}

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
	closed bool                       // guarded by mu
	byKind map[cacheKey]*cacher.Cache // guarded by mu
}

// cacheKey names a cache. A kind that is defined anew gets another one.
type cacheKey struct {
	root, version string
	served        context.Context
}

// cache returns the cache of a kind, and starts it when it is the first to ask. It ends with the kind.
func (r *Registry) cache(k *kinds.Kind) *cacher.Cache {
	c, key := &r.caches, cacheKey{root(k), k.Version, k.Served}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.byKind[key]; known != nil {
		return known
	}
	o := r.options.Cache
	o.Stamp = k.Stamp
	made := cacher.New(r.store, key.root, o)
	if c.byKind == nil {
		c.byKind = make(map[cacheKey]*cacher.Cache)
	}
	c.byKind[key] = made
	if !c.closed {
		c.group.Go(func() {
			running, cancel := whileServed(c.running, k)
			defer cancel()
			made.Run(running)
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.byKind, key)
		})
	}
	return made
}

// Sizes returns the sizes of the caches by resource, such as "deployments.apps".
func (r *Registry) Sizes() map[string]cacher.Size {
	r.caches.mu.Lock()
	defer r.caches.mu.Unlock()
	sizes := make(map[string]cacher.Size, len(r.caches.byKind))
	for key, c := range r.caches.byKind {
		group, resource, ok := strings.Cut(strings.Trim(key.root, "/"), "/")
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
	all := slices.Collect(maps.Values(r.caches.byKind))
	r.caches.mu.Unlock()
	for _, c := range all {
		if err := c.WaitFor(ctx, revision); err != nil {
			return err
		}
	}
	return nil
}

// whileServed returns a context that is done with ctx, or when the kind is served no more.
func whileServed(ctx context.Context, k *kinds.Kind) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if k.Served == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(k.Served, cancel)
	return ctx, func() { stop(); cancel() }
}

// Settle waits until the caches of a kind have reached the present.
func (r *Registry) Settle(ctx context.Context, k *kinds.Kind) error {
	r.caches.mu.Lock()
	c := r.caches.byKind[cacheKey{root(k), k.Version, k.Served}]
	r.caches.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.Fresh(ctx)
}

// Forget has watches refused that start before a revision of the store. Running ones are not disturbed.
func (r *Registry) Forget(revision int64) {
	r.caches.mu.Lock()
	defer r.caches.mu.Unlock()
	for _, c := range r.caches.byKind {
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

// reach waits until the cache of a kind can answer a read of that version: "" means the present, "0" any.
func (r *Registry) reach(ctx context.Context, k *kinds.Kind, version string) error {
	reading, cancel := whileServed(ctx, k)
	defer cancel()
	err := r.reachServed(reading, r.cache(k), version)
	if err != nil && k.Served != nil && k.Served.Err() != nil {
		return apierrors.NewTooManyRequests("storage is (re)initializing", 1)
	}
	return err
}

func (r *Registry) reachServed(ctx context.Context, c *cacher.Cache, version string) error {
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
