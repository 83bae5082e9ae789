package rest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// seed adds the recorded bodies that are small enough.
func seed(f *testing.F, patterns ...string) {
	for _, pattern := range patterns {
		files, err := filepath.Glob("testdata/wire/" + pattern)
		require.NoError(f, err)
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && len(text) < 8000 {
				f.Add(text, uint16(len(text)/2))
			}
		}
	}
}

// last finds the last value that is not null on a path, through all duplicates of its keys.
func last(raw json.RawMessage, path ...string) (found json.RawMessage) {
	if len(path) == 0 {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return found
		}
		if key != path[0] {
			continue
		}
		if v := last(value, path[1:]...); v != nil && string(v) != "null" {
			found = v
		}
	}
	return found
}

// first is last, but with the first value of its one key.
func first(raw json.RawMessage, key string) (found json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		if name == key && string(value) != "null" {
			return value
		}
	}
	return nil
}

// text reads a string; ok is false when there is something else.
func text(raw json.RawMessage) (s string, ok bool) {
	return s, raw == nil || raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}

// expected is what a source must make of an object: the decoded object, or nil when it must be
// refused.
func expected(raw json.RawMessage, kindNeeded bool) *Pod {
	kind, ok := text(first(raw, "kind"))
	if !ok || kind != "Pod" && (kindNeeded || kind != "") {
		return nil
	}
	var head listwatch.Meta
	for name, field := range map[string]*string{"namespace": &head.Namespace, "name": &head.Name, "resourceVersion": &head.ResourceVersion, "uid": new(string)} {
		if *field, ok = text(last(raw, "metadata", name)); !ok {
			return nil
		}
	}
	var pod *Pod
	if head.Name == "" || head.ResourceVersion == "" || json.Unmarshal(raw, &pod) != nil || pod == nil {
		return nil
	}
	if pod.Namespace != head.Namespace || pod.Name != head.Name || pod.ResourceVersion != head.ResourceVersion {
		return nil
	}
	return pod
}

// FuzzList: whatever comes, a list is what encoding/json finds in it, or an error; cut short it
// is always an error.
func FuzzList(f *testing.F) {
	seed(f, "list-*.json", "table-*.json", "status-*.json", "get-*.json")
	f.Add([]byte(podList("9", `,"continue":"x"`, pod("a", "1"), `null`, `{"kind":"Node"}`, `{"metadata":{"Name":"a"}}`)), uint16(30))
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		var r *record[*Pod]
		run := func(body []byte) (listwatch.ListMeta, error) {
			source := answered[*Pod](t, rest.Options{Kind: "Pod"}, func() io.Reader { return iotest.HalfReader(bytes.NewReader(body)) })
			var meta listwatch.ListMeta
			var err error
			r, meta, err = list(source)
			return meta, err
		}
		meta, err := run(data)
		if err != nil {
			requireClass(t, err)
		}
		if !json.Valid(data) || err != nil && !utf8.Valid(data) { // a spoiled member may have been the items
			return
		}
		want, items, ok := expectedList(data)
		require.Equal(t, ok, err == nil, "%v", err)
		if ok {
			require.Equal(t, want, meta)
			var pods []*Pod
			for _, item := range items {
				if pod := expected(item, false); pod != nil {
					pods = append(pods, pod)
				}
			}
			require.Empty(t, cmp.Diff(pods, r.objects))
			require.Len(t, r.refused, len(items)-len(pods))
		}
		if n := int(cut) % (len(bytes.TrimSpace(data)) + 1); !json.Valid(data[:n]) {
			_, err := run(data[:n])
			require.Error(t, err, "cut at %d", n)
		}
	})
}

// expectedList reads a list the slow way.
func expectedList(data []byte) (meta listwatch.ListMeta, items []json.RawMessage, ok bool) {
	var own struct {
		ResourceVersion    string
		Continue           string
		RemainingItemCount int64
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if token, _ := d.Token(); token != json.Delim('{') {
		return meta, nil, false
	}
	kinds, lists := 0, 0
	for d.More() {
		key, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return meta, nil, false
		}
		switch key {
		case "kind":
			kinds++
			if kind, ok := text(value); !ok || kind != "PodList" {
				return meta, nil, false
			}
		case "metadata":
			if json.Unmarshal(value, &own) != nil {
				return meta, nil, false
			}
		case "items":
			if lists++; lists > 1 || json.Unmarshal(value, &items) != nil {
				return meta, nil, false
			}
		}
	}
	return listwatch.ListMeta{ResourceVersion: own.ResourceVersion, Continue: own.Continue, Remaining: own.RemainingItemCount}, items, kinds > 0
}

