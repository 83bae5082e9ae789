package rest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// Scenario 13. A version from the server's future is told by its cause, by the message behind
// "Timeout: ", or by nothing but the message, of old servers and of an ERROR event too.
func TestTooLargeVersion(t *testing.T) {
	const json = "application/json"
	shapes := []http.HandlerFunc{
		failure(504, json, `{"kind":"Status","status":"Failure","message":"Timeout: Too large resource version: 20, current: 10","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}`),
		failure(504, json, `{"kind":"Status","status":"Failure","message":"Timeout: Too large resource version: 20, current: 10","reason":"Timeout","details":{"retryAfterSeconds":1},"code":504}`),
		failure(504, json, `{"message":"Too large resource version: 20, current: 10"}`, "Retry-After", "1"),
		failure(504, "text/plain", "Too large resource version: 20, current: 10\n", "Retry-After", "1"),
		failure(504, json, `{"details":{"causes":[{"message":"Too large resource version"}]}}`, "Retry-After", "1"),
		failure(504, json, `{"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}`, "Retry-After", "1"),
	}
	s := newScript(t, append(append([]http.HandlerFunc{}, shapes...), shapes...)...)
	src := source[*Pod](s, rest.Options{})
	for range shapes {
		_, err := src.List(t.Context(), listwatch.ListOptions{Match: listwatch.MatchNotOlder, ResourceVersion: "20"}, nil)
		requireTooLarge(t, err, time.Second)
	}
	for range shapes {
		_, err := watch(src, listwatch.WatchOptions{ResourceVersion: "20", InitialEvents: true})
		requireTooLarge(t, err, time.Second)
	}
	_, err := watch(source[*Pod](newScript(t, body(`{"type":"ERROR","object":{"message":"Too large resource version: 20, current: 10","reason":"Timeout"}}`)), rest.Options{}), listwatch.WatchOptions{})
	requireTooLarge(t, err, 0)

	// A timeout of another kind is not one.
	_, _, err = list(source[*Pod](newScript(t, failure(504, json, `{"message":"Timeout: request did not complete","reason":"Timeout","code":504}`)), rest.Options{}))
	require.ErrorIs(t, err, listwatch.ErrUnavailable)
	require.NotErrorIs(t, err, listwatch.ErrTooLargeVersion)
}

func requireTooLarge(t *testing.T, err error, after time.Duration) {
	t.Helper()
	require.ErrorIs(t, err, listwatch.ErrTooLargeVersion)
	var status *listwatch.StatusError
	require.ErrorAs(t, err, &status)
	require.Equal(t, after, status.RetryAfter)
	require.Equal(t, 504, status.Code)
}

// Scenario 50, which cannot happen here as requests have no body; what remains of it: the
// larger of two hints counts, once, and the connection is used again.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	mock := clock.NewMock()
	mock.Set(now)
	for name, test := range map[string]struct {
		header, body string
		want         time.Duration
	}{
		"seconds":          {"7", "", 7 * time.Second},
		"spaces":           {" 7 ", "", 7 * time.Second},
		"date":             {now.Add(90 * time.Second).Format(http.TimeFormat), "", 90 * time.Second},
		"date gone by":     {now.Add(-time.Hour).Format(http.TimeFormat), "", 0},
		"details":          {"", `{"details":{"retryAfterSeconds":4}}`, 4 * time.Second},
		"header is larger": {"5", `{"details":{"retryAfterSeconds":4}}`, 5 * time.Second},
		"body is larger":   {"3", `{"details":{"retryAfterSeconds":4}}`, 4 * time.Second},
		"negative":         {"-3", `{"details":{"retryAfterSeconds":-4}}`, 0},
		"nonsense":         {"soon", "", 0},
		"none":             {"", "", 0},
		"huge":             {"9223372036854775807", "", 9223372036 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, failure(429, "application/json", test.body, "Retry-After", test.header), body(podList("9", "")))
			src := source[*Pod](s, rest.Options{Clock: mock})
			_, _, err := list(src)
			require.ErrorIs(t, err, listwatch.ErrTooManyRequests)
			var status *listwatch.StatusError
			require.ErrorAs(t, err, &status)
			require.Equal(t, test.want, status.RetryAfter)
			require.Len(t, s.queries(), 1, "a source never retries")
			_, _, err = list(src)
			require.NoError(t, err)
			require.Len(t, s.dialed, 1)
		})
	}
}

