package rest_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// group has the goroutines that tests start beside the call under test.
var group worker.Group

func TestWatchQueries(t *testing.T) {
	const always = "watch=true&allowWatchBookmarks=true"
	for name, test := range map[string]struct {
		o    listwatch.WatchOptions
		want string
	}{
		"from a version":        {listwatch.WatchOptions{ResourceVersion: "9"}, "&resourceVersion=9"},
		"from nothing":          {listwatch.WatchOptions{}, ""},
		"timeout":               {listwatch.WatchOptions{Timeout: 200 * time.Second}, "&timeoutSeconds=200"},
		"timeout is rounded up": {listwatch.WatchOptions{Timeout: time.Second + 1}, "&timeoutSeconds=2"},
		"timeout of a moment":   {listwatch.WatchOptions{Timeout: 1}, "&timeoutSeconds=1"},
		"initial events":        {listwatch.WatchOptions{InitialEvents: true}, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"},
		"initial events not older": {listwatch.WatchOptions{InitialEvents: true, ResourceVersion: "9"},
			"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, body(""), body(""))
			_, err := watch(source[*Pod](s, rest.Options{}), test.o)
			require.NoError(t, err)
			_, err = watch(source[*Pod](s, rest.Options{MetadataOnly: true, FieldSelector: "a=b"}), test.o)
			require.NoError(t, err)
			want, err := url.ParseQuery(always + test.want)
			require.NoError(t, err)
			require.Equal(t, want, s.queries()[0])
			require.Equal(t, "identity", s.requests[0].Header.Get("Accept-Encoding"))
			require.Equal(t, "application/json", s.requests[0].Header.Get("Accept"))
			require.Equal(t, "a=b", s.queries()[1].Get("fieldSelector"))
			require.Equal(t, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", s.requests[1].Header.Get("Accept"))
		})
	}
}

type watchAnswer struct {
	o       listwatch.WatchOptions
	text    string
	events  []string
	err     error
	refused []error
}

// Scenarios 34, 36, 40 and 45 are rows of it.
func watchAnswers() map[string]watchAnswer {
	from9 := listwatch.WatchOptions{ResourceVersion: "9"}
	any := listwatch.WatchOptions{ResourceVersion: "0"}
	stream := listwatch.WatchOptions{InitialEvents: true}
	const gone = `"status":"Failure","message":"too old resource version: 3 (9)"`
	return map[string]watchAnswer{
		"events": {from9, event("ADDED", "a", "10") + event("MODIFIED", "a", "11") + bookmark("15", "") + event("DELETED", "a", "16"),
			[]string{"Added ns/a@10", "Modified ns/a@11", "Bookmark@15", "Deleted ns/a@16"}, nil, nil},
		"other order, white space, no line breaks": {from9, ` {"object" : {"metadata":{"resourceVersion":"10","name":"a"},"kind":"Pod"} , "x":[{}],` + "\r\n" +
			`"type":"ADDED"}` + strings.TrimSpace(event("MODIFIED", "a", "11")) + strings.TrimSpace(event("DELETED", "a", "12")),
			[]string{"Added a@10", "Modified ns/a@11", "Deleted ns/a@12"}, nil, nil},
		"escaped type": {from9, strings.Replace(event("ADDED", "a", "10"), "ADDED", `\u0041DDED`, 1), []string{"Added ns/a@10"}, nil, nil},
		// Scenario 36. The versions of synthetic events are no positions.
		"from '': until another event":   {listwatch.WatchOptions{}, event("ADDED", "a", "7") + event("ADDED", "b", "3") + event("MODIFIED", "a", "12") + event("ADDED", "c", "13"), []string{"Added ns/a@", "Added ns/b@", "Modified ns/a@12", "Added ns/c@13"}, nil, nil},
		"from '0': until a bookmark":     {any, event("ADDED", "a", "7") + event("ADDED", "b", "3") + bookmark("12", "true") + event("ADDED", "c", "13"), []string{"Added ns/a@", "Added ns/b@", "Bookmark@12", "Added ns/c@13"}, nil, nil},
		"stream: until the mark":         {stream, event("ADDED", "a", "7") + event("MODIFIED", "a", "12") + event("DELETED", "b", "13") + bookmark("13", "true") + event("ADDED", "c", "14"), []string{"Added ns/a@", "Modified ns/a@", "Deleted ns/b@", "Synced@13", "Added ns/c@14"}, nil, nil},
		"stream: an end without mark":    {stream, event("ADDED", "a", "7") + event("ADDED", "b", "3"), []string{"Added ns/a@", "Added ns/b@"}, nil, nil},
		"stream: a second mark is plain": {stream, bookmark("5", "true") + bookmark("6", "true"), []string{"Synced@5", "Bookmark@6"}, nil, nil},
		// Scenario 40. Only "true" is the end mark.
		"stream: a mark that is no mark": {stream, event("ADDED", "a", "7") + bookmark("8", "false") + bookmark("9", "True") + event("ADDED", "b", "9"), []string{"Added ns/a@", "Bookmark@8", "Bookmark@9", "Added ns/b@"}, nil, nil},
		// Scenario 34. The code or the reason tells, whatever else there is.
		"410":                         {from9, event("ADDED", "a", "10") + `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1",` + gone + `,"reason":"Expired","code":410}}`, []string{"Added ns/a@10"}, listwatch.ErrExpired, nil},
		"410 without kind":            {from9, `{"type":"ERROR","object":{` + gone + `,"code":410}}`, nil, listwatch.ErrExpired, nil},
		"410 by reason Gone":          {from9, `{"type":"ERROR","object":{` + gone + `,"reason":"Gone"}}`, nil, listwatch.ErrExpired, nil},
		"410 by reason Expired":       {from9, `{"type":"ERROR","object":{` + gone + `,"reason":"Expired"}}`, nil, listwatch.ErrExpired, nil},
		"410 without an event around": {from9, `{"kind":"Status",` + gone + `,"code":410}`, nil, listwatch.ErrExpired, nil},
		"410 by its text alone":       {from9, `{"type":"ERROR","object":{` + gone + `,"reason":"InternalError","code":500}}`, nil, listwatch.ErrUnavailable, nil},
		"ERROR 429":                   {from9, `{"type":"ERROR","object":{"code":429,"details":{"retryAfterSeconds":3}}}`, nil, listwatch.ErrTooManyRequests, nil},
		"ERROR 403":                   {from9, `{"type":"ERROR","object":{"reason":"Forbidden"}}`, nil, listwatch.ErrForbidden, nil},
		"ERROR without code":          {from9, `{"type":"ERROR","object":{}}`, nil, listwatch.ErrProtocol, nil},
		"ERROR without object":        {from9, `{"type":"ERROR"}`, nil, listwatch.ErrProtocol, nil},
		"ERROR too large":             {from9, `{"type":"ERROR","object":{"message":"` + strings.Repeat("x", 9000) + `"}}`, nil, listwatch.ErrTooLarge, nil},
		// Scenario 45. It is reported once, its version is not a position, the rest goes on.
		"unknown type":           {from9, event("ADDED", "a", "10") + event("PATCHED", "b", "11") + event("ADDED", "c", "12"), []string{"Added ns/a@10", "Added ns/c@12"}, nil, []error{listwatch.ErrProtocol}},
		"no type":                {from9, `{"object":{"kind":"Pod"}}` + event("ADDED", "c", "12"), []string{"Added ns/c@12"}, nil, []error{listwatch.ErrProtocol}},
		"type no string":         {from9, `{"type":5}{"type":null}`, nil, nil, []error{listwatch.ErrProtocol, listwatch.ErrProtocol}},
		"no object":              {from9, `{"type":"ADDED"}{"type":"ADDED","object":null}{"type":"ADDED","object":[]}`, nil, nil, []error{listwatch.ErrDecode, listwatch.ErrDecode, listwatch.ErrDecode}},
		"undecodable":            {from9, `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"10"},"spec":5}}` + event("ADDED", "c", "12"), []string{"Added ns/c@12"}, nil, []error{listwatch.ErrDecode}},
		"bad JSON that has ends": {from9, `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"10"},"spec":{a:b}}}` + event("ADDED", "c", "12"), []string{"Added ns/c@12"}, nil, []error{listwatch.ErrDecode}},
		"bad JSON without end":   {from9, event("ADDED", "a", "10") + `{"type":"ADDED","object":{"a":]}}` + event("ADDED", "c", "12"), []string{"Added ns/a@10"}, listwatch.ErrDecode, nil},
		"no JSON":                {from9, event("ADDED", "a", "10") + "Internal error", []string{"Added ns/a@10"}, listwatch.ErrDecode, nil},
		"no version":             {from9, event("ADDED", "a", ""), nil, nil, []error{listwatch.ErrProtocol}},
		"no name":                {from9, event("ADDED", "", "10"), nil, nil, []error{listwatch.ErrProtocol}},
		"bookmark, no version":   {from9, bookmark("", ""), nil, nil, []error{listwatch.ErrProtocol}},
		"kind missing":           {from9, `{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"10"}}}`, nil, nil, []error{listwatch.ErrWrongKind}},
		"another kind":           {from9, event("ADDED", "a", "10") + strings.Replace(event("ADDED", "b", "11"), "Pod", "Node", 1), []string{"Added ns/a@10"}, nil, []error{listwatch.ErrWrongKind}},
		"Status as object":       {from9, strings.Replace(event("ADDED", "b", "11"), "Pod", "Status", 1), nil, nil, []error{listwatch.ErrWrongKind}},
		"nothing":                {from9, "\n \n", nil, nil, nil},
	}
}

// An event is delivered, refused by itself, or ends the call with a class.
func TestWatchAnswers(t *testing.T) {
	for name, test := range watchAnswers() {
		t.Run(name, func(t *testing.T) {
			r, err := watch(source[*Pod](newScript(t, body(test.text)), rest.Options{MaxObjectBytes: 4000}), test.o)
			if test.err != nil {
				require.ErrorIs(t, err, test.err)
				require.ErrorContains(t, err, "watch /api/v1/pods: ")
				var status *listwatch.StatusError
				require.Equal(t, strings.Contains(test.text, "ERROR") || strings.Contains(test.text, "Failure"), errors.As(err, &status) && status.Event)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, test.events, r.events)
			require.Len(t, r.errs, len(test.refused))
			for i, want := range test.refused {
				require.ErrorIs(t, r.errs[i], want)
			}
		})
	}
}

// Scenario 34, the second way: the request itself is answered with 410.
func TestWatchAnsweredWithGone(t *testing.T) {
	s := newScript(t, failure(410, "application/json", `{"code":410}`), failure(410, "text/plain", "gone"))
	for range 2 {
		_, err := watch(source[*Pod](s, rest.Options{}), listwatch.WatchOptions{ResourceVersion: "9"})
		require.ErrorIs(t, err, listwatch.ErrExpired)
	}
}

func TestRefusedEventsHaveAHead(t *testing.T) {
	r, err := watch(source[*Pod](newScript(t, body(event("PATCHED", "b", "8"))), rest.Options{}), listwatch.WatchOptions{ResourceVersion: "1"})
	require.NoError(t, err)
	require.Equal(t, []listwatch.Head{{Key: listwatch.Key{Namespace: "ns", Name: "b"}, UID: "u", ResourceVersion: "8"}}, r.heads)
	require.ErrorContains(t, r.errs[0], "PATCHED")
}

// A stream that is cut within an event is an error; what was complete has been delivered.
func TestTruncatedWatch(t *testing.T) {
	text := event("ADDED", "a", "10") + strings.TrimSpace(event("ADDED", "b", "11"))
	first := len(event("ADDED", "a", "10"))
	for n := first + 1; n < len(text); n++ {
		r, err := watch(source[*Pod](newScript(t, body(text[:n])), rest.Options{}), listwatch.WatchOptions{ResourceVersion: "1"})
		require.ErrorIs(t, err, listwatch.ErrUnavailable)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, []string{"Added ns/a@10"}, r.events)
	}
}

