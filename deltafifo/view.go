package deltafifo

import "github.com/seed3bce33ad/listwatch"

// view is what the store will hold under a key once everything handed out and queued has been
// applied to it. "Is it newer", "is it the same identity", "is it held" are asked of it alone.
// The zero value: nothing is held, and nothing is known of a deletion.
type view[T listwatch.Object] struct {
	// head is the state held, or the deletion.
	head listwatch.Head
	// held: head is a live state; object is its body if body is true, else the store has it.
	held, body bool
	object     T
	// gone: head is a deletion that is queued or in flight.
	gone bool
}

// apply follows the store's rules for a write, so that folding deltas the store has applied
// already changes nothing: the store may be read at any time while a batch is in flight.
func (v *view[T]) apply(d *Delta[T]) {
	if d.Type != Deleted {
		if !v.held || d.Force || supersedes(d.Head.ResourceVersion, v.head.ResourceVersion) {
			*v = view[T]{head: d.Head, held: true, body: true, object: d.Object}
		}
		return
	}
	if !v.held || d.Force || deletes(d.Head, v.head) {
		*v = view[T]{head: d.Head, gone: true}
	}
}

// accepts reports whether a state of that version would be news: nothing is known of the key,
// or what is known is older, or the two cannot be ordered.
func (v *view[T]) accepts(version string) bool {
	return !v.held && !v.gone || supersedes(version, v.head.ResourceVersion)
}

// is reports whether exactly the state h is held.
func (v *view[T]) is(h listwatch.Head) bool {
	return v.held && v.head.ResourceVersion == h.ResourceVersion && !otherIdentity(v.head, h)
}

// viewLocked returns the view of a key. A generation other than 0 marks the store's entry.
func (q *DeltaFIFO[T]) viewLocked(k listwatch.Key, generation uint64) (view[T], *item[T]) {
	var hash uint32
	if q.items.Len() > 0 {
		hash = q.items.Hash(k)
	}
	return q.foldLocked(k, hash, generation)
}

// foldLocked is viewLocked of a key whose hash is known. It folds what is queued and in flight over
// what the store holds.
func (q *DeltaFIFO[T]) foldLocked(k listwatch.Key, hash uint32, generation uint64) (view[T], *item[T]) {
	var v view[T]
	if q.store != nil {
		v.head, v.held = q.store.Mark(k, generation)
	}
	it := q.items.Get(hash, k)
	if it == nil {
		return v, nil
	}
	flight, queued := q.partsLocked(it)
	for i := range flight {
		v.apply(&flight[i])
	}
	for i := range queued {
		v.apply(&queued[i])
	}
	// The version of a deletion from before a restore says nothing about the states after it.
	if v.gone && it.epoch != q.position.epoch {
		v = view[T]{}
	}
	return v, it
}

// supersedes reports whether version a may take the place of b: it is newer, or the two differ
// and cannot be ordered.
func supersedes(a, b string) bool {
	c, err := listwatch.CompareVersions(a, b)
	return err != nil || c > 0
}

// deletes reports whether the deletion takes away the held state. One of another identity
// must be known to be newer, if the held one has a version.
func deletes(deletion, held listwatch.Head) bool {
	if otherIdentity(deletion, held) && held.ResourceVersion != "" {
		return listwatch.Newer(deletion.ResourceVersion, held.ResourceVersion)
	}
	return !listwatch.Newer(held.ResourceVersion, deletion.ResourceVersion)
}

func otherIdentity(a, b listwatch.Head) bool {
	return a.UID != b.UID && a.UID != "" && b.UID != ""
}

// contradicts reports whether a listed state cannot be of the history of the held one, if the list
// is not older than that: it is older, or another object of the same version.
func contradicts(listed, held listwatch.Head) bool {
	return listwatch.Newer(held.ResourceVersion, listed.ResourceVersion) ||
		held.ResourceVersion == listed.ResourceVersion && otherIdentity(held, listed)
}