func TestFailureClasses(t *testing.T) {
	for _, test := range []struct {
		code int
		body string
		want error
		text string
	}{
		{400, `{"message":"field label not supported: spec.foo","reason":"BadRequest"}`, listwatch.ErrUnsupported, "field label not supported: spec.foo"},
		{408, "", listwatch.ErrUnavailable, "status 408"},
		{422, `{"message":"sendInitialEvents: Forbidden","reason":"Invalid"}`, listwatch.ErrUnsupported, "sendInitialEvents"},
		{418, "tea", listwatch.ErrUnsupported, "tea"},
		{502, "<html>bad gateway</html>", listwatch.ErrUnavailable, "<html>bad gateway</html>"},
		{200 + 4, "", listwatch.ErrProtocol, "204"},
		{304, "", listwatch.ErrProtocol, "304"},
		{500, `{"reason":"Expired"}`, listwatch.ErrExpired, "Expired"},
		{503, `{"code":"503","message":"members of other types","details":[]}`, listwatch.ErrUnavailable, "members of other types"},
		{503, `{"mess`, listwatch.ErrUnavailable, `{"mess`},
		{503, "null", listwatch.ErrUnavailable, "null"},
		{503, "\xff\xfe", listwatch.ErrUnavailable, "\ufffd"},
	} {
		_, _, err := list(source[*Pod](newScript(t, failure(test.code, "text/plain", test.body)), rest.Options{}))
		require.ErrorIs(t, err, test.want)
		require.ErrorContains(t, err, test.text)
		require.ErrorContains(t, err, "list /api/v1/pods: status ")
	}
}

// The text of a failure is kept in part only, however long it is.
func TestLongFailureIsCut(t *testing.T) {
	s := newScript(t, failure(500, "text/plain", strings.Repeat("ä", 100<<10)), failure(500, "application/json", `{"message":"`+strings.Repeat("ö", 10<<10)+`"}`))
	src := source[*Pod](s, rest.Options{})
	for range 2 {
		_, _, err := list(src)
		var status *listwatch.StatusError
		require.ErrorAs(t, err, &status)
		require.Less(t, len(status.Message), 1100)
		require.Greater(t, len(status.Message), 1000)
		require.Regexp(t, `^(ä+|ö+)\.\.\.$`, status.Message)
	}
}

func TestNoConnection(t *testing.T) {
	s := newScript(t)
	src := source[*Pod](s, rest.Options{})
	s.server.Close()
	_, _, err := list(src)
	require.ErrorIs(t, err, listwatch.ErrUnavailable)
	_, err = watch(src, listwatch.WatchOptions{})
	require.ErrorIs(t, err, listwatch.ErrUnavailable)
}

// One TCP connection serves everything that ends well: lists, failures and watches.
func TestConnectionIsUsedAgain(t *testing.T) {
	s := newScript(t, body(podList("9", "", pod("a", "1"))), failure(429, "text/plain", "later"), failure(500, "text/plain", strings.Repeat("x", 100<<10)),
		body(event("ADDED", "a", "10")), failure(403, "application/json", `{"code":403}`), body(podList("9", "")))
	src := source[*Pod](s, rest.Options{})
	for i := range 6 {
		if i%2 == 0 {
			_, _, _ = list(src)
		} else {
			_, _ = watch(src, listwatch.WatchOptions{ResourceVersion: "9"})
		}
	}
	require.Len(t, s.queries(), 6)
	require.Len(t, s.dialed, 1)
}