// Bookmarks of real servers lack fields that the type needs; they are never decoded.
func TestBookmarksAreNotDecoded(t *testing.T) {
	src := source[*Pod](newScript(t, body(bookmark("10", "")+bookmark("11", "true"))), rest.Options{
		Decode: func([]byte, any) error { return errors.New("decoded") },
	})
	r, err := watch(src, listwatch.WatchOptions{InitialEvents: true})
	require.NoError(t, err)
	require.Equal(t, []string{"Bookmark@10", "Synced@11"}, r.events)
}

// Known is asked of the initial state alone.
func TestKnownInAStream(t *testing.T) {
	text := event("ADDED", "a", "7") + event("ADDED", "b", "3") + event("MODIFIED", "a", "8") + bookmark("9", "true") + event("ADDED", "c", "10")
	var asked []string
	r := &record[*Pod]{}
	err := source[*Pod](newScript(t, body(text)), rest.Options{}).Watch(t.Context(), listwatch.WatchOptions{InitialEvents: true, Known: func(h listwatch.Head) bool {
		asked = append(asked, h.Key.Name)
		return true
	}}, r.watch)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, asked)
	require.Equal(t, []string{"Modified ns/a@", "Synced@9", "Added ns/c@10"}, r.events)
}

// An event is delivered when it has come, and those that came together come as one batch.
func TestWatchDeliversBeforeItWaits(t *testing.T) {
	next := make(chan struct{})
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		body(event("ADDED", "a", "1")+event("ADDED", "b", "2")+`{"type":"ADD`)(w, r)
		w.(http.Flusher).Flush()
		<-next
		_, _ = io.WriteString(w, event("ADDED", "c", "3")[len(`{"type":"ADD`):])
		w.(http.Flusher).Flush()
		<-next
	})
	var batches [][]string
	err := source[*Pod](s, rest.Options{}).Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "0"}, func(events ...listwatch.Event[*Pod]) error {
		var batch []string
		for _, e := range events {
			batch = append(batch, e.Object.Name)
		}
		batches = append(batches, batch)
		next <- struct{}{}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a", "b"}, {"c"}}, batches)
}

