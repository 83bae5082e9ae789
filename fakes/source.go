package fakes

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/history"
	"github.com/seed3bce33ad/listwatch/internal/identity"
)

const (
	// batchSize is how many objects or events are read under the lock at once.
	batchSize = 256
	// tooLargeRetry is what a server asks to wait when it has not seen a version yet.
	tooLargeRetry = time.Second
	// lastBookmark is how long before its end a watch sends a bookmark.
	lastBookmark = 2 * time.Second
	// keptSnapshots is how many sorted states are kept for the next pages of lists.
	keptSnapshots = 2
)

// Source is a versioned server in memory: a [listwatch.ListerWatcher] with the verbs to write.
//
// It keeps versions, identities, history, pages, bookmarks, selections, deletions and errors
// as a Kubernetes API server does; where it can be told otherwise, [Options] say so. It never
// keeps what it was given nor gives away what it keeps. It has no goroutine: lists and watches
// run in their callers'. A watch reads the shared history at its own pace; one that has fallen
// out of it is ended, as a server does with a slow reader.
//
// All methods are safe for concurrent use. The zero value is not usable, use [New].
type Source[T listwatch.Object] struct {
	o     Options[T]
	stamp func(T, Stamp) T
	uid   func(T) string

	// mu guards everything below. It is never held while each, a hook or a context's
	// function is called, but it is while stamp and the functions of Options are on a write.
	mu      sync.Mutex
	history *history.History[listwatch.Key, state[T]]
	uids    uint64
	// wake is closed and forgotten at the next event of any kind; nil when nobody waits.
	wake chan struct{}
	// snapshots are the latest sorted states that were listed.
	snapshots []snapshot[T]
	// restores counts the times that history was rewritten.
	restores uint64
	// calls are the lists and watches that run.
	calls map[*call]struct{}
	// tokens counts the continue tokens that were given out.
	tokens uint64
	faults faults
}

// snapshot is a sorted state of the collection. It is never changed.
type snapshot[T listwatch.Object] struct {
	version uint64
	states  []*state[T]
}

// New returns an empty server. T is inferred from stamp, which returns a deep copy of an
// object with the stamp written into it; it must be safe for concurrent use. [StampObject] and
// [StampMeta] are such functions. New panics when stamp is nil or o is invalid.
func New[T listwatch.Object](stamp func(object T, s Stamp) T, o Options[T]) *Source[T] {
	if stamp == nil {
		panic("fakes: New without stamp")
	}
	if err := o.validate(); err != nil {
		panic(fmt.Sprintf("fakes: %v", err))
	}
	o = o.withDefaults()
	return &Source[T]{
		o:       o,
		stamp:   stamp,
		uid:     identity.Of[T](),
		history: history.New[listwatch.Key, state[T]](o.Version, o.History),
		calls:   make(map[*call]struct{}),
	}
}

// Select returns a view of the collection that shows only what match reports, beside what
// [Options.Select] does: the same server asked with a selector. An object that leaves the
// selection is told as Deleted, with the contents that last matched and the new version.
func (s *Source[T]) Select(match func(T) bool) listwatch.ListerWatcher[T] {
	if all := s.o.Select; all != nil {
		return &view[T]{source: s, match: func(o T) bool { return all(o) && match(o) }}
	}
	return &view[T]{source: s, match: match}
}

// view is a source seen through a selector; a nil match selects everything.
type view[T listwatch.Object] struct {
	source *Source[T]
	match  func(T) bool
}

// Version returns the version of the collection, which the next write will pass.
func (s *Source[T]) Version() string { return format(s.newest()) }

// Objects returns copies of all objects, selected or not, in the order of a list.
func (s *Source[T]) Objects() []T {
	s.mu.Lock()
	states := s.history.At(s.history.Version())
	s.mu.Unlock()
	sortStates(states)
	objects := make([]T, len(states))
	for i, st := range states {
		objects[i] = s.copyOf(st)
	}
	return objects
}

