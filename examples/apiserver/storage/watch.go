package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// progressRetry is after how long a position is asked for again. Etcd leaves a request without
// answer while the watch is not up to date, and it looks for such watches ten times a second.
const progressRetry = 100 * time.Millisecond

// Event is one change of an entry.
type Event struct {
	// Key is the key within the store, without the root.
	Key string
	// Value is the new value, nil when the entry was deleted.
	Value []byte
	// Previous is the value before, nil when the entry was created or the watch does without.
	Previous []byte
	// Revision is that of the change.
	Revision int64
}

// Batch is what a watch delivers at once.
type Batch struct {
	// Events are in order of their revisions. There may be none.
	Events []Event
	// Revision is the position: every event up to it has been delivered with this batch or
	// before.
	Revision int64
}

// WatchOptions say where a watch starts.
type WatchOptions struct {
	// After is the revision behind which the watch starts. One in the future is waited for.
	After int64
	// Progress asks, with each value received from it, for a batch that has the newest
	// position. It comes soon, but not before the events that are on their way. Nil: never.
	// Every watch of etcd that is begun reports its position once, too.
	Progress <-chan struct{}
	// WithoutPrevious leaves the values before out; etcd would have to look each of them up.
	WithoutPrevious bool
}

// Watch delivers what changes under prefix, until each returns an error, ctx is done or the
// history is lost, and returns why.
//
// Each event comes exactly once, with a revision greater than that before. each is called from
// one goroutine at a time and may block for as long as it likes: a bounded number of events is
// held for it, the others wait in etcd. When compaction removes them meanwhile, or when the
// history that the watch starts from has been compacted, the error is [ErrCompacted].
func (s *Store) Watch(ctx context.Context, prefix string, o WatchOptions, each func(Batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	b := newBacklog(s.options.Backlog, s.options.BacklogBytes, o.After)
	var filling sync.WaitGroup
	filling.Go(func() { b.fail(s.fill(ctx, prefix, o, b)) })
	defer filling.Wait()
	defer cancel()
	for {
		batch, err := b.take(ctx)
		if err == nil {
			err = each(batch)
		}
		if err != nil {
			return err
		}
	}
}

// fill moves events from etcd into the backlog. The client buffers without bound for a watch
// that is not read, so a watch is always read at once; when the backlog is full it is ended,
// and another one started behind the last event when there is room again.
func (s *Store) fill(ctx context.Context, prefix string, o WatchOptions, b *backlog) error {
	for {
		if err := b.waitForRoom(ctx); err != nil {
			return err
		}
		last, err := s.fillOnce(ctx, prefix, o, b)
		if err != nil {
			return fmt.Errorf("storage: watch %s: %w", prefix, err)
		}
		o.After = last
	}
}

// fillOnce runs one watch of etcd until the backlog is full. It returns the last revision that
// is in the backlog then.
func (s *Store) fillOnce(ctx context.Context, prefix string, o WatchOptions, b *backlog) (int64, error) {
	watching, cancel := context.WithCancel(s.ownStream(ctx))
	defer cancel()
	options := []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithRev(o.After + 1)}
	if !o.WithoutPrevious {
		options = append(options, clientv3.WithPrevKV())
	}
	responses := s.client.Watch(watching, s.options.Root+prefix, options...)
	after := o.After
	retry := make(chan struct{}, 1)
	if o.Progress != nil {
		signal(retry) // what was asked of the watch before may not have been answered
	}
	stop := func() {}
	defer func() { stop() }()
	for {
		select {
		case <-o.Progress:
			signal(retry)
		case <-retry:
			if err := s.client.RequestProgress(watching); err != nil {
				return after, err
			}
			stop()
			stop = timing.AfterFunc(s.options.Clock, progressRetry, func() { signal(retry) })
		case response, ok := <-responses:
			if !ok {
				return after, ended(ctx)
			}
			if response.IsProgressNotify() {
				stop()
			}
			last, full, err := s.move(response, o, b)
			after = max(after, last)
			if full || err != nil {
				return after, err
			}
		}
	}
}

// ended is why a watch of etcd has ended that gave no reason.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.New("etcd ended the watch")
}

// move puts one response into the backlog. It returns the position that it reaches.
func (s *Store) move(response clientv3.WatchResponse, o WatchOptions, b *backlog) (last int64, full bool, err error) {
	if err := response.Err(); err != nil {
		return 0, false, classify(err)
	}
	if response.IsProgressNotify() {
		b.progress(response.Header.Revision)
		return response.Header.Revision, false, nil
	}
	events, err := s.events(response.Events, o)
	if err != nil || len(events) == 0 {
		return 0, false, err
	}
	last = events[len(events)-1].Revision
	return last, b.put(events, last), nil
}

// ownStream gives what is done with the context a stream to etcd of its own. Watches that
// share a stream can lock each other up for ever when many start and end at once: the client
// does not read while it sends, and neither does the server.
func (s *Store) ownStream(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "watch", strconv.FormatUint(s.streams.Add(1), 10))
}

func (s *Store) events(from []*clientv3.Event, o WatchOptions) ([]Event, error) {
	events := make([]Event, 0, len(from))
	for _, f := range from {
		e := Event{Key: string(f.Kv.Key[len(s.options.Root):]), Revision: f.Kv.ModRevision}
		if f.Type == clientv3.EventTypePut {
			e.Value = f.Kv.Value
		}
		if !f.IsCreate() && !o.WithoutPrevious {
			// The value before is gone when compaction has overtaken the event. Without it
			// nobody can tell who has seen the object.
			if f.PrevKv == nil {
				return nil, fmt.Errorf("%w: the value before revision %d", ErrCompacted, e.Revision)
			}
			e.Previous = f.PrevKv.Value
		}
		events = append(events, e)
	}
	return events, nil
}
