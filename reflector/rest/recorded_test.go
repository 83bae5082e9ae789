package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// recorded is a server that answers with recorded bodies. A watch stays open behind its body.
type recorded struct {
	partial bool              // it serves metadata alone
	pages   map[string]string // lists by continue token
	stream  string            // what initial events are; "" refuses them
	watched string
}

func (s recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	q := r.URL.Query()
	text := s.watched
	switch {
	case !q.Has("watch"):
		_, _ = io.WriteString(w, s.pages[q.Get("continue")])
		return
	case q.Has("sendInitialEvents") && s.stream == "":
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	case q.Has("sendInitialEvents"):
		text = s.stream
	}
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// keep runs an informer of a recorded server until it has reached a version, and returns its cache.
func keep(t *testing.T, s recorded, version string, o informer.Options) map[listwatch.Key]rest.Object {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	defer server.CloseClientConnections()
	src, err := rest.New[rest.Object](server.URL+"/api/v1/things", rest.Options{Client: server.Client(), MetadataOnly: s.partial})
	require.NoError(t, err)
	o.Logger = slog.New(slog.DiscardHandler)
	o.OnError = func(err error) { t.Errorf("told: %v", err) }
	o.Reflector.Grace = time.Minute // the machine may be busy with other tests
	i := informer.New(src, o)
	var rec fakes.Recorder[rest.Object]
	reg, err := i.AddHandler(t.Context(), rec.Handle, informer.HandlerOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- i.Run(ctx) }()
	require.NoError(t, i.WaitForSync(ctx))
	<-i.Reached(version).Done()
	<-reg.Synced().Done()
	require.Equal(t, version, i.Indexer().Version())
	held := map[listwatch.Key]rest.Object{}
	for k, object := range i.Indexer().All() {
		held[k] = object
	}
	require.NoError(t, rec.WaitFor(ctx, func([]informer.Change[rest.Object]) bool { return len(rec.Held()) == len(held) }))
	cancel()
	require.NoError(t, <-done)
	rec.Check(t)
	return held
}

// Recorded lists lead to a cache of their items.
func TestRecordedListsFeedAnInformer(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*list*.json")
	require.NoError(t, err)
	lists := 0
	for _, file := range files {
		text := readFile(t, file)
		items, meta := wantItems(t, []byte(text))
		if meta.ResourceVersion == "" || meta.Continue != "" || len(items) == 0 || strings.Contains(file, "page") {
			continue
		}
		lists++
		held := keep(t, recorded{partial: strings.Contains(file, "partial"), pages: map[string]string{"": text}}, meta.ResourceVersion, informer.Options{})
		require.Empty(t, cmp.Diff(byKey(t, items), plain(t, held)), file)
	}
	require.Greater(t, lists, 8)
}

func TestRecordedPagesFeedAnInformer(t *testing.T) {
	pages := map[string]string{}
	token, version := "", ""
	var all []any
	for _, name := range []string{"page1", "page2", "page3"} {
		text := readFile(t, "testdata/wire/list-pods-"+name+".json")
		pages[token] = text
		items, meta := wantItems(t, []byte(text))
		all = append(all, items...)
		token, version = meta.Continue, meta.ResourceVersion
	}
	held := keep(t, recorded{pages: pages}, version, informer.Options{Reflector: reflector.Options{PageSize: 7}})
	require.Len(t, held, 20)
	require.Empty(t, cmp.Diff(byKey(t, all), plain(t, held)))
}

// Recorded watches lead to a cache of what encoding/json makes of their events. A watch from "0" is
// left out: a reflector never sends one.
func TestRecordedWatchesFeedAnInformer(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/watch-*.jsonl")
	require.NoError(t, err)
	watches := 0
	for _, file := range files {
		if strings.Contains(file, "table") || strings.Contains(file, "-410") || strings.Contains(file, "-504") || strings.Contains(file, "-rv0") {
			continue
		}
		watches++
		text := readFile(t, file)
		want, kind, version := fold(t, text)
		empty := `{"kind":"` + kind + `List","metadata":{"resourceVersion":"1"},"items":[]}`
		s := recorded{partial: strings.Contains(file, "partial"), pages: map[string]string{"": empty}, watched: text}
		if strings.Contains(file, "initial") {
			s = recorded{stream: text}
		}
		require.Empty(t, cmp.Diff(want, plain(t, keep(t, s, version, informer.Options{}))), file)
	}
	require.Greater(t, watches, 7)
}

// fold returns what is left after the events of a watch, with their kind and the last version.
func fold(t *testing.T, text string) (objects map[listwatch.Key]any, kind, version string) {
	objects = map[listwatch.Key]any{}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	for {
		var event struct {
			Type   string
			Object map[string]any
		}
		err := decoder.Decode(&event)
		if err == io.EOF {
			return objects, kind, version
		}
		require.NoError(t, err)
		kind, _ = event.Object["kind"].(string)
		key, at := identify(event.Object)
		version = at
		switch event.Type {
		case "ADDED", "MODIFIED":
			objects[key] = event.Object
		case "DELETED":
			delete(objects, key)
		}
	}
}

func identify(object map[string]any) (listwatch.Key, string) {
	meta, _ := object["metadata"].(map[string]any)
	var k listwatch.Key
	k.Namespace, _ = meta["namespace"].(string)
	k.Name, _ = meta["name"].(string)
	version, _ := meta["resourceVersion"].(string)
	return k, version
}

func byKey(t *testing.T, items []any) map[listwatch.Key]any {
	out := map[listwatch.Key]any{}
	for _, item := range items {
		object, ok := item.(map[string]any)
		require.True(t, ok)
		k, _ := identify(object)
		out[k] = object
	}
	return out
}

// plain makes of objects what encoding/json would, for comparison.
func plain(t *testing.T, objects map[listwatch.Key]rest.Object) map[listwatch.Key]any {
	out := map[listwatch.Key]any{}
	for k, object := range objects {
		text, err := json.Marshal(object)
		require.NoError(t, err)
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var v any
		require.NoError(t, decoder.Decode(&v))
		out[k] = v
	}
	return out
}

func readFile(t *testing.T, name string) string {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
