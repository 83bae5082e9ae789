package deltafifo

import (
	"context"
	"fmt"

	"github.com/seed3bce33ad/listwatch"
)

// Apply queues what a watch reported: nothing is dropped or folded. The events are taken all
// or none, and the position moves behind them. Bookmarks only move the position.
//
// It blocks while the queue is full, until ctx is done, whose cause it returns, or the queue is
// closed: ErrStopped. An event of another type than Added, Modified, Deleted and Bookmark, or an
// object without name, is ErrProtocol. When a Compare has found drift, what the watch tells from
// then on may be of another history than the list: the first call behind that is refused with
// [listwatch.ErrDrift], and another watch is to go on from the position.
func (q *DeltaFIFO[T]) Apply(ctx context.Context, events ...listwatch.Event[T]) error {
	return q.apply(ctx, events, true)
}

// apply is Apply. watched: the events are those of a watch, which a Compare may have contradicted.
func (q *DeltaFIFO[T]) apply(ctx context.Context, events []listwatch.Event[T], watched bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	scratch := q.borrow()
	defer q.giveBack(scratch)
	for i := range events {
		if err := q.readEvent(&events[i], scratch); err != nil {
			return fmt.Errorf("deltafifo: event %d: %w", i, err)
		}
	}
	deltas := *scratch
	reached, uncovered, some := versions(events, deltas)

	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.roomLocked(ctx, len(deltas), nil); err != nil {
		return err
	}
	if watched && q.contradicted {
		q.contradicted = false
		return fmt.Errorf("deltafifo: apply: %w", listwatch.ErrDrift)
	}
	for i := range deltas {
		d := &deltas[i]
		q.appendLocked(d)
		if d.Type == Deleted && q.open != nil && q.open.mode == listwatch.Compare {
			q.open.deleted[d.Head.Key] = d.Head.ResourceVersion
		}
	}
	if some {
		q.passLocked(uncovered)
	}
	q.reachLocked(reached)
	q.wakeLocked()
	return nil
}

// staged is a delta that is to be queued, with the hash of its key.
type staged[T listwatch.Object] struct {
	Delta[T]
	hash uint32
}

// readEvent checks an event and adds what is to be queued of it. It calls the object's
// getters, so it needs to be called without the lock.
func (q *DeltaFIFO[T]) readEvent(e *listwatch.Event[T], to *[]staged[T]) error {
	var t Type
	switch e.Type {
	case listwatch.Added:
		t = Added
	case listwatch.Modified:
		t = Updated
	case listwatch.Deleted:
		t = Deleted
	case listwatch.Bookmark:
		return nil
	default:
		return fmt.Errorf("%w: %v is not a change", listwatch.ErrProtocol, e.Type)
	}
	if err := q.readObject(t, e.Object, to); err != nil {
		return err
	}
	d := &(*to)[len(*to)-1]
	if t == Deleted && e.ResourceVersion != "" {
		d.Head.ResourceVersion = e.ResourceVersion
	}
	return nil
}

func (q *DeltaFIFO[T]) readObject(t Type, object T, to *[]staged[T]) error {
	head := listwatch.Head{Key: listwatch.KeyOf(object), UID: q.uid(object), ResourceVersion: object.GetResourceVersion()}
	if head.Key.Name == "" {
		return fmt.Errorf("%w: object without name", listwatch.ErrProtocol)
	}
	*to = append(*to, staged[T]{Delta: Delta[T]{Type: t, Head: head, Object: object}, hash: q.items.Hash(head.Key)})
	return nil
}

// versions returns the position that the events reach, and the greatest version among the deltas of
// events that reach none, if there are some.
func versions[T listwatch.Object](events []listwatch.Event[T], deltas []staged[T]) (reached, uncovered string, some bool) {
	at := 0
	for i := range events {
		v := events[i].ResourceVersion
		if v != "" && !listwatch.Newer(reached, v) {
			reached = v
		}
		if events[i].Type == listwatch.Bookmark {
			continue
		}
		if v == "" {
			uncovered, some = newest(uncovered, deltas[at].Head.ResourceVersion), true
		}
		at++
	}
	return reached, uncovered, some
}