// Watches returns the number of watches that are running.
func (s *Source[T]) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watchesLocked()
}

// Advance raises the version of the collection by n without a change: what other collections'
// writes do on a server with one version for all.
func (s *Source[T]) Advance(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.Advance(n)
	s.wakeLocked()
}

// Compact forgets the changes up to version: lists of older states and watches from before it
// fail with [listwatch.ErrExpired], unread watches end. A version that is newer than the
// newest one is an error that wraps [listwatch.ErrTooLargeVersion].
func (s *Source[T]) Compact(version string) error {
	v, err := parse(version)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v > s.history.Version() {
		return tooLarge(v, s.history.Version())
	}
	s.history.Compact(v)
	s.wakeLocked()
	return nil
}

// copyOf returns a copy of a state to give away.
func (s *Source[T]) copyOf(st *state[T]) T { return s.stamp(st.object, st.stamp) }

func (s *Source[T]) head(st *state[T]) listwatch.Head {
	return listwatch.Head{Key: st.key, UID: st.stamp.UID, ResourceVersion: st.stamp.ResourceVersion}
}

func (s *Source[T]) wakeLocked() {
	if s.wake != nil {
		close(s.wake)
		s.wake = nil
	}
}

func (s *Source[T]) waiterLocked() <-chan struct{} {
	if s.wake == nil {
		s.wake = make(chan struct{})
	}
	return s.wake
}

// newest returns the version of the collection.
func (s *Source[T]) newest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.Version()
}

// await blocks until version is there, for at most Options.FreshWait, and returns the newest
// version that is served: to a verb by a replica that may lag, or without one by the store.
func (s *Source[T]) await(ctx context.Context, version uint64, replica Verb) (uint64, error) {
	due := s.o.Clock.Now().Add(s.o.FreshWait)
	bell := newAlarm(s.o.Clock)
	defer bell.stop()
	for {
		s.mu.Lock()
		served, wake := s.servedLocked(replica), s.waiterLocked()
		s.mu.Unlock()
		if served >= version {
			return served, nil
		}
		if !s.o.Clock.Now().Before(due) {
			return 0, tooLarge(version, served)
		}
		if err := bell.wait(ctx, due, wake); err != nil {
			return 0, err
		}
	}
}

// servedLocked returns the newest version that a verb is shown.
func (s *Source[T]) servedLocked(v Verb) uint64 {
	served := s.history.Version()
	if v == 0 {
		return served
	}
	if lag := s.faults.lasts(v, FaultLag); lag != nil {
		return min(served, max(lag.version, s.history.Floor()))
	}
	return served
}

// sorted returns the states at version in the order of a list.
func (s *Source[T]) sorted(version uint64) ([]*state[T], error) {
	s.mu.Lock()
	if err := s.heldLocked(version); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	i := slices.IndexFunc(s.snapshots, func(k snapshot[T]) bool { return k.version == version })
	if i >= 0 {
		states := s.snapshots[i].states
		s.mu.Unlock()
		return states, nil
	}
	states, restores := s.history.At(version), s.restores
	s.mu.Unlock()

	sortStates(states)

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.restores == restores {
		s.snapshots = append(s.snapshots, snapshot[T]{version: version, states: states})
		if len(s.snapshots) > keptSnapshots {
			s.snapshots = slices.Delete(s.snapshots, 0, 1)
		}
	}
	return states, nil
}

// heldLocked reports whether the state at version can be had.
func (s *Source[T]) heldLocked(version uint64) error {
	if version < s.history.Floor() {
		return tooOld(version, s.history.Floor())
	}
	if version > s.history.Version() {
		return tooLarge(version, s.history.Version())
	}
	return nil
}

func format(version uint64) string { return strconv.FormatUint(version, 10) }

func parse(version string) (uint64, error) {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, Status(400, fmt.Sprintf("invalid resource version: %q", version))
	}
	return v, nil
}
