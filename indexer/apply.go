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
	// Mark is the generation of the snapshot that the write is part of, see [Indexer.Mark].
	// The mark of what is held is raised to it even if the write is not applied.
	Mark uint64

	// Applied reports that the store was changed: the write was newer, or forced.
	Applied bool
	// Held reports that something was held under the key before.
	Held bool
	// OldHead is the state that was held before.
	OldHead listwatch.Head
	// Old is the object that was held before.
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
func (x *Indexer[T]) Apply(version string, writes []Write[T]) {
	x.report(func() []*Fault {
		x.write.RLock()
		defer x.write.RUnlock()
		return x.applyLocked(version, writes)
	}())
}

// report hands faults on. No lock may be held.
func (x *Indexer[T]) report(faults []*Fault) {
	for _, fault := range faults {
		x.options.OnError(fault)
	}
}

// applyLocked needs the write lock, shared or alone, and takes the other.
func (x *Indexer[T]) applyLocked(version string, writes []Write[T]) []*Fault {
	staged, faults := x.stage(writes)
	defer x.giveBack(staged)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.version = version
	for i := range writes {
		x.commitLocked(&writes[i], i, staged)
	}
	return faults
}

// commitLocked makes write i. It needs both locks.
func (x *Indexer[T]) commitLocked(w *Write[T], i int, staged *staging[T]) {
	hash, number := staged.hashes[i], numberOf(w.Head.ResourceVersion)
	pos, held := x.find(hash, w.Head.Key)
	w.Applied, w.Held = !w.Delete, held
	if held {
		w.OldHead, w.Old = x.head(pos), x.objects[pos]
		w.Applied = w.Force || w.supersedes(number, &x.rows[pos])
	} else {
		var none T
		w.OldHead, w.Old = listwatch.Head{}, none
	}
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
		x.objects[pos] = w.Object
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
