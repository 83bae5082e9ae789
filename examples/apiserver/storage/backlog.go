package storage

import (
	"context"
	"sync"
)

// backlog holds the events of one watch between etcd and the reader. One goroutine puts, one
// takes.
type backlog struct {
	limit, limitBytes int
	// ready tells the reader, and room the writer, to look again. Both hold one token.
	ready, room chan struct{}

	mu sync.Mutex
	// The following are guarded by mu.
	events   []Event
	bytes    int
	revision int64 // the position behind events; only grows
	moved    bool  // revision was moved since the last take
	err      error
}

func newBacklog(limit, limitBytes int, after int64) *backlog {
	return &backlog{
		limit: limit, limitBytes: limitBytes, revision: after,
		ready: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put adds events whose last revision is given, and reports whether there is no room for more.
func (b *backlog) put(events []Event, revision int64) (full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, events...)
	for _, e := range events {
		b.bytes += len(e.Value) + len(e.Previous)
	}
	b.moveLocked(revision)
	return b.fullLocked()
}

// progress moves the position to a revision up to which everything has been put. A watch from
// the future has no progress yet.
func (b *backlog) progress(revision int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if revision >= b.revision {
		b.moveLocked(revision)
	}
}

func (b *backlog) moveLocked(revision int64) {
	b.revision = revision
	b.moved = true
	signal(b.ready)
}

// fail ends the backlog: take returns err when everything before has been taken.
func (b *backlog) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
	signal(b.ready)
}

func (b *backlog) fullLocked() bool { return len(b.events) >= b.limit || b.bytes >= b.limitBytes }

// waitForRoom blocks while the backlog is full.
func (b *backlog) waitForRoom(ctx context.Context) error {
	for {
		b.mu.Lock()
		full := b.fullLocked()
		b.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-b.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// take blocks until there are events, or the position was moved, and returns all there is.
func (b *backlog) take(ctx context.Context) (Batch, error) {
	for {
		b.mu.Lock()
		if b.moved {
			batch := Batch{Events: b.events, Revision: b.revision}
			b.events, b.bytes, b.moved = nil, 0, false
			b.mu.Unlock()
			signal(b.room)
			return batch, nil
		}
		err := b.err
		b.mu.Unlock()
		if err != nil {
			return Batch{}, err
		}
		select {
		case <-b.ready:
		case <-ctx.Done():
			return Batch{}, context.Cause(ctx)
		}
	}
}
