package informer

import (
	"maps"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// Wrote notes an object as the server answered a create or an update, or a delete after which it is
// still there. It keeps the object. Writes to one object must be told in the order in which they
// were made. One that is not newer than what the cache shows is not kept.
//
// A state that leaves what the informer selects never comes: tell [Overlay.Deleted] then.
func (o *Overlay[T]) Wrote(object T) {
	w := o.own(object)
	key, version := w.head.Key, w.head.ResourceVersion
	o.mu.Lock()
	defer o.mu.Unlock()
	o.newest = later(o.newest, version)
	if gone, ok := o.deleted[key]; ok {
		if listwatch.Newer(gone.head.ResourceVersion, version) {
			return
		}
		o.undeleteLocked(key)
	}
	was, again := o.written.Peek(key)
	if again && listwatch.Newer(was.head.ResourceVersion, version) {
		return
	}
	if o.shownLocked(w.head) {
		o.written.Remove(key) // the store may be a batch ahead of follow
		return
	}
	if !again && o.written.Len() == o.o.Size {
		_, oldest, _ := o.written.RemoveOldest()
		o.loseLocked(oldest.head.ResourceVersion, oldest.due)
	}
	o.written.Add(key, w)
	if o.i.store.Reader().Version() == "" {
		// The store is ahead of the version. It may have stored this and dropped it again.
		o.loseLocked(version, w.due)
	}
}

// Deleted notes that an object was deleted, or was written so that it leaves what the informer
// selects. Last is what the server answered, or else the last state that was read from here. That
// object is hidden, with those that had its name before; one that comes after it is not. Tell it
// also when the server answered that there is no such object.
//
// A version newer than what is shown here is taken for that of the deletion, and ends it when the
// cache has passed it: an object that stays for its finalizers or for a grace is shown again then.
// Without that, an object is hidden until the cache holds it no more, and for OverlayOptions.Expire
// at most. One that has to be seen meanwhile must not be told, but waited for.
func (o *Overlay[T]) Deleted(last T) {
	g := o.own(last)
	var none T
	g.object = none
	key := g.head.Key
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := g.head.ResourceVersion; o.newest == "" || listwatch.Newer(v, o.newest) {
		o.newest = v // unless it is one that the cache has long shown
	}
	held, _ := o.i.store.Reader().Head(key)
	if was, ok := o.written.Peek(key); ok {
		held = was.head
		if differ(was.head, g.head) && listwatch.Newer(was.head.ResourceVersion, g.head.ResourceVersion) {
			return // it was deleted before the one that was written
		}
		g.head.ResourceVersion = later(was.head.ResourceVersion, g.head.ResourceVersion)
		o.written.Remove(key)
	}
	g.answered = listwatch.Newer(g.head.ResourceVersion, o.version) &&
		(held.ResourceVersion == "" || listwatch.Newer(g.head.ResourceVersion, held.ResourceVersion))
	if !o.hidesLocked(g) {
		return
	}
	if o.deleted == nil {
		o.deleted = make(map[listwatch.Key]own[T])
	}
	o.deleted[key] = g
	if len(o.deleted) > o.i.store.Reader().Len()+o.o.Size {
		o.sweepLocked(g.due)
	}
}

func (o *Overlay[T]) own(object T) own[T] {
	return own[T]{
		head:   listwatch.Head{Key: listwatch.KeyOf(object), UID: o.i.uid(object), ResourceVersion: object.GetResourceVersion()},
		object: object,
		due:    o.i.now().Add(o.o.Expire),
	}
}

// loseLocked notes that reads may lack a write until the cache has passed version.
func (o *Overlay[T]) loseLocked(version string, due time.Time) {
	if !listwatch.Newer(version, o.version) {
		return
	}
	o.lost = later(o.lost, version)
	if due.After(o.lostUntil) {
		o.lostUntil = due
	}
}

// sweepLocked makes room for deletions: those go that hide nothing, and then some of objects that
// the cache does not hold yet. What was told since is newer than they are.
func (o *Overlay[T]) sweepLocked(due time.Time) {
	maps.DeleteFunc(o.deleted, func(_ listwatch.Key, g own[T]) bool { return !o.hidesLocked(g) })
	room := o.i.store.Reader().Len() + o.o.Size/2
	for k, g := range o.deleted {
		if len(o.deleted) <= room {
			return
		}
		if !o.holds(g.head) {
			delete(o.deleted, k)
			o.loseLocked(o.newest, due)
		}
	}
}

// holds reports whether the cache holds what was deleted.
func (o *Overlay[T]) holds(gone listwatch.Head) bool {
	held, ok := o.i.store.Reader().Head(gone.Key)
	return ok && covers(gone, held)
}

// passedLocked reports whether the cache shows everything up to version.
func (o *Overlay[T]) passedLocked(version string) bool {
	return notNewer(version, o.version) || notNewer(version, o.i.store.Reader().Version())
}

// notNewer reports whether version a is known not to be newer than b.
func notNewer(a, b string) bool {
	order, err := listwatch.CompareVersions(a, b)
	return err == nil && order <= 0
}

// shownLocked reports whether the cache shows this state or a later one.
func (o *Overlay[T]) shownLocked(h listwatch.Head) bool {
	held, ok := o.i.store.Reader().Head(h.Key)
	if !ok {
		return o.passedLocked(h.ResourceVersion)
	}
	return notNewer(h.ResourceVersion, held.ResourceVersion) || o.passedLocked(h.ResourceVersion)
}

// hidesLocked reports whether a deletion is of something that the cache holds or may still get.
func (o *Overlay[T]) hidesLocked(gone own[T]) bool {
	if !o.i.now().Before(gone.due) {
		return false
	}
	return !o.passedLocked(gone.head.ResourceVersion) || !gone.answered && o.holds(gone.head)
}

func (o *Overlay[T]) undeleteLocked(k listwatch.Key) {
	if delete(o.deleted, k); len(o.deleted) == 0 {
		o.deleted = nil // a map does not shrink
	}
}
