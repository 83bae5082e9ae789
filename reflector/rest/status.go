package rest

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

const (
	statusBytes  = 64 << 10 // the most of an error's body that is read
	messageBytes = 1 << 10  // the most of a text that is kept as message
	tooLarge     = "Too large resource version"
)

// status is the Status of the Kubernetes API. Some servers leave kind and apiVersion out.
type status struct {
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Code    int    `json:"code"`
	Details struct {
		RetryAfterSeconds int64 `json:"retryAfterSeconds"`
		Causes            []struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"causes"`
	} `json:"details"`
}

// codes are those of the reasons, for a Status without a code.
var codes = map[string]int{
	"BadRequest": http.StatusBadRequest, "Unauthorized": http.StatusUnauthorized, "Forbidden": http.StatusForbidden,
	"NotFound": http.StatusNotFound, "MethodNotAllowed": http.StatusMethodNotAllowed, "NotAcceptable": http.StatusNotAcceptable,
	"Gone": http.StatusGone, "Expired": http.StatusGone, "Invalid": http.StatusUnprocessableEntity,
	"TooManyRequests": http.StatusTooManyRequests, "InternalError": http.StatusInternalServerError,
	"ServiceUnavailable": http.StatusServiceUnavailable, "Timeout": http.StatusGatewayTimeout, "ServerTimeout": http.StatusInternalServerError,
}

// failed reads an answer that is not 200, and closes its body.
func failed(response *http.Response, now time.Time) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, statusBytes))
	discard(response.Body)
	e := parseStatus(text, response.StatusCode)
	e.RetryAfter = max(e.RetryAfter, retryAfter(response.Header.Get("Retry-After"), now))
	return e
}

// eventStatus reads the object of an ERROR event.
func eventStatus(object []byte) error {
	e := parseStatus(object, 0)
	e.Event = true
	return e
}

// parseStatus reads a Status, or a text that stands in its place. A code that is not 0 wins
// over the one in the Status.
func parseStatus(text []byte, code int) *listwatch.StatusError {
	var s status
	var mistyped *json.UnmarshalTypeError // one member of another type: the others have been read
	if err := json.Unmarshal(text, &s); err != nil && !errors.As(err, &mistyped) {
		s = status{Message: string(text)}
	}
	if code == 0 {
		code = s.Code
	}
	if code == 0 {
		code = codes[s.Reason]
	}
	e := &listwatch.StatusError{
		Code: code, Reason: s.Reason, Message: shortened(s.Message), Kind: class(code, s),
		RetryAfter: seconds(s.Details.RetryAfterSeconds),
	}
	if e.Message == "" && s.Reason == "" {
		e.Message = shortened(string(text))
	}
	return e
}

// class returns the class of a failure. The code decides, but for what has no code of its own.
func class(code int, s status) error {
	switch {
	case isTooLarge(code, s):
		return listwatch.ErrTooLargeVersion
	case code == http.StatusGone || s.Reason == "Expired" || s.Reason == "Gone":
		return listwatch.ErrExpired
	}
	switch code {
	case http.StatusUnauthorized:
		return listwatch.ErrUnauthorized
	case http.StatusForbidden:
		return listwatch.ErrForbidden
	case http.StatusNotFound:
		return listwatch.ErrNotFound
	case http.StatusTooManyRequests:
		return listwatch.ErrTooManyRequests
	case http.StatusRequestTimeout:
		return listwatch.ErrUnavailable
	}
	switch {
	case code >= 500:
		return listwatch.ErrUnavailable
	case code >= 400:
		return listwatch.ErrUnsupported
	}
	return listwatch.ErrProtocol
}

// isTooLarge recognises a version from the server's future, which has no code of its own: by
// its cause, or, of older servers, by its message. This is the one place that looks at a text.
func isTooLarge(code int, s status) bool {
	for _, cause := range s.Details.Causes {
		if cause.Reason == "ResourceVersionTooLarge" || strings.HasPrefix(cause.Message, tooLarge) {
			return true
		}
	}
	return (code == http.StatusGatewayTimeout || s.Reason == "Timeout") && strings.Contains(s.Message, tooLarge)
}

// retryAfter reads the header of that name: a number of seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(strings.TrimSpace(header), 10, 64); err == nil {
		return seconds(n)
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

func seconds(n int64) time.Duration {
	const most = int64(math.MaxInt64 / time.Second)
	return time.Duration(min(max(n, 0), most)) * time.Second
}

func shortened(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd"))
	if len(text) > messageBytes {
		text = strings.ToValidUTF8(text[:messageBytes], "") + "..."
	}
	return text
}
