package fakes

import (
	"errors"
	"fmt"

	"github.com/seed3bce33ad/listwatch"
)

// The classes of failed writes that the library itself has no use for. Test for them with
// [errors.Is]; they come in a [*listwatch.StatusError] of code 409.
var (
	// ErrConflict: the object has another version or identity than the write asked for.
	ErrConflict = errors.New("conflict")
	// ErrAlreadyExists: there is an object of that key.
	ErrAlreadyExists = errors.New("already exists")
)

// Status returns the error that stands for an HTTP status of a server, with the reason that
// a Kubernetes server gives with it and the class that belongs to it: 504 is
// [listwatch.ErrTooLargeVersion], any other 5xx [listwatch.ErrUnavailable], 409 [ErrConflict].
// It is meant for [Source.Fail], and the caller may change the result.
func Status(code int, message string) *listwatch.StatusError {
	e := &listwatch.StatusError{Code: code, Message: message}
	switch code {
	case 400:
		e.Reason, e.Kind = "BadRequest", listwatch.ErrUnsupported
	case 401:
		e.Reason, e.Kind = "Unauthorized", listwatch.ErrUnauthorized
	case 403:
		e.Reason, e.Kind = "Forbidden", listwatch.ErrForbidden
	case 404:
		e.Reason, e.Kind = "NotFound", listwatch.ErrNotFound
	case 405:
		e.Reason, e.Kind = "MethodNotAllowed", listwatch.ErrUnsupported
	case 406:
		e.Reason, e.Kind = "NotAcceptable", listwatch.ErrUnsupported
	case 409:
		e.Reason, e.Kind = "Conflict", ErrConflict
	case 410:
		e.Reason, e.Kind = "Expired", listwatch.ErrExpired
	case 422:
		e.Reason, e.Kind = "Invalid", listwatch.ErrUnsupported
	case 429:
		e.Reason, e.Kind = "TooManyRequests", listwatch.ErrTooManyRequests
	case 504:
		e.Reason, e.Kind = "Timeout", listwatch.ErrUnavailable
	default:
		if code >= 500 {
			e.Kind = listwatch.ErrUnavailable
		}
	}
	return e
}

func notFound(key listwatch.Key) error {
	return Status(404, fmt.Sprintf("%q not found", key))
}

func alreadyExists(key listwatch.Key) error {
	e := Status(409, fmt.Sprintf("%q already exists", key))
	e.Reason, e.Kind = "AlreadyExists", ErrAlreadyExists
	return e
}

func conflict(key listwatch.Key, what, asked, is string) error {
	return Status(409, fmt.Sprintf("%q has %s %q, not %q", key, what, is, asked))
}

func tooOld(asked, oldest uint64) *listwatch.StatusError {
	return Status(410, fmt.Sprintf("too old resource version: %d (%d)", asked, oldest))
}

func tooLarge(asked, current uint64) *listwatch.StatusError {
	e := Status(504, fmt.Sprintf("Timeout: Too large resource version: %d, current: %d", asked, current))
	e.RetryAfter, e.Kind = tooLargeRetry, listwatch.ErrTooLargeVersion
	return e
}
