package fakes

import (
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

// ending is how one watch is to end.
type ending struct {
	after int
	err   error
}

// faults are the failures that wait to happen. The source's lock guards them.
type faults struct {
	failures map[Verb][]error
	endings  []ending
	// cuts counts the calls of Cut; a watch that began under another count ends with cutErr.
	cuts   uint64
	cutErr error
	// bookmarks counts the calls of Bookmark; a watch sends one for each count it has not seen.
	bookmarks uint64
	paused    bool
	drops     int
	// lag is the version that a replica has reached; 0: it is up to date.
	lag uint64
}

func (f *faults) takeFailure(v Verb) error {
	queue := f.failures[v]
	if len(queue) == 0 {
		return nil
	}
	f.failures[v] = queue[1:]
	return queue[0]
}

// takeEnding returns how the watch that begins now is to end, or one that never comes.
func (f *faults) takeEnding() ending {
	if len(f.endings) == 0 {
		return ending{after: -1}
	}
	e := f.endings[0]
	f.endings = f.endings[1:]
	return e
}

func (f *faults) takeDrop() bool {
	if f.drops == 0 {
		return false
	}
	f.drops--
	return true
}

// Fail lets the next calls of a verb fail, one call an error, behind those that are waiting
// already. A nil error lets one call through. [Status] makes what a server would answer.
func (s *Source[T]) Fail(v Verb, errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.failures[v] = append(s.faults.failures[v], errs...)
}

// Cut ends all running watches at once with err; nil is a clean end, as at a server's timeout.
// Events that they have not read are for the next watch.
func (s *Source[T]) Cut(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutLocked(err)
}

func (s *Source[T]) cutLocked(err error) {
	s.faults.cuts++
	s.faults.cutErr = err
	s.wakeLocked()
}

// CutNext ends the next watch to begin once it has delivered a number of object events,
// initial ones included, with err; nil is a clean end. Further calls are for the watches
// after that one.
func (s *Source[T]) CutNext(events int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.endings = append(s.faults.endings, ending{after: max(events, 0), err: err})
}

// Drop hides the next n changes from all watches, also from later ones: silent loss, which
// only a list can show.
func (s *Source[T]) Drop(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.drops = max(n, 0)
}

// Bookmark lets each running watch send a bookmark once it has sent all that came before.
func (s *Source[T]) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.bookmarks++
	s.wakeLocked()
}

// Pause stops all watches, running and new ones, from sending anything until Resume: a
// connection that hangs. Their timeouts go on.
func (s *Source[T]) Pause() { s.pause(true) }

// Resume ends what Pause began; what happened meanwhile is sent then.
func (s *Source[T]) Resume() { s.pause(false) }

func (s *Source[T]) pause(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.paused = on
	s.wakeLocked()
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
	s.faults.lag = v
	s.wakeLocked()
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
	s.history.Rewind(v)
	s.restores++
	s.snapshots = nil
	s.cutLocked(nil)
	return nil
}

var _ listwatch.ListerWatcher[*Object] = (*Source[*Object])(nil)
