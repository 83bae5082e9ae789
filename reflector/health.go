package reflector

import (
	"strconv"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// State is what a reflector is doing.
type State uint8

// The states of a reflector.
const (
	// Idle: Run has not been called.
	Idle State = iota
	// Listing: the collection is being read.
	Listing
	// Watching: a watch is open, or being opened.
	Watching
	// Waiting: something failed, and the next attempt is at Health.NextRetry.
	Waiting
	// Stopped: Run has ended.
	Stopped
)

// String returns the name of the state, such as "Watching".
func (s State) String() string {
	names := [...]string{"Idle", "Listing", "Watching", "Waiting", "Stopped"}
	if int(s) < len(names) {
		return names[s]
	}
	return "State(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText returns what String does, so that a State reads well in JSON.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Health is how a reflector is at one moment. Times are zero for what has not happened.
type Health struct {
	// State is what it is doing, since Since.
	State State
	Since time.Time
	// Synced: the first list is complete and in the sink.
	Synced bool
	// Position is the version that the sink has reached: everything up to it was taken.
	Position string
	// ConnectedSince is when the present watch was asked for; zero while there is none.
	ConnectedSince time.Time
	// LastEvent is when an object was last delivered by a watch, LastProgress when a page, an
	// event or a bookmark last was taken.
	LastEvent, LastProgress time.Time
	// LastError is the last failure, which happened at LastErrorTime; LastErrorClass is the
	// sentinel of package listwatch that it wraps, nil when it is none of them. They stay
	// when the failure is over: see Failures.
	LastError      error
	LastErrorClass error
	LastErrorTime  time.Time
	// Failures counts the failures since a list was completed, or an event or bookmark taken.
	Failures int
	// NextRetry is when the next attempt is due, while State is Waiting.
	NextRetry time.Time
	// Lists, Watches, Probes and Compares count requests: lists by complete reads begun, not
	// by pages.
	Lists, Watches, Probes, Compares uint64
	// Gaps counts what watches delivered and could not be taken; what went back counts once at each
	// position.
	Gaps uint64
	// Gap: something that a watch delivered was lost, and no list has repaired it yet.
	Gap bool
	// Restores counts the restored servers whose state was believed.
	Restores uint64
	// Abandoned counts the calls of the source that ignored their context.
	Abandoned uint64
	// Refused lists objects that could not be taken and have not been since, at most
	// [MaxRefused], in no particular order.
	Refused []Refusal
}

// Refusal is an object that could not be taken. What was held under its key is still held.
type Refusal struct {
	// Key and ResourceVersion are what could be read of its head.
	Key             listwatch.Key
	ResourceVersion string
	// Reason is why.
	Reason error
	// Time is when it was refused last.
	Time time.Time
}

// MaxRefused bounds the refusals that are remembered. Health.Refused has no more.
const MaxRefused = 100
