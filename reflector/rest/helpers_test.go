package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Pod has the shape of a Kubernetes type.
type Pod struct {
	Kind           string `json:"kind,omitempty"`
	APIVersion     string `json:"apiVersion,omitempty"`
	listwatch.Meta `json:"metadata"`
	Labels         map[string]string `json:"-"`
	Spec           struct {
		NodeName string `json:"nodeName,omitempty"`
		Replicas int32  `json:"replicas,omitempty"`
	} `json:"spec"`
}

// script answers requests one after the other, and keeps their queries.
type script struct {
	t      testing.TB
	server *httptest.Server

	mu       sync.Mutex
	answers  []http.HandlerFunc
	requests []*http.Request
	dialed   map[string]bool
}

func newScript(t testing.TB, answers ...http.HandlerFunc) *script {
	s := &script{t: t, answers: answers, dialed: make(map[string]bool)}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.dialed[r.RemoteAddr] = true
	if len(s.answers) == 0 {
		s.mu.Unlock()
		s.t.Errorf("unexpected request %s", r.URL)
		http.Error(w, "unexpected", http.StatusTeapot)
		return
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	s.mu.Unlock()
	answer(w, r)
}

func (s *script) queries() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []url.Values
	for _, r := range s.requests {
		all = append(all, r.URL.Query())
	}
	return all
}

// source returns a source of pods at the script's server.
func source[T listwatch.Object](s *script, o rest.Options) *rest.Source[T] {
	if o.Client == nil {
		o.Client = s.server.Client()
	}
	result, err := rest.New[T](s.server.URL+"/api/v1/pods", o)
	require.NoError(s.t, err)
	return result
}

// body answers 200 with JSON.
func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

// failure answers with a code.
func failure(code int, contentType, text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

func podList(version, rest string, pods ...string) string {
	return fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":%q%s},"items":[%s]}`+"\n", version, rest, strings.Join(pods, ","))
}

func pod(name, version string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"ns","uid":"u-%s","resourceVersion":%q},"spec":{"nodeName":"n1"}}`, name, name, version)
}

func event(kind, name, version string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":"u","resourceVersion":%q}}}`+"\n", kind, name, version)
}

func bookmark(version, mark string) string {
	annotations := ""
	if mark != "" {
		annotations = fmt.Sprintf(`,"annotations":{"k8s.io/initial-events-end":%q}`, mark)
	}
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":%q%s},"spec":{"containers":null},"status":{}}}`+"\n", version, annotations)
}

// record keeps what a source delivers.
type record[T listwatch.Object] struct {
	objects []T
	events  []string
	full    []listwatch.Event[T]
	batches int
	refused []string
	errs    []error
	heads   []listwatch.Head
}

func (r *record[T]) each(objects ...T) error {
	r.objects = append(r.objects, objects...)
	r.batches++
	return nil
}

func (r *record[T]) refuse(head listwatch.Head, err error) error {
	r.refused = append(r.refused, head.Key.String())
	r.errs = append(r.errs, err)
	r.heads = append(r.heads, head)
	return nil
}

// watch notes events as "Type name@position".
func (r *record[T]) watch(events ...listwatch.Event[T]) error {
	r.batches++
	r.full = append(r.full, events...)
	for _, e := range events {
		r.events = append(r.events, show(e))
	}
	return nil
}

func show[T listwatch.Object](e listwatch.Event[T]) string {
	if e.Type == listwatch.Bookmark || e.Type == listwatch.Synced {
		return fmt.Sprintf("%s@%s", e.Type, e.ResourceVersion)
	}
	return fmt.Sprintf("%s %s@%s", e.Type, listwatch.KeyOf(e.Object), e.ResourceVersion)
}

// list lists everything at once.
func list[T listwatch.Object](s listwatch.ListerWatcher[T]) (*record[T], listwatch.ListMeta, error) {
	r := &record[T]{}
	meta, err := s.List(context.Background(), listwatch.ListOptions{Refused: r.refuse}, r.each)
	return r, meta, err
}

// watch watches until the stream ends.
func watch[T listwatch.Object](s listwatch.ListerWatcher[T], o listwatch.WatchOptions) (*record[T], error) {
	r := &record[T]{}
	o.Refused = r.refuse
	err := s.Watch(context.Background(), o, r.watch)
	return r, err
}

// generic decodes JSON without rounding numbers.
func generic(t testing.TB, text []byte) any {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return v
}

// objectOf makes an Object of v.
func objectOf(t testing.TB, v any) rest.Object {
	o, err := rest.ObjectOf(v)
	require.NoError(t, err)
	return o
}

// same brings an object into the form of generic.
func same(t testing.TB, object any) any {
	text, err := json.Marshal(object)
	require.NoError(t, err)
	return generic(t, text)
}
