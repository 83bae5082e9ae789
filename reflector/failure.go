package reflector

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// Why a call was ended by its reflector. Each is the cause of the call's context.
var (
	// errDeadline: a watch has lived for its timeout and the slack.
	errDeadline = fmt.Errorf("%w: the watch has outlived its timeout", listwatch.ErrIdle)
	// errNoProgress: a list or initial stream has delivered nothing for its timeout.
	errNoProgress = fmt.Errorf("%w within the timeout", listwatch.ErrIdle)
	// errRelist: the watch makes room for a list.
	errRelist = errors.New("a list is due")
	// errSuperseded: the comparing list makes room for another list.
	errSuperseded = fmt.Errorf("%w: another list has begun", listwatch.ErrStopped)
)

// errIgnores: a call of the source that did not return after its context was done.
var errIgnores = errors.New("the source ignores its context")

// errWentBack: an event of a version below the position.
var errWentBack = fmt.Errorf("%w: the version went back", listwatch.ErrProtocol)

// class is what the machine needs to know about how a call ended.
type class uint8

const (
	classClean       class = iota // no error
	classIdle                     // given up after a deadline
	classTimeout                  // the source's own timeout
	classExpired                  // 410
	classTooNew                   // too large version
	classBusy                     // 429
	classDenied                   // 401, 403, 404
	classUnsupported              // the request is not offered in this form
	classDrift                    // a list has contradicted the watch
	classBad                      // an answer that cannot be taken, a panic, a failing sink
	classNetwork                  // the server was not reached, or the connection was lost
	classServer                   // 5xx, and what cannot be told
)

// maxHint bounds what a server may ask to wait: nobody freezes a cache by a header.
const maxHint = time.Hour

// failure is an error as the machine sees it.
type failure struct {
	class class
	event bool          // an ERROR event of a running watch
	hint  time.Duration // what the server asks to wait, at most maxHint
}

// classify sorts an error by the sentinels of the root package and the status code.
func classify(err error) failure {
	if err == nil {
		return failure{}
	}
	var status *listwatch.StatusError
	var f failure
	code := 0
	if errors.As(err, &status) {
		f.event, f.hint, code = status.Event, min(status.RetryAfter, maxHint), status.Code
	}
	f.class = classOf(err, code)
	return f
}

func classOf(err error, code int) class {
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	var panicked *panicError
	var sunk *sinkError
	var timeout interface {
		error
		Timeout() bool
	}
	switch {
	case errors.As(err, &sunk) && is(listwatch.ErrDrift):
		return classDrift
	case errors.As(err, &sunk), errors.As(err, &panicked):
		return classBad
	case code == 410 || is(listwatch.ErrExpired):
		return classExpired
	case is(listwatch.ErrTooLargeVersion):
		return classTooNew
	case code == 429 || is(listwatch.ErrTooManyRequests):
		return classBusy
	case is(listwatch.ErrUnauthorized, listwatch.ErrForbidden, listwatch.ErrNotFound):
		return classDenied
	case is(listwatch.ErrIdle):
		return classIdle
	case is(listwatch.ErrUnsupported):
		return classUnsupported
	case is(listwatch.ErrDecode, listwatch.ErrTooLarge, listwatch.ErrProtocol, listwatch.ErrWrongKind):
		return classBad
	case code != 0:
		return classServer
	case errors.As(err, &timeout) && timeout.Timeout():
		return classTimeout
	case is(listwatch.ErrUnavailable):
		return classNetwork
	}
	return classServer
}

// sentinels are the classes of failure that Health names, the more special ones first.
var sentinels = [...]error{
	listwatch.ErrExpired, listwatch.ErrTooLargeVersion, listwatch.ErrTooManyRequests, listwatch.ErrUnauthorized,
	listwatch.ErrForbidden, listwatch.ErrNotFound, listwatch.ErrIdle, listwatch.ErrUnsupported, listwatch.ErrDecode,
	listwatch.ErrProtocol, listwatch.ErrWrongKind, listwatch.ErrTooLarge, listwatch.ErrDrift, listwatch.ErrUnavailable,
	listwatch.ErrStopped,
}

func sentinelOf(err error) error {
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return sentinel
		}
	}
	return nil
}

// panicError is a panic of somebody else's code that was caught.
type panicError struct {
	where string
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.where, e.value) }

func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

// sinkError is a failure of the sink, told apart from those of the source it passes through.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return "sink: " + e.err.Error() }
func (e *sinkError) Unwrap() error { return e.err }
