package reflector

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/internal/backoff"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// FirstList says how the first read of the collection is done.
type FirstList uint8

// The ways of a first read.
const (
	// FirstStream asks for the objects as the initial events of the watch that goes on behind
	// them. When the source does not offer that, or does not finish it, FirstPages follows.
	FirstStream FirstList = iota
	// FirstPages lists the latest state in pages.
	FirstPages
	// FirstAny lists any state that the server has at hand, by version "0". It is cheap for
	// the server, and may be older than what was seen before this process started: don't use
	// it for a controller that must not act on an old state.
	FirstAny
)

// String returns the name of the way, such as "FirstStream".
func (f FirstList) String() string {
	names := [...]string{"FirstStream", "FirstPages", "FirstAny"}
	if int(f) < len(names) {
		return names[f]
	}
	return "FirstList(" + strconv.Itoa(int(f)) + ")"
}

// The pages of a first list, the shortest watch of the library's own choice and what chance adds.
const (
	firstPage           = 500
	defaultWatchTimeout = 180 * time.Second
	defaultWatchJitter  = 50 * time.Second
)

// Options are the settings of a [Reflector]. The zero value works.
type Options struct {
	// Name stands in errors and logs. Defaults to "objects".
	Name string
	// Clock is the source of time. Defaults to the real clock.
	Clock clock.Clock
	// Logger is where failures and turns of the state are told. Defaults to slog.Default().
	Logger *slog.Logger
	// OnError hears each failure at once, from the goroutine that met it, which waits: it must
	// be quick. It may be called from two goroutines at the same time. Defaults to none.
	OnError func(error)
	// Rand returns numbers in [0, 1) for all jitter, and is called from several goroutines.
	// Defaults to math/rand/v2.
	Rand func() float64

	// FirstList is the way of the first read. Defaults to FirstStream.
	FirstList FirstList
	// PageSize is the number of objects a page, for all lists. Defaults to pages of 500 for
	// the first list and none for later ones, which servers answer from memory as a whole.
	PageSize int64

	// WatchTimeout is how long a watch is asked to live at least. Defaults to 180 s: load
	// balancers cut idle streams at 240 s.
	WatchTimeout time.Duration
	// WatchJitter is what chance adds to it at most. Defaults to 50 s with the default
	// WatchTimeout, else to none.
	WatchJitter time.Duration
	// WatchSlack is how long after its timeout a watch is given up when the server has not
	// ended it. Defaults to 10 s.
	WatchSlack time.Duration
	// IdleTimeout is how long a list may go without progress; time that the sink takes doesn't
	// count. Negative: for ever. Defaults to 60 s.
	IdleTimeout time.Duration
	// StreamTimeout is the same for initial events, up to their end mark. Negative: for ever.
	// Defaults to 10 s.
	StreamTimeout time.Duration

	// BackoffBase is the first pause after a failure; each further one doubles it, and chance
	// adds up to as much again. Defaults to 800 ms.
	BackoffBase time.Duration
	// BackoffMax is the longest pause before chance. Defaults to 30 s.
	BackoffMax time.Duration
	// BackoffReset is how long there must be no failure for the pauses to start afresh.
	// Defaults to 2 min.
	BackoffReset time.Duration

	// Relist is the period of the comparing list beside the watch; chance takes up to a tenth
	// off. When nothing shows that the watch works, an ordinary list takes the watch's place.
	// Negative: never. Defaults to 1 h.
	Relist time.Duration
	// ServerErrorsBeforeList is for how long watches may fail by server errors (5xx, and
	// errors of no known class), or end at once without news, before a list is tried instead.
	// Negative: for ever. Defaults to 5 min.
	ServerErrorsBeforeList time.Duration
	// Grace is how long a call of the source may take to return when its context is done.
	// Then it is abandoned: reported, and its later callbacks refused. A program that may get no
	// CPU for that long wants more. Defaults to 100 ms.
	Grace time.Duration
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "objects"
	}
	o.Clock = timing.Or(o.Clock)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.WatchTimeout == 0 && o.WatchJitter == 0 {
		o.WatchJitter = defaultWatchJitter
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.WatchTimeout, defaultWatchTimeout},
		{&o.WatchSlack, 10 * time.Second},
		{&o.IdleTimeout, time.Minute},
		{&o.StreamTimeout, 10 * time.Second},
		{&o.BackoffBase, 800 * time.Millisecond},
		{&o.BackoffMax, 30 * time.Second},
		{&o.BackoffReset, 2 * time.Minute},
		{&o.Relist, time.Hour},
		{&o.ServerErrorsBeforeList, 5 * time.Minute},
		{&o.Grace, 100 * time.Millisecond},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return o
}

func (o Options) validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(o.FirstList > FirstAny, "FirstList is %d, which is none of the constants", o.FirstList)
	fault(o.PageSize < 0, "PageSize is negative: %d", o.PageSize)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"WatchTimeout", o.WatchTimeout}, {"WatchJitter", o.WatchJitter}, {"WatchSlack", o.WatchSlack},
		{"BackoffBase", o.BackoffBase}, {"BackoffMax", o.BackoffMax}, {"BackoffReset", o.BackoffReset},
		{"Grace", o.Grace},
	} {
		fault(d.value < 0, "%s is negative: %s", d.name, d.value)
	}
	fault(o.BackoffMax < o.BackoffBase, "BackoffMax %s is less than BackoffBase %s", o.BackoffMax, o.BackoffBase)
	return errors.Join(faults...)
}

func (o *Options) pause() backoff.Policy {
	return backoff.Policy{Base: o.BackoffBase, Max: o.BackoffMax, Reset: o.BackoffReset, Jitter: 1}
}
