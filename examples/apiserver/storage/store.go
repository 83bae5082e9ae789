package storage

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// The ways in which a call can fail. Test for them with [errors.Is].
var (
	// ErrNotFound: there is nothing under the key.
	ErrNotFound = errors.New("key not found")
	// ErrExists: there is something under the key already.
	ErrExists = errors.New("key exists")
	// ErrClaimed: another entry has what a new one claims.
	ErrClaimed = errors.New("claimed by another entry")
	// ErrCompacted: the revision is older than the history that etcd still has.
	ErrCompacted = errors.New("revision compacted")
	// ErrFuture: the revision has not been reached.
	ErrFuture = errors.New("revision not reached")
	// ErrBadToken: a continue token that cannot be read.
	ErrBadToken = errors.New("continue key is not valid")
)

// Options say how a [Store] works. The zero value works.
type Options struct {
	// Root is the prefix of all keys in etcd. It must begin with a slash and not end with one.
	// Defaults to "/registry".
	Root string
	// PageSize is the number of entries that one request to etcd reads. Defaults to 500.
	PageSize int64
	// Backlog is the number of events that one watch holds for its reader; what is beyond
	// stays in etcd until the reader has caught up. Defaults to 1,000.
	Backlog int
	// BacklogBytes is the size of the values in the backlog beyond which it counts as full.
	// Defaults to 8 MiB.
	BacklogBytes int
	// Clock is the time by which etcd is asked again for what it has not answered. Defaults to
	// the real one.
	Clock clock.Clock
	// Observe is told how long etcd took to answer: "get" or "txn". It must be safe for concurrent use. Defaults to
	// nobody.
	Observe func(operation string, took time.Duration)
}

func (o Options) withDefaults() Options {
	if o.Root == "" {
		o.Root = "/registry"
	}
	if o.PageSize == 0 {
		o.PageSize = 500
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration) {}
	}
	if o.Backlog == 0 {
		o.Backlog = 1000
	}
	if o.BacklogBytes == 0 {
		o.BacklogBytes = 8 << 20
	}
	o.Clock = timing.Or(o.Clock)
	return o
}

func (o Options) validate() error {
	var errs []error
	if !strings.HasPrefix(o.Root, "/") || strings.HasSuffix(o.Root, "/") {
		errs = append(errs, fmt.Errorf("storage: Root %q must begin with a slash and not end with one", o.Root))
	}
	if o.PageSize < 0 || o.Backlog < 0 || o.BacklogBytes < 0 {
		errs = append(errs, errors.New("storage: PageSize, Backlog and BacklogBytes must not be negative"))
	}
	return errors.Join(errs...)
}

// Store keeps values under keys in etcd, with the history that a watch needs. All methods are
// safe for concurrent use; they fail once the client has been closed. The zero value does not
// work: see [New].
type Store struct {
	client  *clientv3.Client
	kv      clientv3.KV // the client, observed
	options Options
	// streams counts the streams to etcd that have been asked for.
	streams atomic.Uint64
}

// New returns a store on an etcd that the client reaches. The client stays the caller's.
func New(client *clientv3.Client, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Store{client: client, kv: observed{client, o.Observe}, options: o}, nil
}

// Entry is one value under its key.
type Entry struct {
	// Key is the key within the store, without the root.
	Key string
	// Value is shared and must not be changed.
	Value []byte
	// Revision is that of the write that put the value there.
	Revision int64
}

// Get returns the entry under key as it is now, or [ErrNotFound].
func (s *Store) Get(ctx context.Context, key string) (Entry, error) {
	response, err := s.kv.Get(ctx, s.options.Root+key)
	if err != nil {
		return Entry{}, fmt.Errorf("storage: get %s: %w", key, classify(err))
	}
	if len(response.Kvs) == 0 {
		return Entry{}, fmt.Errorf("storage: get %s: %w", key, ErrNotFound)
	}
	return Entry{Key: key, Value: response.Kvs[0].Value, Revision: response.Kvs[0].ModRevision}, nil
}

// Revision returns the newest revision of etcd. It is never 0.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	response, err := s.kv.Get(ctx, s.options.Root, clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("storage: revision: %w", classify(err))
	}
	return response.Header.Revision, nil
}

// Oldest returns the oldest revision that can still be read, but none older than that of back
// revisions before now, and the newest.
func (s *Store) Oldest(ctx context.Context, back int64) (oldest, newest int64, err error) {
	if newest, err = s.Revision(ctx); err != nil {
		return 0, 0, err
	}
	first := max(newest-back, 1)
	n := sort.Search(int(newest-first), func(i int) bool {
		_, failed := s.kv.Get(ctx, s.options.Root, clientv3.WithCountOnly(), clientv3.WithRev(first+int64(i)))
		failed = classify(failed)
		if failed != nil && !errors.Is(failed, ErrCompacted) {
			err = fmt.Errorf("storage: oldest revision: %w", failed)
		}
		return failed == nil
	})
	return first + int64(n), newest, err
}

// WaitFor blocks until the store has reached a revision. When ctx ends before, the error wraps
// [ErrFuture] and ctx's cause.
func (s *Store) WaitFor(ctx context.Context, revision int64) error {
	current, err := s.Revision(ctx)
	if err == nil && current < revision {
		err = s.waitForEvent(ctx, revision)
	}
	if ctx.Err() != nil && err != nil {
		return fmt.Errorf("storage: wait for revision %d: %w: %w", revision, ErrFuture, context.Cause(ctx))
	}
	return err
}

// waitForEvent waits for the first event of a watch from a revision in the future: it is the
// write that reaches it.
func (s *Store) waitForEvent(ctx context.Context, revision int64) error {
	watching, cancel := context.WithCancel(s.ownStream(ctx))
	defer cancel()
	for response := range s.client.Watch(watching, s.options.Root, clientv3.WithPrefix(), clientv3.WithRev(revision)) {
		if err := response.Err(); err != nil {
			return fmt.Errorf("storage: wait: %w", classify(err))
		}
		if len(response.Events) > 0 {
			return nil
		}
	}
	return errors.New("storage: wait: the watch ended")
}

// Compact drops the history before a revision: from then on a read at an older one, and a
// watch that would need an older event, fails with [ErrCompacted]. Compacting what is
// compacted already does nothing.
func (s *Store) Compact(ctx context.Context, revision int64) error {
	_, err := s.client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	if err = classify(err); err != nil && !errors.Is(err, ErrCompacted) {
		return fmt.Errorf("storage: compact: %w", err)
	}
	return nil
}

// classify wraps an error of etcd with the class it belongs to, when it belongs to one.
func classify(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		return fmt.Errorf("%w: %w", ErrCompacted, err)
	case errors.Is(err, rpctypes.ErrFutureRev):
		return fmt.Errorf("%w: %w", ErrFuture, err)
	}
	return err
}
