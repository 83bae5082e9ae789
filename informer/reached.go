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

// add remembers a signal.
func (w *waiters) add(n waiter) {
	if _, err := listwatch.CompareVersions(n.version, "0"); err != nil {
		w.opaque = append(w.opaque, n)
		return
	}
	at, _ := slices.BinarySearchFunc(w.ordered, n, func(a, b waiter) int {
		if listwatch.Newer(a.version, b.version) {
			return 1
		}
		return -1 // equal ones too, so that n goes behind them
	})
	w.ordered = slices.Insert(w.ordered, at, n)
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
