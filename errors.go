package listwatch

import (
	"errors"
	"fmt"
	"time"
)

// The classes of failure. Test for them with [errors.Is]; what a server answered is in a
// [*StatusError] around them, found with [errors.As].
var (
	// ErrExpired: the version or continue token is older than the server's history (410).
	ErrExpired = errors.New("version expired")
	// ErrTooLargeVersion: the version is newer than anything the server has seen (504).
	ErrTooLargeVersion = errors.New("version too large")
	// ErrTooManyRequests: the server asks to come back later (429).
	ErrTooManyRequests = errors.New("too many requests")
	// ErrUnauthorized: the server does not accept the credentials (401).
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden: the credentials don't allow it (403).
	ErrForbidden = errors.New("forbidden")
	// ErrNotFound: there is no such collection (404).
	ErrNotFound = errors.New("not found")
	// ErrUnavailable: the server failed or could not be reached (5xx).
	ErrUnavailable = errors.New("unavailable")
	// ErrUnsupported: the server does not offer this form of request (400, 405, 406, 422).
	ErrUnsupported = errors.New("not supported")
	// ErrDecode: bytes that could not be read as what they should be.
	ErrDecode = errors.New("cannot decode")
	// ErrProtocol: a readable answer that breaks the protocol: an unknown event type, an
	// object without name or version, a version that goes back.
	ErrProtocol = errors.New("protocol violation")
	// ErrWrongKind: an object of another kind than asked for, a Table among them.
	ErrWrongKind = errors.New("wrong kind")
	// ErrTooLarge: an object over the size limit.
	ErrTooLarge = errors.New("object too large")
	// ErrIdle: a request made no progress within its deadline and was given up.
	ErrIdle = errors.New("no progress")
	// ErrDrift: a list beside a watch has shown that the watch does not tell what the server holds.
	// Another one is to go on from the position.
	ErrDrift = errors.New("a list has contradicted the watch")
	// ErrStopped: the part was stopped, or closed, and takes nothing more.
	ErrStopped = errors.New("stopped")
	// ErrRunning: the part runs already.
	ErrRunning = errors.New("already running")
	// ErrBadKey: a string that is not a key.
	ErrBadKey = errors.New("bad key")
	// ErrIncomparable: two versions that cannot be ordered.
	ErrIncomparable = errors.New("versions cannot be ordered")
)

// StatusError is a failure that a server answered, as an HTTP status or as an ERROR event.
type StatusError struct {
	// Code is the HTTP status code, of the answer or in the event's Status.
	Code int
	// Reason is the machine-readable reason of a Kubernetes Status, such as "Expired"; may be "".
	Reason string
	// Message is for people.
	Message string
	// RetryAfter is how long the server asks to wait; 0 when it does not say.
	RetryAfter time.Duration
	// Event is true when the failure came as an ERROR event of a running watch.
	Event bool
	// Kind is the class, one of the Err values of this package; may be nil.
	Kind error
}

// Error describes the failure.
func (e *StatusError) Error() string {
	where := "status"
	if e.Event {
		where = "ERROR event"
	}
	s := fmt.Sprintf("%s %d", where, e.Code)
	if e.Reason != "" {
		s += " " + e.Reason
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(" (retry after %s)", e.RetryAfter)
	}
	return s
}

// Unwrap returns the class, so that errors.Is(err, ErrExpired) works.
func (e *StatusError) Unwrap() error { return e.Kind }
