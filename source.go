package listwatch

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// ListerWatcher is a source of objects: a collection that can be listed and watched.
//
// Both methods deliver through a callback and return when they are done: no channel to
// drain, no Stop to forget. What is promised to the source about each: it may block (that is
// the back-pressure), and an error that it returns ends the call and is returned by it.
// What a source promises about each:
//   - it is called from one goroutine at a time, never under a lock of the source, and never
//     after the call has returned;
//   - the batch is what one read yielded, never waited for; the slice is only lent, the
//     objects are given away;
//   - events of one version come in one batch;
//   - the versions of objects and of the collection are of one order, and a list's is not older than
//     those of its objects, unless it stands for several collections: then it is the oldest of theirs.
//     An event that does not move such a position has no version of its own.
//
// A call returns soon after its ctx is done, with ctx's error or cause. Failures are told by
// errors that wrap one of this package's classes. A source never retries: its caller does.
// Both methods may be called from several goroutines at once.
//
// What a source must be able to do: show its latest state, fail with [ErrTooLargeVersion] when
// it is asked for a version that it has not reached, and replay in order what came after a
// version, or fail with [ErrExpired] before any event when it does not hold that any more.
// [MatchExact] and initial events it may refuse with [ErrUnsupported]; Limit, Known and Timeout
// it may leave alone. Bookmarks are not required, but of a source that stays silent for two
// watches a reflector asks by a list whether its versions have gone back.
type ListerWatcher[T Object] interface {
	// List delivers the objects of the collection, or of one page of it, in any order.
	// The returned ListMeta holds the version of the whole list.
	List(ctx context.Context, o ListOptions, each func(...T) error) (ListMeta, error)
	// Watch delivers what changes after o.ResourceVersion until the source ends the stream
	// (nil), ctx is done, or something fails.
	Watch(ctx context.Context, o WatchOptions, each func(...Event[T]) error) error
}

// Match says which version of the collection a list may show.
type Match uint8

// The values of [ListOptions.Match].
const (
	// MatchLatest: the state at the time of the request. ResourceVersion is not looked at.
	MatchLatest Match = iota
	// MatchNotOlder: a state at least as new as ResourceVersion; "0" means any state.
	MatchNotOlder
	// MatchExact: the state at ResourceVersion.
	MatchExact
)

// String returns the name of the value, such as "MatchLatest".
func (m Match) String() string {
	switch m {
	case MatchLatest:
		return "MatchLatest"
	case MatchNotOlder:
		return "MatchNotOlder"
	case MatchExact:
		return "MatchExact"
	}
	return "Match(" + strconv.Itoa(int(m)) + ")"
}

// ListOptions say what to list.
type ListOptions struct {
	// Match says how ResourceVersion is meant. With Continue it is not looked at.
	Match Match
	// ResourceVersion is the version that Match speaks of.
	ResourceVersion string
	// Limit asks for a page of at most so many objects; 0: everything at once.
	Limit int64
	// Continue is the token of the page before, from [ListMeta.Continue].
	Continue string
	// Known reports that this very state is held already and has been noted as listed, so the
	// source may leave the body undecoded and the object out. Nil: nothing is known. It may be
	// called from another goroutine than each, and counts as progress. A source that never
	// calls it stays correct.
	Known func(Head) bool
	// Refused is told of an object that cannot be taken: undecodable, over the size limit, of
	// a wrong kind. As much of Head is filled in as could be read. A nil result means: go on
	// without it; an error ends the call. A nil Refused refuses to go on.
	Refused func(Head, error) error
}

// WatchOptions say what to watch.
type WatchOptions struct {
	// ResourceVersion is the version behind which the watch starts. With InitialEvents it is
	// the version that the initial state must not be older than; may be empty then.
	ResourceVersion string
	// InitialEvents asks for the objects that exist, as Added events, and then one [Synced].
	// A source that does not offer this returns an error that wraps [ErrUnsupported].
	InitialEvents bool
	// Timeout asks the server to end the stream after so long. It is a hint: the caller ends
	// the call by ctx, too. 0: the server's own.
	Timeout time.Duration
	// Known is as in [ListOptions]; it is asked during the initial events alone.
	Known func(Head) bool
	// Refused is as in [ListOptions]; it is also told of events of an unknown type.
	Refused func(Head, error) error
}

// ListMeta is what a list, or a page of it, says about itself.
type ListMeta struct {
	// ResourceVersion is the version of the collection that was listed, the same on each page.
	// It is never empty nor "0", which mean something else in requests.
	ResourceVersion string
	// Continue is the token of the next page; empty on the last one.
	Continue string
	// Remaining is the number of objects on later pages, or 0 when that is not known.
	Remaining int64
}

// Funcs is a [ListerWatcher] made of two functions. Both must be set; a nil one fails with
// [ErrUnsupported].
//
// A collection that can only be listed is polled by a WatchFunc that waits for the period and
// then returns [ErrExpired], which brings the next list.
type Funcs[T Object] struct {
	// ListFunc implements List.
	ListFunc func(ctx context.Context, o ListOptions, each func(...T) error) (ListMeta, error)
	// WatchFunc implements Watch.
	WatchFunc func(ctx context.Context, o WatchOptions, each func(...Event[T]) error) error
	// InitialEvents says that WatchFunc honours [WatchOptions.InitialEvents]. Otherwise such
	// a call fails with [ErrUnsupported] without reaching it.
	InitialEvents bool
}

// List calls ListFunc.
func (f Funcs[T]) List(ctx context.Context, o ListOptions, each func(...T) error) (ListMeta, error) {
	if f.ListFunc == nil {
		return ListMeta{}, fmt.Errorf("%w: no ListFunc", ErrUnsupported)
	}
	return f.ListFunc(ctx, o, each)
}

// Watch calls WatchFunc.
func (f Funcs[T]) Watch(ctx context.Context, o WatchOptions, each func(...Event[T]) error) error {
	if f.WatchFunc == nil {
		return fmt.Errorf("%w: no WatchFunc", ErrUnsupported)
	}
	if o.InitialEvents && !f.InitialEvents {
		return fmt.Errorf("%w: initial events", ErrUnsupported)
	}
	return f.WatchFunc(ctx, o, each)
}
