package deltafifo

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/seed3bce33ad/listwatch"
)

// ErrFull: as many deltas as [Options].Limit are queued, and a Compare may add no more.
var ErrFull = errors.New("the queue is full")

var errNoVersion = fmt.Errorf("deltafifo: commit: %w: a list without version", listwatch.ErrProtocol)

// snapshot is one list on its way in. All fields but the first four are guarded by the queue's
// lock. It is open as long as the queue's open is this one.
//
// Which keys were listed is told by marks: on the store's entries, and on the items of keys
// that are queued or in flight.
type snapshot[T listwatch.Object] struct {
	q          *DeltaFIFO[T]
	mode       listwatch.Mode
	generation uint64
	from       string // the position at Begin

	// listed are keys that count as listed, with the version listed, where a mark does not
	// do: it could be taken for one of an older state, or there is nothing to mark.
	listed map[listwatch.Key]string
	// blind: something was listed that has no name, so nothing counts as missing.
	blind bool
	// put: something was queued; ahead is the greatest version of it. Not for Compare.
	put   bool
	ahead string
	// suspects are states that the watch has passed and the queue does not know. Deleted are
	// the keys that the watch has deleted since Begin, and when. For Compare alone.
	suspects []staged[T]
	deleted  map[listwatch.Key]string
	// older are states that were listed although the one held contradicts them. Not for Reset.
	older []staged[T]
}

