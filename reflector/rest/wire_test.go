package rest_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// What a recorded body is, by its name; the first that fits.
var bodies = []struct {
	pattern string
	test    func(t *testing.T, name string, text []byte)
}{
	{`^README\.md$`, func(*testing.T, string, []byte) {}},
	{`^(list|deletecollection)-.*\.json$`, testListBody},
	{`^list-.*\.json\.gz$`, testGzipBody},
	{`^partial-metadata-list\.json$`, testPartialListBody},
	{`^partial-metadata-get\.json$`, testGetBody},
	{`^(get-|crd|delete-with-finalizer).*\.json$`, testGetBody},
	{`^(table-|discovery-|openapi-|delete-status-success).*\.json$`, testForeignBody},
	{`^watch-.*table\.jsonl$`, testTableWatch},
	{`^watch-(410|504-too-large-rv)\.jsonl$`, testErrorWatch},
	{`^watch-.*\.jsonl$`, testWatchBody},
	{`^list-.*\.yaml$|\.pb$`, testOtherEncoding},
	{`^status-.*\.(json|txt|yaml)$`, testStatusBody},
	{`^raw-watch-.*\.txt$`, testRawWatch},
	{`^raw-410-.*\.txt$`, testRaw410},
	{`^raw-list-.*\.txt$`, testRawList},
	{`^readyz-verbose\.txt$`, testOtherEncoding},
}

// Every recorded body is decoded to what encoding/json finds in it, or refused with a class.
func TestRecordedBodies(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*")
	require.NoError(t, err)
	require.Len(t, files, 108, "107 bodies and what they are")
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, b := range bodies {
				if regexp.MustCompile(b.pattern).MatchString(name) {
					b.test(t, name, text)
					return
				}
			}
			t.Fatal("nothing is known of this file")
		})
	}
}

// wantItems is what encoding/json finds in a list.
func wantItems(t *testing.T, text []byte) ([]any, listwatch.ListMeta) {
	root, ok := generic(t, text).(map[string]any)
	require.True(t, ok)
	items, _ := root["items"].([]any)
	meta, _ := root["metadata"].(map[string]any)
	var want listwatch.ListMeta
	want.ResourceVersion, _ = meta["resourceVersion"].(string)
	want.Continue, _ = meta["continue"].(string)
	if n, ok := meta["remainingItemCount"].(json.Number); ok {
		want.Remaining, _ = n.Int64()
	}
	return items, want
}

func requireItems(t *testing.T, text []byte, r *record[rest.Object], meta listwatch.ListMeta) {
	items, want := wantItems(t, text)
	require.Equal(t, want, meta)
	require.Empty(t, r.refused)
	require.Len(t, r.objects, len(items))
	for i, item := range items {
		require.Empty(t, cmp.Diff(item, same(t, r.objects[i])))
		require.NotEmpty(t, r.objects[i].GetName())
		require.NotEmpty(t, r.objects[i].GetUID())
	}
}

func testListBody(t *testing.T, _ string, text []byte) {
	r, meta, err := list(source[rest.Object](newScript(t, body(string(text))), rest.Options{}))
	require.NoError(t, err)
	requireItems(t, text, r, meta)
	typed, _, err := list(source[*Pod](newScript(t, body(string(text))), rest.Options{}))
	require.NoError(t, err)
	require.Len(t, typed.objects, len(r.objects))
	for i := range typed.objects {
		require.Equal(t, listwatch.KeyOf(r.objects[i]), listwatch.KeyOf(typed.objects[i]))
	}
}