// Scenario 43. An event of 3 MiB passes by default; one of 20 MiB is refused with its size and
// costs no memory; the stream goes on behind it.
func TestTooLargeEvent(t *testing.T) {
	big := func(w io.Writer, n int) {
		_, _ = io.WriteString(w, `{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"big","namespace":"ns","uid":"u","resourceVersion":"5"},"x":"`)
		chunk := strings.Repeat("x", 1<<20)
		for range n {
			_, _ = io.WriteString(w, chunk)
		}
		_, _ = io.WriteString(w, "\"}}\n")
	}
	answer := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body(event("ADDED", "a", "4"))(w, r)
			big(w, n)
			_, _ = io.WriteString(w, event("ADDED", "b", "6"))
		}
	}
	s := newScript(t, answer(1), answer(17), answer(2))
	src := source[*Pod](s, rest.Options{})
	r, err := watch(src, listwatch.WatchOptions{ResourceVersion: "1"})
	require.NoError(t, err)
	require.Equal(t, []string{"Added ns/a@4", "Modified ns/big@5", "Added ns/b@6"}, r.events)

	for _, src := range []*rest.Source[*Pod]{src, source[*Pod](s, rest.Options{MaxObjectBytes: 1 << 20})} {
		r, err = watch(src, listwatch.WatchOptions{ResourceVersion: "1"})
		require.NoError(t, err)
		require.Equal(t, []string{"Added ns/a@4", "Added ns/b@6"}, r.events)
		require.Equal(t, []string{"ns/big"}, r.refused)
		require.ErrorIs(t, r.errs[0], listwatch.ErrTooLarge)
		require.Regexp(t, `\d{7,} bytes, the limit is \d+`, r.errs[0].Error())
	}
	// An object within the limit has room for what stands around it, one byte more is too much.
	object := `{"kind":"Pod","metadata":{"name":"a","resourceVersion":"10"}}`
	text := `{"type":"ADDED","object":` + object + `}`
	for limit, want := range map[int]int{len(object): 1, len(object) - 1: 0} {
		r, err := watch(source[*Pod](newScript(t, body(text)), rest.Options{MaxObjectBytes: int64(limit)}), listwatch.WatchOptions{ResourceVersion: "1"})
		require.NoError(t, err)
		require.Len(t, r.events, want)
		require.Len(t, r.errs, 1-want)
	}
}

