package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// status is the Status of the Kubernetes API.
type status struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   struct{} `json:"metadata"`
	Status     string   `json:"status"`
	Message    string   `json:"message,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Details    *details `json:"details,omitempty"`
	Code       int      `json:"code"`
}

type details struct {
	Causes            []cause `json:"causes,omitempty"`
	RetryAfterSeconds int64   `json:"retryAfterSeconds,omitempty"`
}

type cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// statusOf returns the JSON of a failure.
func statusOf(e *listwatch.StatusError) []byte {
	s := status{Kind: "Status", APIVersion: "v1", Status: "Failure", Message: e.Message, Reason: e.Reason, Code: e.Code}
	if wait := wholeSeconds(e.RetryAfter); wait > 0 {
		s.Details = &details{RetryAfterSeconds: wait}
	}
	if errors.Is(e, listwatch.ErrTooLargeVersion) {
		if s.Details == nil {
			s.Details = &details{}
		}
		s.Details.Causes = []cause{{Reason: "ResourceVersionTooLarge", Message: "Too large resource version"}}
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers
	}
	return text
}

func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// refuse answers with a failure, or breaks the connection when it is none that a server tells.
func (a *answer) refuse(err error) {
	var e *listwatch.StatusError
	if a.begun || !errors.As(err, &e) || a.r.Context().Err() != nil {
		a.broken = true
		return
	}
	a.begun = true
	text := append(statusOf(e), '\n')
	if e.Code == http.StatusTooManyRequests { // told before anybody knows what was asked for
		a.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text = []byte("Too many requests, please try again later.\n")
	}
	if wait := wholeSeconds(e.RetryAfter); wait > 0 {
		a.w.Header().Set("Retry-After", strconv.FormatInt(wait, 10))
	}
	a.w.WriteHeader(e.Code)
	_, _ = a.out.Write(text)
}