func testGzipBody(t *testing.T, _ string, text []byte) {
	unzip, err := gzip.NewReader(bytes.NewReader(text))
	require.NoError(t, err)
	plain, err := io.ReadAll(unzip)
	require.NoError(t, err)
	zipped := func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			body(string(plain))(w, r)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		body(string(text))(w, r)
	}
	without := &http.Transport{DisableCompression: true}
	for _, client := range []*http.Client{nil, {Transport: without}} {
		s := newScript(t, zipped)
		r, meta, err := list(source[rest.Object](s, rest.Options{Client: client}))
		require.NoError(t, err)
		requireItems(t, plain, r, meta)
	}
	without.CloseIdleConnections()
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		body(string(text[:len(text)/2]))(w, r)
	})
	_, _, err = list(source[rest.Object](s, rest.Options{}))
	require.ErrorIs(t, err, listwatch.ErrUnavailable)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func testPartialListBody(t *testing.T, _ string, text []byte) {
	s := newScript(t, body(string(text)), body(string(text)))
	r, meta, err := list(source[rest.Object](s, rest.Options{MetadataOnly: true, Kind: "Pod"}))
	require.NoError(t, err)
	requireItems(t, text, r, meta)
	require.Equal(t, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", s.requests[0].Header.Get("Accept"))
	_, _, err = list(source[rest.Object](s, rest.Options{}))
	require.ErrorIs(t, err, listwatch.ErrWrongKind, "nobody asked for metadata alone")
}

// A single object is read as the one item of a list.
func testGetBody(t *testing.T, name string, text []byte) {
	kind, _ := generic(t, text).(map[string]any)["kind"].(string)
	whole := fmt.Sprintf(`{"items":[%s],"kind":%q,"metadata":{"resourceVersion":"1"}}`, text, kind+"List")
	o := rest.Options{MetadataOnly: strings.HasPrefix(name, "partial")}
	r, meta, err := list(source[rest.Object](newScript(t, body(whole)), o))
	require.NoError(t, err)
	requireItems(t, []byte(whole), r, meta)
	_, _, err = list(source[rest.Object](newScript(t, body(string(text))), o))
	require.ErrorIs(t, err, listwatch.ErrWrongKind, "an object is no list")
}

func testForeignBody(t *testing.T, name string, text []byte) {
	delivered := 0
	s := source[rest.Object](newScript(t, body(string(text))), rest.Options{Kind: "Pod"})
	_, err := s.List(context.Background(), listwatch.ListOptions{
		Refused: func(listwatch.Head, error) error { delivered++; return nil },
	}, func(...rest.Object) error { delivered++; return nil })
	require.ErrorIs(t, err, listwatch.ErrWrongKind)
	require.Zero(t, delivered)
	if strings.HasPrefix(name, "table-") {
		_, _, err := list(source[rest.Object](newScript(t, body(string(text))), rest.Options{}))
		require.ErrorIs(t, err, listwatch.ErrWrongKind, "not learnt either")
	}
}

func testTableWatch(t *testing.T, _ string, text []byte) {
	for _, kind := range []string{"", "Pod"} {
		r, err := watch(source[rest.Object](newScript(t, body(string(text))), rest.Options{Kind: kind}), listwatch.WatchOptions{ResourceVersion: "1"})
		require.NoError(t, err)
		require.Empty(t, r.events)
		require.Len(t, r.refused, bytes.Count(text, []byte("\n")))
		for _, err := range r.errs {
			require.ErrorIs(t, err, listwatch.ErrWrongKind)
		}
	}
}

func testErrorWatch(t *testing.T, name string, text []byte) {
	_, err := watch(source[rest.Object](newScript(t, body(string(text))), rest.Options{}), listwatch.WatchOptions{ResourceVersion: "1"})
	requireStatus(t, err, text, 0)
	want := listwatch.ErrExpired
	if strings.Contains(name, "504") {
		want = listwatch.ErrTooLargeVersion
	}
	require.ErrorIs(t, err, want)
}

func testWatchBody(t *testing.T, name string, text []byte) {
	initial := strings.Contains(name, "initial")
	synthetic := initial || strings.Contains(name, "rv0")
	o := listwatch.WatchOptions{ResourceVersion: "7", InitialEvents: initial}
	if synthetic {
		o.ResourceVersion = "0"
	}
	r, err := watch(source[rest.Object](newScript(t, body(string(text))), rest.Options{MetadataOnly: strings.Contains(name, "partial")}), o)
	require.NoError(t, err)
	require.Empty(t, r.refused)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, r.full, len(lines))
	for i, line := range lines {
		want, _ := generic(t, []byte(line)).(map[string]any)
		object, _ := want["object"].(map[string]any)
		version := objectOf(t, object).GetResourceVersion()
		kind, _ := want["type"].(string)
		got := r.full[i]
		switch {
		case strings.Contains(line, "initial-events-end"):
			require.Equal(t, listwatch.Event[rest.Object]{Type: listwatch.Synced, ResourceVersion: version}, got)
			synthetic = false
		case kind == "BOOKMARK":
			require.Equal(t, listwatch.Event[rest.Object]{Type: listwatch.Bookmark, ResourceVersion: version}, got)
		default:
			require.Equal(t, kind, strings.ToUpper(got.Type.String()))
			require.Empty(t, cmp.Diff(any(object), same(t, got.Object)))
			if synthetic {
				version = ""
			}
			require.Equal(t, version, got.ResourceVersion)
		}
	}
}

func testOtherEncoding(t *testing.T, name string, text []byte) {
	types := map[string][]string{
		".pb":   {"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch"},
		".yaml": {"application/yaml"}, ".txt": {"text/plain; charset=utf-8"},
	}
	for _, contentType := range types[filepath.Ext(name)] {
		s := source[rest.Object](newScript(t, failure(200, contentType, string(text)), failure(200, contentType, string(text))), rest.Options{})
		_, _, err := list(s)
		require.ErrorIs(t, err, listwatch.ErrWrongKind)
		require.ErrorContains(t, err, strconv.Quote(contentType))
		_, err = watch(s, listwatch.WatchOptions{})
		require.ErrorIs(t, err, listwatch.ErrWrongKind)
	}
	// The same with a header that lies.
	s := source[rest.Object](newScript(t, body(string(text)), body(string(text))), rest.Options{})
	_, _, err := list(s)
	require.ErrorIs(t, err, listwatch.ErrDecode)
	_, err = watch(s, listwatch.WatchOptions{})
	require.ErrorIs(t, err, listwatch.ErrDecode)
}

