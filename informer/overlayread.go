package informer

import (
	"slices"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// Get returns the object under k.
func (o *Overlay[T]) Get(k listwatch.Key) (T, bool) {
	o.mu.Lock()
	w, ok := o.writtenLocked(k)
	if ok {
		o.mu.Unlock()
		return w.object, true
	}
	state, ok := o.i.store.Reader().State(k)
	ok = ok && !o.hiddenLocked(state.Head)
	o.mu.Unlock()
	if !ok {
		var none T
		return none, false
	}
	return state.Object(), true
}

// List returns all objects: those that the cache shows, then own writes in the order in which they
// were told.
func (o *Overlay[T]) List() []T {
	objects, written := o.over(o.i.store.Reader().States)
	return append(objects, written...)
}

// Look returns the objects that have the value in an index of the overlay's informer, as
// [indexer.Index.Get] does, with own writes behind: one that moves an object to another value is
// found under that alone. The index function is called for each own write that the cache does not
// show.
func Look[T listwatch.Object, V comparable](o *Overlay[T], ix *indexer.Index[T, V], value V) []T {
	objects, written := o.over(func() []indexer.State[T] { return ix.States(value) })
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
func (o *Overlay[T]) over(cached func() []indexer.State[T]) (objects, written []T) {
	states, written := o.overStates(cached)
	objects = slices.Grow(objects, len(states))
	for i := range states {
		objects = append(objects, states[i].Object())
	}
	return objects, written
}

func (o *Overlay[T]) overStates(cached func() []indexer.State[T]) (states []indexer.State[T], written []T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.written.Keys() {
		if w, ok := o.writtenLocked(k); ok {
			written = append(written, w.object)
		}
	}
	states = slices.DeleteFunc(cached(), func(s indexer.State[T]) bool {
		return o.written.Contains(s.Head.Key) || o.hiddenLocked(s.Head)
	})
	return states, written
}

// writtenLocked returns the own write that stands in front of the cache, and drops one that is
// not to be believed any more.
func (o *Overlay[T]) writtenLocked(k listwatch.Key) (own[T], bool) {
	w, ok := o.written.Peek(k)
	if ok && (o.shownLocked(w.head) || !o.i.now().Before(w.due)) { // the store may be a batch ahead of follow
		o.written.Remove(k)
		return own[T]{}, false
	}
	return w, ok
}

// hiddenLocked reports whether what the cache holds was deleted.
func (o *Overlay[T]) hiddenLocked(held listwatch.Head) bool {
	gone, ok := o.deleted[held.Key]
	if !ok || !o.i.now().Before(gone.due) || gone.answered && o.passedLocked(gone.head.ResourceVersion) {
		return false
	}
	return covers(gone.head, held)
}
