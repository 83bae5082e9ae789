package informer

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// ErrOverrun ends the registration of an [EveryEvent] handler that fell further behind than
// its backlog.
var ErrOverrun = errors.New("handler fell behind its backlog")

// PanicError is a panic of a handler, or of a function that waited for a signal, as it is
// reported: recovered, unless Options.CrashOnPanic is set.
type PanicError struct {
	// Where says what was being told, such as "at default/web".
	Where string
	// Value is what the function panicked with.
	Value any
	// Stack is the stack of that moment.
	Stack []byte
}

// Error describes the panic without its stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic %s: %v", e.Where, e.Value) }

// Unwrap returns the value when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Policy says what becomes of changes that a handler is too slow for.
type Policy uint8

const (
	// Coalesce folds what a handler has not read into one change per key, once it is more
	// than its backlog behind. It then costs memory in the number of keys, however long it is
	// blocked. Until then it sees every change.
	Coalesce Policy = iota
	// EveryEvent delivers every change. A handler that is more than its backlog behind is
	// ended with [ErrOverrun]; nothing is dropped silently.
	EveryEvent
)

// String returns the name of the policy, such as "Coalesce".
func (p Policy) String() string {
	switch p {
	case Coalesce:
		return "Coalesce"
	case EveryEvent:
		return "EveryEvent"
	}
	return "Policy(" + strconv.Itoa(int(p)) + ")"
}

// HandlerOptions say how a handler is served. The zero value works.
type HandlerOptions struct {
	// Name is what the handler is called in errors and statistics. Defaults to "handler".
	Name string
	// Policy says what becomes of changes that the handler is too slow for. Defaults to
	// Coalesce.
	Policy Policy
	// Backlog is how many changes the handler may be behind, see Policy. The up to 64 changes
	// that it has taken already do not count, nor does the first list for EveryEvent. Defaults
	// to 1,024 for Coalesce and 1,048,576 for EveryEvent.
	Backlog int
	// Resync is the period after which the handler is told every object again that nothing is
	// pending for, as an Update with Resync set. Periods count from Run or AddHandler; one that
	// ends before the handler is synced, or before it has been told all of the last resync, is
	// passed over. Negative: never. Defaults to Options.Resync of the informer.
	Resync time.Duration
}

func (o HandlerOptions) withDefaults(resync time.Duration) HandlerOptions {
	if o.Name == "" {
		o.Name = "handler"
	}
	if o.Backlog == 0 {
		o.Backlog = 1024
		if o.Policy == EveryEvent {
			o.Backlog = 1 << 20
		}
	}
	if o.Resync == 0 {
		o.Resync = resync
	}
	return o
}

func (o HandlerOptions) validate() error {
	var faults []error
	if o.Policy > EveryEvent {
		faults = append(faults, fmt.Errorf("unknown %v", o.Policy))
	}
	if o.Backlog < 0 {
		faults = append(faults, fmt.Errorf("negative backlog %d", o.Backlog))
	}
	return errors.Join(faults...)
}

// HandlerStats is what a handler has been told and what waits for it.
type HandlerStats struct {
	// Name is from HandlerOptions.
	Name string
	// Delivered counts the changes told, those that ended in a panic included. It is brought up
	// to date after up to 64 changes.
	Delivered uint64
	// Pending is how many changes wait, after folding, and those not counted as delivered yet.
	Pending uint64
	// Behind is true while changes are folded because the handler is too slow.
	Behind bool
	// Panics counts the calls that panicked.
	Panics uint64
	// Synced tells whether the initial adds have been delivered.
	Synced bool
}

// registered is a delivery of any type.
type registered interface {
	remove(error)
	stats() HandlerStats
}

// Registration is one handler's membership. All methods are safe for concurrent use, also
// from inside the handler.
type Registration struct {
	of     registered
	synced listwatch.Signal
	done   listwatch.Signal

	mu  sync.Mutex
	err error // guarded by mu
}

// Remove ends the registration. The handler is not called again once a call that is under way
// has returned: wait for that with Done, but not from inside the handler. A second Remove
// does nothing.
func (r *Registration) Remove() { r.of.remove(nil) }

// Done returns a channel that is closed when the registration has ended and the last call of
// the handler has returned.
func (r *Registration) Done() <-chan struct{} { return r.done.Done() }

// Err returns why the registration ended: [ErrOverrun], the cause of its context's end, or
// listwatch.ErrStopped when the informer stopped. It is nil before that, and after Remove.
func (r *Registration) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Synced returns the signal that fires when the handler has returned from the last of its
// initial adds. It fires at once for an empty collection, and never after the end.
func (r *Registration) Synced() *listwatch.Signal { return &r.synced }

// Stats returns the numbers of this moment.
func (r *Registration) Stats() HandlerStats { return r.of.stats() }

func (r *Registration) setErr(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}
