package informer

import (
	"slices"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/seed3bce33ad/listwatch"
)

const (
	// maxWaiters is how many versions have a signal of their own.
	maxWaiters = 1 << 16
	// keepOpaque is how many versions that are no numbers are remembered after they were reached.
	keepOpaque = 1024
)

// waiter is a signal that waits for a version.
type waiter struct {
	version string
	signal  *listwatch.Signal
}

// waiters are the signals that wait for versions. Their number is bounded: a source that is away
// for a day, or versions of another collection, which never come, must not cost memory for each
// write.
type waiters struct {
	// ordered are at most maxWaiters, ordered by version.
	ordered []waiter
	// rest is shared by the versions that are newer than all of ordered when that is full, and
	// waits for the newest of them.
	rest waiter
	// opaque are versions that are no numbers, reached by equality alone. Passed are those of them
	// that were reached last: the write of one may be answered later than the watch tells it. Both
	// are nil until there is one.
	opaque *simplelru.LRU[string, *listwatch.Signal]
	passed *simplelru.LRU[string, struct{}]
}

// someWaitersLocked returns those that there are, or a place for some.
func (i *Informer[T]) someWaitersLocked() *waiters {
	if i.waiters == nil {
		i.waiters = &waiters{}
	}
	return i.waiters
}

// wait returns the signal for a version.
func (w *waiters) wait(version string) *listwatch.Signal {
	if isOpaque(version) {
		return w.waitExactly(version)
	}
	at, found := slices.BinarySearchFunc(w.ordered, version, func(o waiter, version string) int {
		c, _ := listwatch.CompareVersions(o.version, version)
		return c
	})
	switch {
	case found:
	case len(w.ordered) < maxWaiters:
		w.ordered = slices.Insert(w.ordered, at, waiter{version, &listwatch.Signal{}})
	case at == maxWaiters:
		if w.rest.signal == nil {
			w.rest.signal = &listwatch.Signal{}
		}
		w.rest.version = later(w.rest.version, version)
		return w.rest.signal
	}
	return w.ordered[at].signal // of the next newer version when there is no place
}

func (w *waiters) waitExactly(version string) *listwatch.Signal {
	signal := &listwatch.Signal{}
	if w.passed != nil && w.passed.Contains(version) {
		signal.Fire()
		return signal
	}
	if w.opaque == nil {
		w.opaque, _ = simplelru.NewLRU[string, *listwatch.Signal](maxWaiters, nil) // fails for no size alone
	}
	if waiting, ok := w.opaque.Peek(version); ok {
		return waiting
	}
	w.opaque.Add(version, signal)
	return signal
}

// reached removes and returns the signals of all versions that are not newer than version. W may be
// nil when version is a number.
func (w *waiters) reached(version string) []waiter {
	if w == nil {
		return nil
	}
	if isOpaque(version) {
		return w.reachedExactly(version)
	}
	n := 0
	for n < len(w.ordered) && !listwatch.Newer(w.ordered[n].version, version) {
		n++
	}
	out := slices.Clone(w.ordered[:n])
	clear(w.ordered[:n])
	if w.ordered = w.ordered[n:]; len(w.ordered) == 0 {
		w.ordered = nil
	}
	if w.rest.signal != nil && !listwatch.Newer(w.rest.version, version) {
		out = append(out, w.rest)
		w.rest = waiter{}
	}
	return out
}

// reachedExactly does so for a version that is no number, and remembers it.
func (w *waiters) reachedExactly(version string) []waiter {
	if w.passed == nil {
		w.passed, _ = simplelru.NewLRU[string, struct{}](keepOpaque, nil)
	}
	w.passed.Add(version, struct{}{})
	if w.opaque == nil {
		return nil
	}
	signal, ok := w.opaque.Peek(version)
	if !ok {
		return nil
	}
	w.opaque.Remove(version)
	return []waiter{{version, signal}}
}

// all removes and returns everything; w may be nil.
func (w *waiters) all() []waiter {
	if w == nil {
		return nil
	}
	out := w.ordered
	if w.rest.signal != nil {
		out = append(out, w.rest)
	}
	if w.opaque != nil {
		for _, signal := range w.opaque.Values() {
			out = append(out, waiter{signal: signal})
		}
	}
	*w = waiters{}
	return out
}

func isOpaque(version string) bool {
	_, err := listwatch.CompareVersions(version, "0")
	return err != nil
}
