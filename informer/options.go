package informer

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// Options configure an [Informer]. The zero value works. They are not looked at again after New.
type Options struct {
	// Name is what the informer is called in errors, logs and statistics. Defaults to
	// "informer".
	Name string
	// Clock tells the time and runs timers. Defaults to the real clock.
	Clock clock.Clock
	// Logger gets warnings and errors. Defaults to slog.Default().
	Logger *slog.Logger
	// OnError hears each failure at once: of the source, of a handler, of an index function, of
	// Run. It may call the informer. It must not block; a panic in it is logged. Defaults to none.
	OnError func(error)
	// CrashOnPanic lets a panic of a handler, or of a function that waits for a signal, end the
	// process, instead of reporting it and going on. Defaults to false.
	CrashOnPanic bool
	// Resync is the default of HandlerOptions.Resync. Defaults to never.
	Resync time.Duration
	// SyncTimeout bounds WaitForSync. Negative: no bound. Defaults to 2 minutes.
	SyncTimeout time.Duration
	// Reflector configures reading from the source. Its Name, Clock, Logger and OnError
	// default to those above.
	Reflector reflector.Options
	// Queue configures the queue between reading and storing. Defaults to its zero value.
	Queue deltafifo.Options
	// Index configures the store. Its Name and OnError default to those above. With Index.Compact
	// objects are held encoded: see the package's comment for what that means.
	Index indexer.Options
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "informer"
	}
	o.Clock = timing.Or(o.Clock)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.SyncTimeout == 0 {
		o.SyncTimeout = 2 * time.Minute
	}
	if o.Resync == 0 {
		o.Resync = -1
	}
	if o.Reflector.Name == "" {
		o.Reflector.Name = o.Name
	}
	if o.Reflector.Clock == nil {
		o.Reflector.Clock = o.Clock
	}
	if o.Reflector.Logger == nil {
		o.Reflector.Logger = o.Logger
	}
	return o
}

// kept is what an informer needs of its Options for as long as it lives; see there.
type kept struct {
	Name         string
	Clock        clock.Clock
	Logger       *slog.Logger
	OnError      func(error)
	IndexOnError func(error)
	CrashOnPanic bool
	Compact      bool // storage
	Resync       time.Duration
	SyncTimeout  time.Duration
}

func (o Options) kept() kept {
	return kept{
		Name: o.Name, Clock: o.Clock, Logger: o.Logger, OnError: o.OnError, IndexOnError: o.Index.OnError,
		CrashOnPanic: o.CrashOnPanic, Compact: o.Index.Compact != nil, Resync: o.Resync, SyncTimeout: o.SyncTimeout,
	}
}

// report logs an error and passes it to OnError.
func (o *kept) report(err error) {
	var panicked *PanicError
	if errors.As(err, &panicked) {
		o.Logger.Error("panic", "informer", o.Name, "error", err, "stack", string(panicked.Stack))
	} else {
		o.Logger.Error("failure", "informer", o.Name, "error", err)
	}
	o.tell(o.OnError, err)
}

// tell passes an error to f, and survives it.
func (o *kept) tell(f func(error), err error) {
	if f == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			o.Logger.Error("OnError panicked", "informer", o.Name, "error", errors.Join(err, fmt.Errorf("%v", p)))
		}
	}()
	f(err)
}
