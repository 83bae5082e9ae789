package indexer

import (
	"cmp"

	"github.com/seed3bce33ad/listwatch"
)

// Write is one change to an [Indexer], and what came of it. The caller fills in the first
// fields; [Indexer.Apply] overwrites the others.
type Write[T listwatch.Object] struct {
	// Head is the key, identity and version of this write; the version of a delete is that
	// of the deletion.
	Head listwatch.Head
	// Object is what to store. It is not looked at when Delete is set.
	Object T
	// Delete takes the object out.
	Delete bool
	// Force applies the write whatever version is held.
	Force bool
	// NoOld leaves Old out, which a [Compact] store would have to decode.
	NoOld bool
	// Mark is the generation of the snapshot that the write is part of, see [Indexer.Mark].
	// The mark of what is held is raised to it even if the write is not applied.
	Mark uint64

	// Applied reports that the store was changed: the write was newer, or forced.
	Applied bool
	// Held reports that something was held under the key before.
	Held bool
	// OldHead is the state that was held before.
	OldHead listwatch.Head
	// Old is the object that was held before, unless NoOld is set.
	Old T
}

// Apply makes the writes, in order, as one change: a reader sees all of them or none.
// version is the version of the collection that the store equals afterwards, or "" when there
// is none.
//
// A write that brings nothing new is skipped, and what is held keeps its pointer. An update is
// applied when nothing is held, or its version is newer than the held one, or the two differ
// and can't be ordered. A delete is applied when something is held whose version is not newer
// than the deletion's; if both identities are known and differ, it must be strictly newer than a
// held version.
// Force applies either, but nothing makes a delete of nothing applied.
//
// Apply keeps the objects, not the slice. It calls the index functions once for each update,
// the skipped ones too, before readers have to wait.
//
// A [Compact] store holds the objects as they are until [Indexer.Pack].
func (x *Indexer[T]) Apply(version string, writes []Write[T]) {
	x.report(func() []error {
		if x.compact == nil {
			x.write.RLock()
			defer x.write.RUnlock()
		} else {
			x.write.Lock()
			defer x.write.Unlock()
		}
		return x.applyLocked(version, writes)
	}())
}

// report hands errors on. No lock may be held.
func (x *Indexer[T]) report(errs []error) {
	for _, err := range errs {
		x.options.OnError(err)
	}
}

// applyLocked needs the write lock, shared or alone, and takes the other.
func (x *Indexer[T]) applyLocked(version string, writes []Write[T]) []error {
	errs := x.packLocked()
	staged, faults := x.stage(writes)
	defer x.giveBack(staged)
	x.commitLocked(version, writes, staged)
	x.compact.finish(writes)
	return append(errs, faults...)
}

// commitLocked needs the write lock, shared or alone, and takes the other.
func (x *Indexer[T]) commitLocked(version string, writes []Write[T], staged *staging[T]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.version = version
	for i := range writes {
		x.commitOneLocked(&writes[i], i, staged)
	}
}

// commitOneLocked makes write i. It needs both locks.
func (x *Indexer[T]) commitOneLocked(w *Write[T], i int, staged *staging[T]) {
	hash, number := staged.hashes[i], numberOf(w.Head.ResourceVersion)
	pos, held := x.find(hash, w.Head.Key)
	var none T
	w.Applied, w.Held, w.OldHead, w.Old = !w.Delete, held, listwatch.Head{}, none
	if held {
		w.OldHead = x.head(pos)
		w.Applied = w.Force || w.supersedes(number, &x.rows[pos])
	}
	x.oldLocked(w, pos)
	switch {
	case w.Applied && w.Delete:
		x.removeLocked(hash, pos)
		return
	case w.Applied:
		if !held {
			pos = x.addLocked(hash, w.Head.Key)
		}
		r := &x.rows[pos]
		r.uid, r.version, r.number = w.Head.UID, w.Head.ResourceVersion, number
		x.setLocked(hash, pos, w)
		for _, index := range staged.indexes {
			index.put(pos, i)
		}
	case !held:
		return
	}
	if w.Mark > 0 {
		x.raise(pos, w.Mark)
	}
}

// supersedes is the rule of Apply, without Force. number is that of the write's version.
func (w *Write[T]) supersedes(number uint64, held *row) bool {
	order, err := cmp.Compare(number, held.number), error(nil)
	if number == 0 || held.number == 0 {
		order, err = listwatch.CompareVersions(w.Head.ResourceVersion, held.version)
	}
	if err == nil && order > 0 {
		return true
	}
	if !w.Delete {
		return err != nil
	}
	other := w.Head.UID != "" && held.uid != "" && w.Head.UID != held.uid && held.version != ""
	return !other && (err != nil || order == 0)
}