var classes = map[int]error{
	400: listwatch.ErrUnsupported, 401: listwatch.ErrUnauthorized, 403: listwatch.ErrForbidden, 404: listwatch.ErrNotFound,
	405: listwatch.ErrUnsupported, 406: listwatch.ErrUnsupported, 409: listwatch.ErrUnsupported, 410: listwatch.ErrExpired,
	413: listwatch.ErrUnsupported, 415: listwatch.ErrUnsupported, 422: listwatch.ErrUnsupported, 429: listwatch.ErrTooManyRequests,
	500: listwatch.ErrUnavailable, 504: listwatch.ErrUnavailable,
}

func testStatusBody(t *testing.T, name string, text []byte) {
	code, err := strconv.Atoi(name[len("status-"):][:3])
	require.NoError(t, err)
	contentType := "application/json"
	if strings.HasSuffix(name, ".txt") {
		contentType = "text/plain; charset=utf-8"
	}
	want := classes[code]
	if strings.Contains(name, "too-large-rv") {
		want = listwatch.ErrTooLargeVersion
	}
	s := newScript(t, failure(code, contentType, string(text)), failure(code, contentType, string(text)))
	src := source[rest.Object](s, rest.Options{})
	_, _, err = list(src)
	requireStatus(t, err, text, code)
	require.ErrorIs(t, err, want)
	_, err = watch(src, listwatch.WatchOptions{ResourceVersion: "1"})
	requireStatus(t, err, text, code)
	require.ErrorIs(t, err, want)
	require.Len(t, s.dialed, 1, "the connection is used again")
}

// requireStatus compares with the Status in text, or with text itself when it isn't one.
func requireStatus(t *testing.T, err error, text []byte, code int) {
	var status *listwatch.StatusError
	require.ErrorAs(t, err, &status)
	var want struct {
		Type            string
		Object          json.RawMessage
		Message, Reason string
		Code            int
	}
	if json.Unmarshal(text, &want) != nil {
		want.Message, want.Code = strings.TrimSpace(string(text)), code
	}
	if want.Type != "" {
		require.NoError(t, json.Unmarshal(want.Object, &want))
	}
	require.Equal(t, want.Type != "", status.Event)
	require.Equal(t, want.Code, status.Code)
	require.Equal(t, want.Reason, status.Reason)
	require.Equal(t, want.Message, status.Message)
}

// replay answers one request with recorded bytes, then closes the connection.
func replay(t *testing.T, text []byte) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var group worker.Group
	group.Go(func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		if _, err := http.ReadRequest(bufio.NewReader(connection)); err == nil {
			_, _ = connection.Write(text)
		}
	})
	t.Cleanup(func() { _ = listener.Close(); group.Wait() })
	return "http://" + listener.Addr().String() + "/api/v1/pods"
}

func rawSource(t *testing.T, text []byte) *rest.Source[rest.Object] {
	s, err := rest.New[rest.Object](replay(t, text), rest.Options{})
	require.NoError(t, err)
	t.Cleanup(s.CloseIdleConnections)
	return s
}

func rawBody(t *testing.T, text []byte) []byte {
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	plain, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return plain
}

func testRawList(t *testing.T, _ string, text []byte) {
	r, meta, err := list(rawSource(t, text))
	require.NoError(t, err)
	requireItems(t, rawBody(t, text), r, meta)
	// Cut anywhere, it is never a short list.
	for n := 1; n < len(text); n += max(1, len(text)/16) {
		_, _, err := list(rawSource(t, text[:n]))
		require.ErrorIs(t, err, listwatch.ErrUnavailable, "%d bytes", n)
	}
}

func testRawWatch(t *testing.T, _ string, text []byte) {
	r, err := watch(rawSource(t, text), listwatch.WatchOptions{ResourceVersion: "1"})
	require.NoError(t, err)
	lines := bytes.Split(bytes.TrimSpace(rawBody(t, text)), []byte("\n"))
	require.Len(t, r.full, len(lines))
	// Without the last chunk it is no clean end, though no event is cut.
	whole := len(r.full)
	r, err = watch(rawSource(t, bytes.TrimSuffix(text, []byte("0\r\n\r\n"))), listwatch.WatchOptions{ResourceVersion: "1"})
	require.ErrorIs(t, err, listwatch.ErrUnavailable)
	require.Len(t, r.full, whole)
}

func testRaw410(t *testing.T, _ string, text []byte) {
	_, _, err := list(rawSource(t, text))
	require.ErrorIs(t, err, listwatch.ErrExpired)
	requireStatus(t, err, rawBody(t, text), 410)
}
