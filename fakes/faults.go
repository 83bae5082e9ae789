package fakes

import (
	"slices"
	"strconv"

	"github.com/seed3bce33ad/listwatch"
)

// Verb names a method of [Source] that can be made to fail.
type Verb uint8

// The verbs. The zero value is none of them.
const (
	VerbList Verb = iota + 1
	VerbWatch
	VerbGet
	VerbCreate
	VerbUpdate
	VerbDelete
)

// String returns the name of the verb, such as "List".
func (v Verb) String() string {
	switch v {
	case VerbList:
		return "List"
	case VerbWatch:
		return "Watch"
	case VerbGet:
		return "Get"
	case VerbCreate:
		return "Create"
	case VerbUpdate:
		return "Update"
	case VerbDelete:
		return "Delete"
	}
	return "Verb(" + strconv.Itoa(int(v)) + ")"
}

// Fail lets the next calls of a verb fail, one call an error, behind those that are waiting
// already. A nil error lets one call through. [Status] makes what a server would answer.
func (s *Source[T]) Fail(v Verb, errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, err := range errs {
		o := order{Fault: Fault{Kind: FaultFail, Verb: v, N: 1}, end: always(err)}
		s.faults.waiting = append(s.faults.waiting, o)
	}
}

// Cut ends all running watches at once with err; nil is a clean end, as at a server's timeout.
// Events that they have not read are for the next watch.
func (s *Source[T]) Cut(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutLocked(err)
}

func (s *Source[T]) cutLocked(err error) {
	s.tellLocked(VerbWatch, order{Fault: Fault{Kind: FaultCut}, end: always(err)})
	s.wakeLocked()
}

// CutNext ends the next watch to begin once it has delivered a number of object events,
// initial ones included, with err; nil is a clean end. Further calls are for the watches
// after that one.
func (s *Source[T]) CutNext(events int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.next = append(s.faults.next, order{Fault: Fault{Kind: FaultCut, N: max(events, 0)}, end: always(err)})
}

// Drop hides the next n changes from all watches, also from later ones: silent loss, which
// only a list can show.
func (s *Source[T]) Drop(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.waiting = slices.DeleteFunc(s.faults.waiting, func(o order) bool { return o.Kind == FaultDrop })
	if n > 0 {
		s.faults.waiting = append(s.faults.waiting, order{Fault: Fault{Kind: FaultDrop, N: n}})
	}
}

// Bookmark lets each running watch send a bookmark once it has sent all that came before.
func (s *Source[T]) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tellLocked(VerbWatch, order{Fault: Fault{Kind: FaultRepeatBookmark, N: 1}})
	s.wakeLocked()
}

// Pause stops all watches, running and new ones, from sending anything until Resume: a
// connection that hangs. Their timeouts go on.
func (s *Source[T]) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastLocked(order{Fault: Fault{Kind: FaultHang, Verb: VerbWatch}})
}

// Resume ends what Pause began; what happened meanwhile is sent then.
func (s *Source[T]) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(func(o *order) bool { return o.Kind == FaultHang && o.For == 0 })
}

// Lag lets lists with [listwatch.MatchNotOlder] be answered by a replica that has got only to
// version: with an old state, or with [listwatch.ErrTooLargeVersion] when they ask for a newer
// one. An empty version ends it.
func (s *Source[T]) Lag(version string) error {
	var v uint64
	if version != "" {
		var err error
		if v, err = parse(version); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v != 0 {
		if err := s.heldLocked(v); err != nil {
			return err
		}
	}
	lag := Fault{Kind: FaultLag, Verb: VerbList}
	s.endLocked(func(o *order) bool { return o.Fault == lag })
	if v != 0 {
		s.faults.lasting = append(s.faults.lasting, &order{Fault: lag, version: v, stop: func() {}})
	}
	return nil
}

// Restore takes the server back to an older version, as from a backup: what came after is
// forgotten, the next write gets the version after it, and running watches end cleanly.
// Identities are not used twice. A version that is compacted is [listwatch.ErrExpired], one
// from the future [listwatch.ErrTooLargeVersion].
func (s *Source[T]) Restore(version string) error {
	v, err := parse(version)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.heldLocked(v); err != nil {
		return err
	}
	s.restoreLocked(v)
	return nil
}

func (s *Source[T]) restoreLocked(version uint64) {
	s.history.Rewind(version)
	s.restores++
	s.snapshots = nil
	s.cutLocked(nil)
}

var _ listwatch.ListerWatcher[*Object] = (*Source[*Object])(nil)