func requireClass(t *testing.T, err error) {
	for _, class := range []error{listwatch.ErrDecode, listwatch.ErrWrongKind, listwatch.ErrUnavailable, listwatch.ErrTooLarge, listwatch.ErrProtocol} {
		if errors.Is(err, class) {
			return
		}
	}
	t.Fatalf("%v has no class", err)
}

// FuzzWatch: of a stream of JSON objects each is the event, the failure or the refusal that
// encoding/json makes of it; of anything else the source makes an error, never a panic.
func FuzzWatch(f *testing.F) {
	seed(f, "watch-*.jsonl")
	f.Add([]byte(event("ADDED", "a", "10")+bookmark("11", "true")+event("ODD", "b", "1")+`{"type":"ERROR","object":{"code":410}}`), uint16(1))
	f.Add([]byte(`{"type":null,"object":{},"object":null,"kind":"Status"} {}`), uint16(9))
	f.Fuzz(func(t *testing.T, data []byte, _ uint16) {
		source := answered[*Pod](t, rest.Options{Kind: "Pod"}, func() io.Reader { return iotest.HalfReader(bytes.NewReader(data)) })
		r, err := watch(source, listwatch.WatchOptions{ResourceVersion: "1"})
		var status *listwatch.StatusError
		if err != nil && !errors.As(err, &status) {
			requireClass(t, err)
		}
		var events []listwatch.Event[*Pod]
		refused := 0
		for d := json.NewDecoder(bytes.NewReader(data)); ; {
			var frame json.RawMessage
			switch decodeErr := d.Decode(&frame); {
			case decodeErr == io.EOF:
				require.NoError(t, err)
			case decodeErr != nil:
				return // what a broken rest makes is only known not to panic
			case frame[0] != '{':
				require.ErrorIs(t, err, listwatch.ErrDecode)
			default:
				event, outcome := expectedEvent(frame)
				switch outcome {
				case failed:
					require.True(t, errors.As(err, &status) && status.Event)
				case delivered:
					events = append(events, event)
					continue
				case dropped:
					refused++
					continue
				}
			}
			break
		}
		require.Empty(t, cmp.Diff(events, r.full))
		require.Len(t, r.refused, refused)
	})
}

const (
	failed = iota
	delivered
	dropped
)

var types = map[string]listwatch.EventType{"ADDED": listwatch.Added, "MODIFIED": listwatch.Modified, "DELETED": listwatch.Deleted}

func expectedEvent(frame json.RawMessage) (event listwatch.Event[*Pod], outcome int) {
	object := last(frame, "object")
	kind, _ := text(last(frame, "type"))
	top, _ := text(last(frame, "kind"))
	version, _ := text(last(object, "metadata", "resourceVersion"))
	switch {
	case kind == "ERROR", kind == "" && top == "Status":
		return event, failed
	case kind == "BOOKMARK":
		if own, _ := text(first(object, "kind")); own != "Pod" || version == "" {
			return event, dropped
		}
		return listwatch.Event[*Pod]{Type: listwatch.Bookmark, ResourceVersion: version}, delivered
	case types[kind] == 0 || object == nil || object[0] != '{':
		return event, dropped
	}
	pod := expected(object, true)
	if pod == nil {
		return event, dropped
	}
	return listwatch.Event[*Pod]{Type: types[kind], Object: pod, ResourceVersion: version}, delivered
}

// FuzzStatus: any failure has a class, the code of the answer and a message of bounded length.
func FuzzStatus(f *testing.F) {
	files, err := filepath.Glob("testdata/wire/status-*")
	require.NoError(f, err)
	for _, file := range files {
		if body, err := os.ReadFile(file); err == nil {
			f.Add(body, uint16(504), "1")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, code uint16, after string) {
		code = 100 + code%500
		if code == 200 {
			return
		}
		client := &http.Client{Transport: failing{code: int(code), body: data, after: after}}
		source, err := rest.New[*Pod]("http://server/api/v1/pods", rest.Options{Client: client})
		require.NoError(t, err)
		_, _, err = list(source)
		var status *listwatch.StatusError
		require.ErrorAs(t, err, &status)
		require.NotNil(t, status.Kind)
		require.Equal(t, int(code), status.Code)
		require.LessOrEqual(t, len(status.Message), 1<<10+3)
		require.False(t, status.RetryAfter < 0)
		_, err = watch(answered[*Pod](t, rest.Options{}, func() io.Reader {
			return io.MultiReader(bytes.NewReader([]byte(`{"type":"ERROR","object":`)), bytes.NewReader(data), bytes.NewReader([]byte("}")))
		}), listwatch.WatchOptions{ResourceVersion: "1"})
		require.Error(t, err)
	})
}

type failing struct {
	code  int
	body  []byte
	after string
}

func (f failing) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: f.code, Header: http.Header{"Retry-After": {f.after}}, Body: io.NopCloser(bytes.NewReader(f.body))}, nil
}