func newest(a, b string) string {
	if a == "" || listwatch.Newer(b, a) {
		return b
	}
	return a
}

// passLocked notes that states up to that version are queued without the position. Once the
// position has reached it, it describes the store again; if the two can never be ordered, it
// takes another snapshot.
func (q *DeltaFIFO[T]) passLocked(version string) {
	if _, err := listwatch.CompareVersions(version, "0"); err != nil {
		q.torn = true
		return
	}
	q.ahead = newest(q.ahead, version)
}

// reachLocked moves the position, which never goes back, and ends a Compare that waited for it.
func (q *DeltaFIFO[T]) reachLocked(version string) {
	if version == "" || listwatch.Newer(q.position.version, version) {
		return
	}
	q.position.version = version
	if q.sweep != nil && !listwatch.Newer(q.sweep.version, version) {
		q.sweepLocked(q.sweep)
		q.sweep = nil
		q.mendLocked()
	}
}

// roomLocked waits until n deltas may be queued. The lock is released meanwhile. With a
// snapshot it fails once that has ended.
func (q *DeltaFIFO[T]) roomLocked(ctx context.Context, n int, s *snapshot[T]) error {
	for {
		if q.closed || s != nil && s != q.open {
			return fmt.Errorf("deltafifo: %w", listwatch.ErrStopped)
		}
		if n == 0 || !q.fullLocked() {
			return nil
		}
		if q.space == nil {
			q.space = make(chan struct{})
		}
		space := q.space
		q.waiting++
		q.mu.Unlock()
		select {
		case <-space:
		case <-ctx.Done():
		}
		q.mu.Lock()
		q.waiting--
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func (q *DeltaFIFO[T]) freeWritersLocked() {
	if q.space != nil {
		close(q.space)
		q.space = nil
	}
}

// borrow returns an empty slice. Of several calls at once, one gets one that was used before.
func (q *DeltaFIFO[T]) borrow() *[]staged[T] {
	if scratch := q.scratch.Swap(nil); scratch != nil {
		return scratch
	}
	return new([]staged[T])
}

func (q *DeltaFIFO[T]) giveBack(scratch *[]staged[T]) {
	if cap(*scratch) > keepScratch {
		return
	}
	clear(*scratch)
	*scratch = (*scratch)[:0]
	q.scratch.Store(scratch)
}

// Add queues an object as added. The position does not move. It blocks and fails as Apply does.
func (q *DeltaFIFO[T]) Add(ctx context.Context, object T) error {
	return q.apply(ctx, []listwatch.Event[T]{{Type: listwatch.Added, Object: object}}, false)
}

// Update queues a new state of an object. The position does not move. It blocks and fails as
// Apply does.
func (q *DeltaFIFO[T]) Update(ctx context.Context, object T) error {
	return q.apply(ctx, []listwatch.Event[T]{{Type: listwatch.Modified, Object: object}}, false)
}

// Delete queues the deletion of an object at the object's own version. The position does not
// move. It blocks and fails as Apply does.
func (q *DeltaFIFO[T]) Delete(ctx context.Context, object T) error {
	return q.apply(ctx, []listwatch.Event[T]{{Type: listwatch.Deleted, Object: object}}, false)
}

// Replace takes objects as the whole collection as of version: a Rebuild snapshot in one call.
// It blocks while the queue is full, and fails as the methods of a snapshot do.
func (q *DeltaFIFO[T]) Replace(ctx context.Context, version string, objects ...T) error {
	if version == "" {
		return errNoVersion
	}
	s := q.Begin(listwatch.Rebuild)
	defer s.Abort()
	if err := s.Put(ctx, objects...); err != nil {
		return err
	}
	return s.Commit(version)
}
