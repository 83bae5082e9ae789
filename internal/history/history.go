// Package history keeps a keyed collection as it is and as it was at each version that is not
// compacted yet.
package history

import (
	"slices"
	"sort"
)

// Change is one write of one key.
type Change[K comparable, S any] struct {
	// Version is the version of the collection that the write made.
	Version uint64
	// Key is what was written.
	Key K
	// Was is the state before, nil when the key was not there.
	Was *S
	// Now is the state after, nil when the key is gone.
	Now *S
	// Hidden is a note of the user's; the history does not look at it.
	Hidden bool
}

// History is the collection. States are only pointed at, never copied. It is not safe for
// concurrent use. Make one with [New].
//
// Invariants: log is in order of version, each version at most once; it holds every change
// after floor; current is the state at version. So any state from floor on can be had by
// undoing changes.
type History[K comparable, S any] struct {
	current map[K]*S
	log     []Change[K, S]
	version uint64
	floor   uint64
	limit   int
}

// New returns an empty collection at version, which keeps at most limit changes.
func New[K comparable, S any](version uint64, limit int) *History[K, S] {
	return &History[K, S]{current: make(map[K]*S), version: version, floor: version, limit: limit}
}

// Version returns the newest version.
func (h *History[K, S]) Version() uint64 { return h.version }

// Floor returns the oldest version whose state can be had.
func (h *History[K, S]) Floor() uint64 { return h.floor }

// Get returns the newest state of a key, nil when it is not there.
func (h *History[K, S]) Get(key K) *S { return h.current[key] }

// Advance raises the version by n without a change.
func (h *History[K, S]) Advance(n uint64) { h.version += n }

// Add applies c, whose Version must be newer than the newest one.
func (h *History[K, S]) Add(c Change[K, S]) {
	h.version = c.Version
	if c.Now != nil {
		h.current[c.Key] = c.Now
	} else {
		delete(h.current, c.Key)
	}
	h.log = append(h.log, c)
	if len(h.log) > h.limit {
		h.drop(len(h.log) - h.limit)
	}
}

// Compact forgets the changes up to version, which must not be newer than the newest one.
func (h *History[K, S]) Compact(version uint64) {
	h.drop(h.index(version))
	h.floor = max(h.floor, version)
}

// drop forgets the oldest n changes. The array behind the log shrinks as soon as it grows
// again.
func (h *History[K, S]) drop(n int) {
	if n > 0 {
		h.floor = max(h.floor, h.log[n-1].Version)
		clear(h.log[:n])
		h.log = h.log[n:]
	}
}

// index returns how many changes of the log are at or below version.
func (h *History[K, S]) index(version uint64) int {
	return sort.Search(len(h.log), func(i int) bool { return h.log[i].Version > version })
}

// After appends up to n changes that came after version to changes. The version must not be
// below the floor.
func (h *History[K, S]) After(version uint64, n int, changes []Change[K, S]) []Change[K, S] {
	unread := h.log[h.index(version):]
	return append(changes, unread[:min(n, len(unread))]...)
}

// At returns the states at version, in no order. The version must not be below the floor.
func (h *History[K, S]) At(version uint64) []*S {
	undone := make(map[K]*S)
	for _, c := range slices.Backward(h.log[h.index(version):]) {
		undone[c.Key] = c.Was
	}
	states := make([]*S, 0, len(h.current)+len(undone))
	for key, s := range h.current {
		if _, changed := undone[key]; !changed {
			states = append(states, s)
		}
	}
	for _, s := range undone {
		if s != nil {
			states = append(states, s)
		}
	}
	return states
}

// Rewind makes version the newest one and forgets what came after. The version must not be
// below the floor.
func (h *History[K, S]) Rewind(version uint64) {
	keep := h.index(version)
	for _, c := range slices.Backward(h.log[keep:]) {
		if c.Was != nil {
			h.current[c.Key] = c.Was
		} else {
			delete(h.current, c.Key)
		}
	}
	clear(h.log[keep:])
	h.log = h.log[:keep]
	h.version = version
}
