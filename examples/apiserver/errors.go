package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// errNoPath is the answer to a path that belongs to no group.
	errNoPath = errors.New("404 page not found")
	// errTimeout is the answer to a request that took longer than its client wanted.
	errTimeout = errors.New("request did not complete within the allotted timeout")
)

// timeoutBody is JSON, but the API sends it as text and without its kind.
const timeoutBody = `{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within ` +
	`the allotted timeout","reason":"Timeout","details":{},"code":504}` + "\n"

func failure(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{},
	}}
}

func errNoResource() error {
	return failure(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

func errMethod() error {
	return failure(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource")
}

func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

// statusOf returns the Status that tells of an error.
func statusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return status
}

func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case r.Context().Err() != nil:
		// Nobody is there to read an answer: the client has gone, or the server is being
		// closed. What was begun must not look complete.
		panic(http.ErrAbortHandler)
	case errors.Is(err, errNoPath):
		writeText(w, http.StatusNotFound, err.Error()+"\n")
		return
	case errors.Is(err, errTimeout):
		writeText(w, http.StatusGatewayTimeout, timeoutBody)
		return
	}
	status := statusOf(err)
	if status.Code == http.StatusInternalServerError {
		s.options.Logger.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	if err := s.writeJSON(w, r, int(status.Code), status); err != nil {
		panic(http.ErrAbortHandler)
	}
}