// Begin opens a snapshot. One that is open is aborted, and a Compare that still waits for the
// position to reach its version is given up. On a closed queue the snapshot has ended already.
// It panics when m is not a mode.
//
// What Commit does beside what [listwatch.Snapshot] says depends on the mode:
//   - Rebuild: the position becomes version unless it is beyond it. Keys that were not listed
//     and are not newer than version are deleted. What was listed, not held and not newer than
//     the position is queued now, if version is not older than that: an older list shows what
//     has been deleted since.
//   - Compare: the position stays. States that the watch must have missed are queued, and keys
//     that were not listed are deleted, now or when the position has reached version. Put never
//     blocks; Commit is ErrFull when something seems missed while the queue is full, and leaves the
//     snapshot open.
//   - Reset: the position becomes version, a new epoch begins, keys not listed are deleted. Nothing
//     counts as Known: states are compared with their bodies. In the other modes two states of one
//     key, identity and version are the same.
//
// A list in another mode that shows a key in an older state than the one held at Begin, or in one
// of the same version and another identity, though it is not older than that, proves a restore
// which nobody saw: the server's versions were past the position again, or were raised with the
// restore. That state is believed and a new epoch begins; for Compare it is drift.
//
// Commit of an empty version is ErrProtocol and leaves the snapshot open.
func (q *DeltaFIFO[T]) Begin(m listwatch.Mode) listwatch.Snapshot[T] {
	if m != listwatch.Rebuild && m != listwatch.Compare && m != listwatch.Reset {
		panic(fmt.Sprintf("deltafifo: Begin of %v", m))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endLocked()
	q.sweep = nil
	q.generation++
	s := &snapshot[T]{
		q: q, mode: m, generation: q.generation, from: q.position.version,
		listed: make(map[listwatch.Key]string), deleted: make(map[listwatch.Key]string),
	}
	if !q.closed {
		q.open = s
	}
	q.wakeLocked()
	return s
}

// endLocked ends the open snapshot, if there is one, as it stands.
func (q *DeltaFIFO[T]) endLocked() {
	if s := q.open; s != nil {
		q.open = nil
		if s.put {
			q.passLocked(s.ahead)
			q.torn = q.torn || s.mode == listwatch.Reset
		}
		q.freeWritersLocked()
	}
}

// Known reports whether exactly this state is held. If so, the key counts as listed. To a Reset it
// says no.
func (s *snapshot[T]) Known(h listwatch.Head) bool {
	q := s.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open != s {
		return false
	}
	if h.Key.Name == "" {
		s.blind = true
		return false
	}
	if h.ResourceVersion == "" {
		s.refusedLocked(h.Key)
		return false
	}
	v, it := q.viewLocked(h.Key, 0)
	if !v.is(h) || s.mode == listwatch.Reset {
		return false
	}
	s.markLocked(h, it)
	return true
}

// markLocked notes a key as listed with a state that needs nothing queued.
func (s *snapshot[T]) markLocked(h listwatch.Head, it *item[T]) {
	if s.q.store != nil {
		s.q.store.Mark(h.Key, s.generation)
	}
	if it != nil {
		s.q.listLocked(it, s.generation)
	}
	// A state beyond the position will come again by the watch, and more behind it.
	if s.mode == listwatch.Reset || listwatch.Newer(h.ResourceVersion, s.q.position.version) {
		s.listed[h.Key] = newest(s.listed[h.Key], h.ResourceVersion)
	}
}

// refusedLocked notes a key that was listed in a state that could not be taken. What is held
// stays. After a restore its version would keep out every later state until the new epoch has
// caught up, so it loses it.
func (s *snapshot[T]) refusedLocked(k listwatch.Key) {
	s.listed[k] = ""
	if s.mode == listwatch.Reset {
		v, _ := s.q.viewLocked(k, s.generation)
		s.unversionLocked(&v)
		s.q.wakeLocked()
	}
}

func (s *snapshot[T]) unversionLocked(v *view[T]) {
	if object, ok := s.q.bodyLocked(v); ok && v.head.ResourceVersion != "" {
		head := listwatch.Head{Key: v.head.Key, UID: v.head.UID}
		d := Delta[T]{Head: head, Object: object, Force: true}
		s.queueLocked(&staged[T]{Delta: d, hash: s.q.items.Hash(head.Key)})
	}
}

// Put takes listed objects, all or none. It fails with ErrStopped once the snapshot has ended,
// with ctx's cause when ctx is done, and with ErrProtocol for an object without name.
func (s *snapshot[T]) Put(ctx context.Context, objects ...T) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	q := s.q
	scratch := q.borrow()
	defer q.giveBack(scratch)
	for i, object := range objects {
		if err := q.readObject(Replaced, object, scratch); err != nil {
			return fmt.Errorf("deltafifo: put: object %d: %w", i, err)
		}
	}
	deltas := *scratch
	n := len(deltas)
	if s.mode == listwatch.Compare {
		n = 0 // nothing is queued before Commit
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.roomLocked(ctx, n, s); err != nil {
		return err
	}
	for i := range deltas {
		s.putLocked(&deltas[i])
	}
	q.wakeLocked()
	return nil
}

func (s *snapshot[T]) putLocked(d *staged[T]) {
	v, it := s.q.foldLocked(d.Head.Key, d.hash, s.generation)
	version := d.Head.ResourceVersion
	if v.held && v.head.ResourceVersion == "" {
		s.keepLocked(&v, d)
	}
	switch s.mode {
	case listwatch.Rebuild:
		if v.accepts(version) {
			if v.held || supersedes(version, s.from) {
				s.queueLocked(d)
				return
			}
			// Deleted before Begin, if the list is older than that. Else the watch has missed it.
			s.suspects = append(s.suspects, *d)
		}
		s.doubtLocked(&v, d)
	case listwatch.Reset:
		before, twice := s.listed[d.Head.Key]
		if !s.heldLocked(&v, d) && !(twice && !supersedes(version, before)) {
			s.listed[d.Head.Key] = version
			d.Force = true
			s.queueLocked(d)
			return
		}
	case listwatch.Compare:
		if !listwatch.Newer(version, s.q.position.version) && v.accepts(version) {
			s.listed[d.Head.Key] = version
			s.suspects = append(s.suspects, *d)
		}
		s.doubtLocked(&v, d)
	}
	s.markLocked(d.Head, it)
}

// heldLocked reports whether what was listed is held, body and all: another history may have another
// state of the same identity and version.
func (s *snapshot[T]) heldLocked(v *view[T], d *staged[T]) bool {
	if !v.is(d.Head) {
		return false
	}
	object, ok := s.q.bodyLocked(v)
	return ok && reflect.DeepEqual(object, d.Object)
}

// keepLocked has a listed state keep the pointer of what lost its version, if that is what it was.
func (s *snapshot[T]) keepLocked(v *view[T], d *staged[T]) {
	if object, ok := s.q.bodyLocked(v); ok && reflect.DeepEqual(object, d.Object) {
		d.Object = object
	}
}

// doubtLocked keeps a listed state that contradicts one held since before Begin, for Commit to
// judge.
func (s *snapshot[T]) doubtLocked(v *view[T], d *staged[T]) {
	if v.held && !supersedes(v.head.ResourceVersion, s.from) && contradicts(d.Head, v.head) {
		s.older = append(s.older, *d)
	}
}

// queueLocked queues a state that was listed.
func (s *snapshot[T]) queueLocked(d *staged[T]) {
	d.Type = Replaced
	d.Initial = !s.q.complete
	s.q.appendLocked(d).mark = s.generation
	if s.mode != listwatch.Compare {
		s.put = true
		s.ahead = newest(s.ahead, d.Head.ResourceVersion)
	}
}

// Abort ends the snapshot. What it has queued stays queued.
func (s *snapshot[T]) Abort() {
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	if s.q.open == s {
		s.q.endLocked()
		s.q.wakeLocked()
	}
}
