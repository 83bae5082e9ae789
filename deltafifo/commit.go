package deltafifo

import (
	"fmt"
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// sweep are the keys that a Compare found missing in the list of that version. They can be
// judged only when the watch has reported everything up to it.
type sweep struct {
	version string
	keys    []listwatch.Key // sorted
}

// Commit ends the snapshot: what it means for the mode is said at [DeltaFIFO.Begin].
func (s *snapshot[T]) Commit(version string) error {
	q := s.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open != s {
		return fmt.Errorf("deltafifo: commit: %w", listwatch.ErrStopped)
	}
	if version == "" {
		return errNoVersion
	}
	missing := s.missingLocked(version)
	if s.mode == listwatch.Compare && q.fullLocked() && len(missing)+len(s.suspects)+len(s.older) > 0 {
		return fmt.Errorf("deltafifo: commit: %w", ErrFull)
	}
	switch s.mode {
	case listwatch.Rebuild:
		s.bringBackLocked(version)
		s.rewindLocked(version)
		q.deleteAllLocked(missing, version, false)
		q.endLocked()
		q.torn = false
		q.reachLocked(version)
	case listwatch.Compare:
		s.repairLocked(version)
		q.driftedLocked(s.rewindLocked(version))
		q.endLocked()
		w := &sweep{version: version}
		for i := range missing {
			w.keys = append(w.keys, missing[i].head.Key)
		}
		if !listwatch.Newer(version, q.position.version) {
			q.sweepLocked(w)
		} else if len(w.keys) > 0 {
			q.sweep = w
		}
	case listwatch.Reset:
		q.deleteAllLocked(missing, version, true)
		q.endLocked()
		q.torn, q.ahead = false, s.ahead
		q.position = position{version: version, epoch: q.position.epoch + 1}
	}
	if !q.complete {
		q.complete, q.syncSeq = true, q.seq
	}
	q.wakeLocked()
	return nil
}

// rewindLocked queues the listed states that contradict what is still held, although the list is
// not older than that: a list shows all that happened up to its version, so what is held is of
// another history. It returns how many there were.
func (s *snapshot[T]) rewindLocked(version string) (n uint64) {
	for i := range s.older {
		d := &s.older[i]
		v, _ := s.q.foldLocked(d.Head.Key, d.hash, s.generation)
		held := v.head.ResourceVersion
		if !v.held || !contradicts(d.Head, v.head) || listwatch.Newer(held, version) {
			continue
		}
		if n++; n == 1 {
			s.q.position.epoch++
		}
		d.Force = true
		s.queueLocked(d)
	}
	return n
}

// bringBackLocked queues what a Rebuild has listed that was not held, though it is not newer than the
// position at Begin.
func (s *snapshot[T]) bringBackLocked(version string) {
	for i := range s.suspects {
		d := &s.suspects[i]
		v, _ := s.q.foldLocked(d.Head.Key, d.hash, s.generation)
		if v.accepts(d.Head.ResourceVersion) && !listwatch.Newer(s.from, version) {
			s.queueLocked(d)
		}
	}
}

// repairLocked queues what the watch must have missed. A key that is not held may also have
// been deleted after it was listed: by the watch since Begin, or before, when the list is
// older than Begin.
func (s *snapshot[T]) repairLocked(version string) {
	for i := range s.suspects {
		d := &s.suspects[i]
		v, _ := s.q.foldLocked(d.Head.Key, d.hash, s.generation)
		if !v.accepts(d.Head.ResourceVersion) {
			continue
		}
		if !v.held {
			at, deleted := s.deleted[d.Head.Key]
			if deleted && !listwatch.Newer(d.Head.ResourceVersion, at) || listwatch.Newer(s.from, version) {
				continue
			}
		}
		s.q.driftedLocked(1)
		s.queueLocked(d)
	}
}

// missingLocked returns what is held although it was not listed, sorted by key. Except after
// a restore, what is newer than the list is not missing.
func (s *snapshot[T]) missingLocked(version string) []view[T] {
	var missing []view[T]
	consider := func(v view[T]) {
		_, listed := s.listed[v.head.Key]
		newer := s.mode != listwatch.Reset && listwatch.Newer(v.head.ResourceVersion, version)
		if v.held && !listed && !newer {
			missing = append(missing, v)
		}
	}
	unmarked := s.unmarkedItemsLocked(consider)
	for _, it := range unmarked {
		v, _ := s.q.viewLocked(it.TableKey(), 0)
		consider(v)
	}
	slices.SortFunc(missing, func(a, b view[T]) int { return a.head.Key.Compare(b.head.Key) })
	if !s.blind {
		return missing
	}
	if s.mode == listwatch.Reset {
		for i := range missing {
			s.unversionLocked(&missing[i])
		}
	}
	return nil
}

// unmarkedItemsLocked returns the items of keys that were not listed, and calls idle with the
// state of each other key that was not.
//
// An item without mark is listed, too, if the key was marked in the store before the item came.
// The store does not tell that from holding nothing, and process may write to it meanwhile. So
// the store must hold the key before and after it is asked for all that has no mark; what
// process writes in between has none.
func (s *snapshot[T]) unmarkedItemsLocked(idle func(view[T])) []*item[T] {
	q := s.q
	var unmarked, stored []*item[T]
	for it := range q.items.All() {
		if it.listed() == s.generation {
			continue
		}
		if q.storedLocked(it.TableKey()) {
			stored = append(stored, it)
		} else {
			unmarked = append(unmarked, it)
		}
	}
	if q.store == nil {
		return unmarked
	}
	for _, h := range q.store.Unmarked(s.generation) {
		if it := q.items.Get(q.items.Hash(h.Key), h.Key); it != nil {
			it.unlisted = s.generation
		} else {
			idle(view[T]{head: h, held: true})
		}
	}
	for _, it := range stored {
		if it.unlisted == s.generation || !q.storedLocked(it.TableKey()) {
			unmarked = append(unmarked, it)
		}
	}
	return unmarked
}

func (q *DeltaFIFO[T]) storedLocked(k listwatch.Key) bool {
	if q.store == nil {
		return false
	}
	_, held := q.store.Mark(k, 0)
	return held
}

func (q *DeltaFIFO[T]) deleteAllLocked(missing []view[T], version string, force bool) {
	for i := range missing {
		q.deleteLocked(&missing[i], version, force)
	}
}

// deleteLocked queues the deletion of what v holds, and reports whether there was something.
func (q *DeltaFIFO[T]) deleteLocked(v *view[T], version string, force bool) bool {
	if !v.held || !v.body && !q.storedLocked(v.head.Key) {
		return false
	}
	head := listwatch.Head{Key: v.head.Key, UID: v.head.UID, ResourceVersion: version}
	// Without a body there is no object: fetch gets it.
	d := Delta[T]{Type: Deleted, Head: head, Object: v.object, Unknown: true, Force: force}
	q.appendLocked(&staged[T]{Delta: d, hash: q.items.Hash(head.Key)})
	return true
}

// bodyLocked returns the last known state of what is held.
func (q *DeltaFIFO[T]) bodyLocked(v *view[T]) (object T, ok bool) {
	if v.body || !v.held || q.store == nil {
		return v.object, v.held && v.body
	}
	return q.store.Get(v.head.Key)
}

// sweepLocked deletes what a Compare found missing and no event up to its version explains.
func (q *DeltaFIFO[T]) sweepLocked(w *sweep) {
	for _, k := range w.keys {
		v, _ := q.viewLocked(k, 0)
		if v.held && !listwatch.Newer(v.head.ResourceVersion, w.version) && q.deleteLocked(&v, w.version, false) {
			q.driftedLocked(1)
		}
	}
}

// driftedLocked notes that the watch has not told n changes that a Compare has shown.
func (q *DeltaFIFO[T]) driftedLocked(n uint64) {
	q.drift += n
	q.contradicted = q.contradicted || n > 0
}
