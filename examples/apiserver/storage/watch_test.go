package storage_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

var errEnough = errors.New("enough")

// watch collects events until it has seen n.
func watch(ctx context.Context, s *storage.Store, prefix string, after int64, n int) ([]storage.Event, error) {
	var events []storage.Event
	err := s.Watch(ctx, prefix, storage.WatchOptions{After: after}, func(b storage.Batch) error {
		events = append(events, b.Events...)
		if len(events) >= n {
			return errEnough
		}
		return nil
	})
	return events, err
}

func TestWatchEvents(t *testing.T) {
	s := newStore(t, storage.Options{})
	a := create(t, s, "/p/a", "1")
	create(t, s, "/other", "1")
	put(t, s, "/p/a", "2")
	_, err := s.Delete(t.Context(), "/p/a", nil)
	require.NoError(t, err)
	events, err := watch(t.Context(), s, "/p/", a.Revision-1, 3)
	require.ErrorIs(t, err, errEnough)
	require.Equal(t, []storage.Event{
		{Key: "/p/a", Value: []byte("1"), Revision: a.Revision},
		{Key: "/p/a", Value: []byte("2"), Previous: []byte("1"), Revision: a.Revision + 2},
		{Key: "/p/a", Previous: []byte("2"), Revision: a.Revision + 3},
	}, events)
}

// Scenarios 109 and 121.
func TestWatchEachRevisionOnce(t *testing.T) {
	s := newStore(t, storage.Options{Backlog: 50})
	const writers, each, watchers = 2, 300, 20
	start := create(t, s, "/p/0", "0")
	var writing, watching sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				if _, err := s.Create(t.Context(), fmt.Sprintf("/p/%d-%d", w, i), []byte("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for w := range watchers {
		watching.Go(func() {
			after := start.Revision + int64(w)
			events, err := watch(t.Context(), s, "/p/", after, writers*each-w)
			if !errors.Is(err, errEnough) || len(events) != writers*each-w {
				t.Errorf("%d events, error %v", len(events), err)
			}
			for i, e := range events {
				if e.Revision != after+1+int64(i) {
					t.Errorf("event %d of the watch after %d has revision %d", i, after, e.Revision)
					return
				}
			}
		})
	}
	writing.Wait()
	watching.Wait()
}

// Scenario 113.
func TestWatchCompacted(t *testing.T) {
	s := newStore(t, storage.Options{})
	var entries []storage.Entry
	for i := range 10 {
		entries = append(entries, create(t, s, fmt.Sprintf("/p/%d", i), "x"))
	}
	require.NoError(t, s.Compact(t.Context(), entries[5].Revision))
	events, err := watch(t.Context(), s, "/p/", entries[2].Revision, 100)
	require.ErrorIs(t, err, storage.ErrCompacted)
	require.Empty(t, events)
	// The oldest revision that is left can be watched from.
	events, err = watch(t.Context(), s, "/p/", entries[5].Revision, 4)
	require.ErrorIs(t, err, errEnough)
	require.Equal(t, entries[6].Revision, events[0].Revision)
}

// Scenario 119.
func TestWatchSlowReader(t *testing.T) {
	const backlog, count = 20, 3000
	s := newStore(t, storage.Options{Backlog: backlog})
	start := create(t, s, "/p", "0")
	reading, wrote := make(chan struct{}), make(chan struct{})
	next, largest := start.Revision+1, 0
	var watching sync.WaitGroup
	watching.Go(func() {
		err := s.Watch(t.Context(), "/p", storage.WatchOptions{After: start.Revision}, func(b storage.Batch) error {
			if next == start.Revision+1 {
				close(reading)
				<-wrote
			}
			largest = max(largest, len(b.Events))
			for _, e := range b.Events {
				if e.Revision != next {
					return fmt.Errorf("revision %d instead of %d", e.Revision, next)
				}
				next++
			}
			if next > start.Revision+count {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Error(err)
		}
	})
	put(t, s, "/p", "first")
	<-reading
	for i := range count - 1 {
		put(t, s, "/p", strconv.Itoa(i))
	}
	close(wrote)
	watching.Wait()
	// One answer of etcd, which holds at most 1,000 revisions, may come on top of the backlog.
	require.LessOrEqual(t, largest, backlog+1000)
	require.Less(t, largest, count-1)
}

func TestWatchSlowReaderOvertakenByCompaction(t *testing.T) {
	s := newStore(t, storage.Options{Backlog: 1})
	start := create(t, s, "/p", "0")
	reading, compacted := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(reading); <-compacted })
	done := make(chan error, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		done <- s.Watch(t.Context(), "/p", storage.WatchOptions{After: start.Revision}, func(storage.Batch) error { first(); return nil })
	})
	put(t, s, "/p", "first")
	<-reading
	var last storage.Entry
	for i := range 100 {
		last = put(t, s, "/p", strconv.Itoa(i))
	}
	require.NoError(t, s.Compact(t.Context(), last.Revision))
	close(compacted)
	require.ErrorIs(t, <-done, storage.ErrCompacted)
	watching.Wait()
}

func TestWatchProgress(t *testing.T) {
	s := newStore(t, storage.Options{})
	start := create(t, s, "/p/a", "0")
	ctx, cancel := context.WithCancel(t.Context())
	begun, positions, progress := make(chan struct{}), make(chan int64), make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		err := s.Watch(ctx, "/p/", storage.WatchOptions{After: start.Revision, Progress: progress}, func(b storage.Batch) error {
			if len(b.Events) > 0 {
				close(begun)
				return nil
			}
			select {
			case positions <- b.Revision:
			case <-ctx.Done():
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	// The position that is told at the beginning may come before, between or behind the two.
	changed := put(t, s, "/p/a", "1")
	var other storage.Entry
	var asked chan struct{} // progress, once there is something to ask for
	for reached := int64(0); other.Revision == 0 || reached < other.Revision; {
		select {
		case <-begun:
			begun, asked, other = nil, progress, create(t, s, "/q", "0")
		case asked <- struct{}{}:
			asked = nil
		case reached = <-positions:
			require.True(t, reached >= start.Revision && reached <= changed.Revision+1)
		}
	}
	require.Equal(t, changed.Revision+1, other.Revision)
	cancel()
	watching.Wait()
}

func TestWatchEndsWithItsContext(t *testing.T) {
	s := newStore(t, storage.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("reason")
	start := create(t, s, "/p", "0")
	var watching sync.WaitGroup
	watching.Go(func() {
		// The future is silent.
		err := s.Watch(ctx, "/p", storage.WatchOptions{After: start.Revision + 100}, func(storage.Batch) error { return errEnough })
		if !errors.Is(err, reason) {
			t.Error(err)
		}
	})
	put(t, s, "/p", "1")
	cancel(reason)
	watching.Wait()
}

func TestClosedClient(t *testing.T) {
	server, err := etcd.Start(t.Context(), etcd.Options{})
	require.NoError(t, err)
	s, err := storage.New(server.Client(), storage.Options{})
	require.NoError(t, err)
	create(t, s, "/p", "0")
	done := make(chan error, 1)
	var watching sync.WaitGroup
	begun := make(chan struct{})
	watching.Go(func() {
		done <- s.Watch(t.Context(), "/p", storage.WatchOptions{After: 1}, func(storage.Batch) error { close(begun); return nil })
	})
	<-begun
	require.NoError(t, server.Close())
	require.Error(t, <-done)
	watching.Wait()
}
