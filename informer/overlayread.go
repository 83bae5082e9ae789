package informer

import (
	"iter"
	"slices"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// Get returns the object under k.
func (o *Overlay[T]) Get(k listwatch.Key) (T, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w, ok := o.writtenLocked(k); ok {
		return w.object, true
	}
	object, ok := o.i.store.Get(k)
	if ok && o.hiddenLocked(k, object) {
		var none T
		return none, false
	}
	return object, ok
}

// List returns all objects: those that the cache shows, then own writes in the order in which they
// were told.
func (o *Overlay[T]) List() []T {
	objects, written := o.over(o.i.store.Reader().All())
	return append(objects, written...)
}

// Look returns the objects that have the value in an index of the overlay's informer, as
// [indexer.Index.Get] does, with own writes behind: one that moves an object to another value is
// found under that alone. The index function is called for each own write that the cache does not
// show.
func Look[T listwatch.Object, V comparable](o *Overlay[T], ix *indexer.Index[T, V], value V) []T {
	objects, written := o.over(ix.All(value))
	for _, object := range written {
		if slices.Contains(ix.ValuesOf(object), value) {
			objects = append(objects, object)
		}
	}
	return objects
}

// Caught returns the signal that fires once the cache shows every own write told so far: that of
// [Informer.Reached] for the newest. A deletion whose version the server did not tell is not waited
// for.
func (o *Overlay[T]) Caught() *listwatch.Signal {
	o.mu.Lock()
	newest := o.newest
	o.mu.Unlock()
	return o.i.Reached(newest)
}

// Whole reports whether reads show every own write. It is false while the cache does not show one
// that had to make room for others, and while the cache is in the middle of changes, so that it may
// have shown one already and lost it again. A step that counts on its own writes asks first, and
// waits for [Overlay.Caught] when they are not all there:
//
//	if !own.Whole() {
//		return workqueue.Result{Await: own.Caught()}, nil
//	}
//
// A write that has expired is not missed: the cache is believed again.
func (o *Overlay[T]) Whole() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !listwatch.Newer(o.lost, o.version) || !o.i.now().Before(o.lostUntil)
}

// over returns what the cache shows without what was written since, and what was written.
func (o *Overlay[T]) over(cached iter.Seq2[listwatch.Key, T]) (objects, written []T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.written.Keys() {
		if w, ok := o.writtenLocked(k); ok {
			written = append(written, w.object)
		}
	}
	for k, object := range cached {
		if !o.written.Contains(k) && !o.hiddenLocked(k, object) {
			objects = append(objects, object)
		}
	}
	return objects, written
}

// writtenLocked returns the own write that stands in front of the cache, and drops one that is
// not to be believed any more.
func (o *Overlay[T]) writtenLocked(k listwatch.Key) (own[T], bool) {
	w, ok := o.written.Peek(k)
	if ok && (o.passedLocked(w.head.ResourceVersion) || !o.i.now().Before(w.due)) {
		o.written.Remove(k)
		return own[T]{}, false
	}
	return w, ok
}

// hiddenLocked reports whether what the cache holds under k was deleted.
func (o *Overlay[T]) hiddenLocked(k listwatch.Key, object T) bool {
	gone, ok := o.deleted[k]
	if !ok || !o.i.now().Before(gone.due) || gone.answered && o.passedLocked(gone.head.ResourceVersion) {
		return false
	}
	return covers(gone.head, listwatch.Head{UID: o.i.uid(object), ResourceVersion: object.GetResourceVersion()})
}
