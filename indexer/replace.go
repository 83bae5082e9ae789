package indexer

import "github.com/seed3bce33ad/listwatch"

// Put stores the objects as one change, whatever versions are held. Afterwards the store equals
// no version of the collection.
//
// It is for stores that are filled by hand; what comes from a source goes through
// [Indexer.Apply].
func (x *Indexer[T]) Put(objects ...T) {
	writes := make([]Write[T], len(objects))
	for i, o := range objects {
		writes[i] = Write[T]{Head: x.headOf(o), Object: o, Force: true, NoOld: true}
	}
	x.Apply("", writes)
	x.Pack()
}

// Delete takes out what is held under the keys as one change, whatever its version.
// Afterwards the store equals no version of the collection.
func (x *Indexer[T]) Delete(keys ...listwatch.Key) {
	writes := make([]Write[T], len(keys))
	for i, k := range keys {
		writes[i] = Write[T]{Head: listwatch.Head{Key: k}, Delete: true, Force: true, NoOld: true}
	}
	x.Apply("", writes)
	x.Pack()
}

// Replace makes the store equal to the objects, which are the collection at version, as one
// change: readers never see a half-filled store. An object that is held in the very same state
// keeps its pointer; versions that are older than the held ones are believed. Of objects with
// one key the newest counts, or the last when they can't be ordered.
func (x *Indexer[T]) Replace(version string, objects ...T) {
	writes := make([]Write[T], 0, len(objects))
	listed := make(map[listwatch.Key]int, len(objects)) // index into writes
	for _, o := range objects {
		w := Write[T]{Head: x.headOf(o), Object: o, Force: true, NoOld: true}
		i, again := listed[w.Head.Key]
		if !again {
			listed[w.Head.Key] = len(writes)
			writes = append(writes, w)
		} else if !listwatch.Newer(writes[i].Head.ResourceVersion, w.Head.ResourceVersion) {
			writes[i] = w
		}
	}
	x.report(func() []error {
		x.write.Lock()
		defer x.write.Unlock()
		errs := x.applyLocked(version, x.differenceLocked(writes, listed))
		return append(errs, x.packLocked()...)
	}())
}

// differenceLocked leaves out of writes what is held already, and adds the deletes of what is
// held and not listed. It needs the write lock.
func (x *Indexer[T]) differenceLocked(writes []Write[T], listed map[listwatch.Key]int) []Write[T] {
	changes := writes[:0]
	for _, w := range writes {
		pos, ok := x.find(x.table.hash(w.Head.Key), w.Head.Key)
		if !ok || w.Head.ResourceVersion == "" || x.head(pos) != w.Head {
			changes = append(changes, w)
		}
	}
	for pos := range x.rows {
		held := x.head(uint32(pos))
		if _, ok := listed[held.Key]; !ok {
			changes = append(changes, Write[T]{Head: held, Delete: true, Force: true, NoOld: true})
		}
	}
	return changes
}
