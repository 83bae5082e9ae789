package informer

import (
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// waiter is a signal that waits for a version.
type waiter struct {
	version string
	signal  *listwatch.Signal
}

// waiters are ordered by version. Versions that are no numbers stand at the end, in the order in
// which they came; they are reached by equality alone.
type waiters struct {
	ordered []waiter
	opaque  []waiter
}

// wait returns the signal for a version.
func (w *waiters) wait(version string) *listwatch.Signal {
	n := waiter{version, &listwatch.Signal{}}
	if _, err := listwatch.CompareVersions(version, "0"); err != nil {
		at := slices.IndexFunc(w.opaque, func(o waiter) bool { return o.version == version })
		if at >= 0 {
			return w.opaque[at].signal
		}
		w.opaque = append(w.opaque, n)
		return n.signal
	}
	at, found := slices.BinarySearchFunc(w.ordered, version, func(o waiter, version string) int {
		c, _ := listwatch.CompareVersions(o.version, version)
		return c
	})
	if found {
		return w.ordered[at].signal
	}
	w.ordered = slices.Insert(w.ordered, at, n)
	return n.signal
}

// reached removes and returns the signals of all versions that are not newer than version.
func (w *waiters) reached(version string) []waiter {
	n := 0
	for n < len(w.ordered) {
		if c, err := listwatch.CompareVersions(w.ordered[n].version, version); err != nil || c > 0 {
			break
		}
		n++
	}
	out := slices.Clone(w.ordered[:n])
	w.ordered = slices.Delete(w.ordered, 0, n)
	w.opaque = slices.DeleteFunc(w.opaque, func(o waiter) bool {
		if o.version == version {
			out = append(out, o)
		}
		return o.version == version
	})
	return out
}

// all removes and returns everything.
func (w *waiters) all() []waiter {
	out := append(w.ordered, w.opaque...)
	w.ordered, w.opaque = nil, nil
	return out
}
