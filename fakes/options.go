package fakes

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Options say how a [Source] behaves. The zero value is a server that behaves as a current
// Kubernetes API server does. Functions are called by several goroutines at once, must not
// change what they are given, and must not call the source; only [Hooks] may do that.
type Options[T listwatch.Object] struct {
	// Clock is what time is read from. Defaults to the real clock.
	Clock clock.Clock
	// Version is the version of the empty collection. Defaults to 1.
	Version uint64
	// History is how many changes are kept for watches and for lists of older versions; older
	// ones are compacted. Defaults to 10,000.
	History int
	// Select says which objects lists and watches show. Defaults to all of them.
	Select func(T) bool
	// Equal reports whether two objects of one version and identity have the same contents; a
	// write that changes nothing makes no new version. Defaults to reflect.DeepEqual.
	Equal func(a, b T) bool
	// Finalizers returns what keeps a deleted object until it has been taken away. Defaults to
	// no finalizers: a delete removes at once.
	Finalizers func(T) []string
	// Deleted returns the deletion time in an object given to [Source.Seed], zero for an object
	// that is not being deleted. Defaults to zero for all.
	Deleted func(T) time.Time
	// WatchTimeout ends watches that ask for no timeout of their own. Defaults to 30 minutes.
	WatchTimeout time.Duration
	// BookmarkEvery is the time between two bookmarks of a watch; another one comes two seconds
	// before the end. Negative: only [Source.Bookmark] sends them. Defaults to one minute.
	BookmarkEvery time.Duration
	// FreshWait is how long a list waits for a version that is not there yet before it fails
	// with [listwatch.ErrTooLargeVersion]. A Kubernetes server waits for 3 s. Defaults to 0.
	FreshWait time.Duration
	// NoInitialEvents refuses initial events with [listwatch.ErrUnsupported], as a server
	// without streaming lists does. Defaults to false.
	NoInitialEvents bool
	// ExpiredStatus answers a watch from a compacted version with an HTTP status 410 instead of
	// an ERROR event of that code. Defaults to false.
	ExpiredStatus bool
	// Hooks are called in the course of lists and watches. Defaults to none.
	Hooks Hooks
}

// Hooks are functions that a [Source] calls without holding a lock, in the goroutine of the
// caller of List or Watch. They may block (until ctx is done) and may call the source, and an
// error that they return ends the call and is returned by it. The zero value does nothing.
type Hooks struct {
	// BeforeList is called before the listed state is chosen. Defaults to nothing.
	BeforeList func(ctx context.Context, o listwatch.ListOptions) error
	// AfterList is called after the last object has been delivered and before List returns.
	// Defaults to nothing.
	AfterList func(ctx context.Context, meta listwatch.ListMeta) error
	// BeforeWatch is called before the watch is begun: what is written meanwhile is part of
	// what it replays. Defaults to nothing.
	BeforeWatch func(ctx context.Context, o listwatch.WatchOptions) error
}

func (o Options[T]) withDefaults() Options[T] {
	o.Clock = timing.Or(o.Clock)
	if o.Version == 0 {
		o.Version = 1
	}
	if o.History == 0 {
		o.History = 10_000
	}
	if o.Equal == nil {
		o.Equal = func(a, b T) bool { return reflect.DeepEqual(a, b) }
	}
	if o.Finalizers == nil {
		o.Finalizers = func(T) []string { return nil }
	}
	if o.Deleted == nil {
		o.Deleted = func(T) time.Time { return time.Time{} }
	}
	if o.WatchTimeout == 0 {
		o.WatchTimeout = 30 * time.Minute
	}
	if o.BookmarkEvery == 0 {
		o.BookmarkEvery = time.Minute
	}
	return o
}

func (o Options[T]) validate() error {
	var faults []error
	if o.History < 0 {
		faults = append(faults, fmt.Errorf("Options.History is %d, less than 0", o.History))
	}
	if o.WatchTimeout < 0 {
		faults = append(faults, fmt.Errorf("Options.WatchTimeout is %s, less than 0", o.WatchTimeout))
	}
	if o.FreshWait < 0 {
		faults = append(faults, fmt.Errorf("Options.FreshWait is %s, less than 0", o.FreshWait))
	}
	return errors.Join(faults...)
}