// Scenario 46. A watch asks for no compression, so nothing between holds an event back; a
// server that compresses all the same is refused rather than read late.
func TestWatchIsNotCompressed(t *testing.T) {
	delivered := make(chan struct{})
	answer := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := range 3 {
			text := event("ADDED", fmt.Sprint("p", i), fmt.Sprint(10+i))
			if r.Header.Get("Accept-Encoding") == "identity" {
				_, _ = io.WriteString(w, text)
			} else {
				w.Header().Set("Content-Encoding", "gzip")
				zip := gzip.NewWriter(w)
				_, _ = io.WriteString(zip, text)
				_ = zip.Close()
			}
			w.(http.Flusher).Flush()
			<-delivered // the next one is sent when this one has been delivered
		}
	}
	s := newScript(t, answer, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		body("")(w, r)
	}, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "gzip", r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		_, _ = io.WriteString(zip, podList("9", "", pod("a", "1")))
		_ = zip.Close()
	})
	src := source[*Pod](s, rest.Options{})
	events := 0
	require.NoError(t, src.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1"}, func(batch ...listwatch.Event[*Pod]) error {
		events += len(batch)
		delivered <- struct{}{}
		return nil
	}))
	require.Equal(t, 3, events)
	err := src.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1"}, nil)
	require.ErrorIs(t, err, listwatch.ErrDecode)
	// Lists are compressed as ever.
	r, _, err := list(src)
	require.NoError(t, err)
	require.Len(t, r.objects, 1)
}

// Scenario 28. While the header of the answer is held back, the end of the context ends the
// call with its cause, which the caller tells from a failure.
func TestContextEndsAWatch(t *testing.T) {
	cause := errors.New("deadline of the watch")
	held := func(http.ResponseWriter, *http.Request) {}
	idle := func(w http.ResponseWriter, r *http.Request) {
		body(event("ADDED", "a", "1"))(w, r)
		w.(http.Flusher).Flush()
	}
	for name, answer := range map[string]http.HandlerFunc{"header held back": held, "idle": idle} {
		t.Run(name, func(t *testing.T) {
			arrived := make(chan struct{})
			s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
				answer(w, r)
				close(arrived)
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := make(chan struct{})
			group.Go(func() { defer close(stopped); <-arrived; cancel(cause) })
			err := source[*Pod](s, rest.Options{}).Watch(ctx, listwatch.WatchOptions{ResourceVersion: "1"}, func(...listwatch.Event[*Pod]) error { return nil })
			<-stopped
			require.ErrorIs(t, err, cause)
			require.NotErrorIs(t, err, listwatch.ErrUnavailable)
		})
	}
}
