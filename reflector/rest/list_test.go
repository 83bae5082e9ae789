package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

func TestListQueries(t *testing.T) {
	const sel = "fieldSelector=spec.nodeName%3Dn1&labelSelector=app%3Dweb%2Cx+in+%28a%2Cb%29&"
	for name, test := range map[string]struct {
		o    listwatch.ListOptions
		want string
	}{
		"latest":             {listwatch.ListOptions{ResourceVersion: "9"}, ""},
		"page":               {listwatch.ListOptions{Limit: 500}, "limit=500"},
		"not older":          {listwatch.ListOptions{Match: listwatch.MatchNotOlder, ResourceVersion: "9"}, "resourceVersion=9&resourceVersionMatch=NotOlderThan"},
		"any":                {listwatch.ListOptions{Match: listwatch.MatchNotOlder, ResourceVersion: "0"}, "resourceVersion=0&resourceVersionMatch=NotOlderThan"},
		"not older than ''":  {listwatch.ListOptions{Match: listwatch.MatchNotOlder}, ""},
		"not older, a page":  {listwatch.ListOptions{Match: listwatch.MatchNotOlder, ResourceVersion: "9", Limit: 1}, "limit=1&resourceVersion=9&resourceVersionMatch=NotOlderThan"},
		"exact":              {listwatch.ListOptions{Match: listwatch.MatchExact, ResourceVersion: "9"}, "resourceVersion=9&resourceVersionMatch=Exact"},
		"continue":           {listwatch.ListOptions{Match: listwatch.MatchExact, ResourceVersion: "9", Continue: "a+b/=", Limit: 7}, "continue=a%2Bb%2F%3D&limit=7"},
		"continue, no limit": {listwatch.ListOptions{Continue: "t"}, "continue=t"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, body(podList("9", "")), body(podList("9", "")))
			_, err := source[*Pod](s, rest.Options{}).List(t.Context(), test.o, nil)
			require.NoError(t, err)
			_, err = source[*Pod](s, rest.Options{LabelSelector: "app=web,x in (a,b)", FieldSelector: "spec.nodeName=n1"}).List(t.Context(), test.o, nil)
			require.NoError(t, err)
			want, err := url.ParseQuery(test.want)
			require.NoError(t, err)
			require.Equal(t, want, s.queries()[0])
			want, err = url.ParseQuery(sel + test.want)
			require.NoError(t, err)
			require.Equal(t, want, s.queries()[1])
			require.Equal(t, "application/json", s.requests[0].Header.Get("Accept"))
			require.Equal(t, "listwatch", s.requests[0].Header.Get("User-Agent"))
		})
	}
}

// Scenario 19. A continue token that is there but empty ends the list.
func TestEmptyContinueTokenIsTheEnd(t *testing.T) {
	for _, rest := range []string{`,"continue":""`, `,"continue":null`, ``} {
		_, meta, err := list(source[*Pod](newScript(t, body(podList("9", rest, pod("a", "1"), pod("b", "2"), pod("c", "3")))), restOptions))
		require.NoError(t, err)
		require.Equal(t, listwatch.ListMeta{ResourceVersion: "9"}, meta)
	}
	_, meta, err := list(source[*Pod](newScript(t, body(podList("9", `,"continue":"tok","remainingItemCount":13`))), restOptions))
	require.NoError(t, err)
	require.Equal(t, listwatch.ListMeta{ResourceVersion: "9", Continue: "tok", Remaining: 13}, meta)
}

var restOptions rest.Options

// Scenario 116. "0" means any state: what the server gives is passed on as it is, with its own
// version. Who must not act on old state asks for the latest.
func TestAnyStateIsAskedForOnlyByZero(t *testing.T) {
	s := newScript(t, body(podList("60", "")), body(podList("100", "")), body(podList("100", "")))
	src := source[*Pod](s, rest.Options{})
	meta, err := src.List(t.Context(), listwatch.ListOptions{Match: listwatch.MatchNotOlder, ResourceVersion: "0"}, nil)
	require.NoError(t, err)
	require.Equal(t, "60", meta.ResourceVersion)
	meta, err = src.List(t.Context(), listwatch.ListOptions{}, nil)
	require.NoError(t, err)
	require.Equal(t, "100", meta.ResourceVersion)
	_, err = src.List(t.Context(), listwatch.ListOptions{Match: listwatch.MatchNotOlder}, nil)
	require.NoError(t, err)
	require.Equal(t, []url.Values{{"resourceVersion": {"0"}, "resourceVersionMatch": {"NotOlderThan"}}, {}, {}}, s.queries())
}

type podByValue struct {
	listwatch.Meta `json:"metadata"`
}

type ownMap map[string]any

func (m ownMap) part(name string) string {
	metadata, _ := m["metadata"].(map[string]any)
	s, _ := metadata[name].(string)
	return s
}
func (m ownMap) GetNamespace() string       { return m.part("namespace") }
func (m ownMap) GetName() string            { return m.part("name") }
func (m ownMap) GetResourceVersion() string { return m.part("resourceVersion") }

func TestObjectsOfAllForms(t *testing.T) {
	text := podList("9", "", pod("a", "1"), pod("b", "2"))
	s := newScript(t, body(text), body(text), body(text))
	byPointer, _, err := list(source[*Pod](s, rest.Options{}))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, []string{byPointer.objects[0].Name, byPointer.objects[1].Name})
	require.Equal(t, "n1", byPointer.objects[1].Spec.NodeName)
	byValue, _, err := list(source[podByValue](s, rest.Options{}))
	require.NoError(t, err)
	require.Equal(t, []podByValue{
		{listwatch.Meta{Namespace: "ns", Name: "a", UID: "u-a", ResourceVersion: "1"}},
		{listwatch.Meta{Namespace: "ns", Name: "b", UID: "u-b", ResourceVersion: "2"}},
	}, byValue.objects)
	maps, _, err := list(source[ownMap](s, rest.Options{}))
	require.NoError(t, err)
	require.Equal(t, "b", maps.objects[1].GetName())
}

type listAnswer struct {
	text    string
	names   []string
	version string
	err     error
	refused []error
}

func listAnswers() map[string]listAnswer {
	a := pod("a", "1")
	withKind := `{"kind":"Pod",` + a[1:]
	return map[string]listAnswer{
		"metadata last":          {`{"apiVersion":"v1","items":[` + withKind + `],"kind":"PodList","metadata":{"continue":"","resourceVersion":"9"}}`, []string{"a"}, "9", nil, nil},
		"kind last, none inside": {`{"items":[` + a + `],"metadata":{"resourceVersion":"9"},"kind":"PodList"}`, []string{"a"}, "9", nil, nil},
		"wrong kind last":        {`{"items":[` + a + `],"kind":"NodeList"}`, []string{"a"}, "", listwatch.ErrWrongKind, nil},
		"no kind":                {`{"items":[` + a + `],"metadata":{"resourceVersion":"9"}}`, []string{"a"}, "", listwatch.ErrWrongKind, nil},
		"foreign item":           {`{"kind":"PodList","items":[{"kind":"Node",` + a[1:] + `,` + withKind + `],"metadata":{"resourceVersion":"9"}}`, []string{"a"}, "9", nil, []error{listwatch.ErrWrongKind}},
		"items null":             {`{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":null}`, nil, "9", nil, nil},
		"items missing":          {`{"kind":"PodList","metadata":{"resourceVersion":"9"}}`, nil, "9", nil, nil},
		"items missing, no list": {`{"kind":"Pod","metadata":{"resourceVersion":"9"}}`, nil, "", listwatch.ErrWrongKind, nil},
		"just List":              {`{"kind":"List","items":[]}`, nil, "", listwatch.ErrWrongKind, nil},
		"kind no string":         {`{"kind":5,"items":[]}`, nil, "", listwatch.ErrDecode, nil},
		"items no array":         {`{"kind":"PodList","items":{}}`, nil, "", listwatch.ErrDecode, nil},
		"items nil":              {`{"kind":"PodList","items":nil}`, nil, "", listwatch.ErrDecode, nil},
		"items twice":            {`{"kind":"PodList","items":[` + a + `],"items":[]}`, []string{"a"}, "", listwatch.ErrDecode, nil},
		"bad metadata":           {`{"kind":"PodList","metadata":{"resourceVersion":9}}`, nil, "", listwatch.ErrDecode, nil},
		"metadata twice":         {`{"kind":"PodList","metadata":{"resourceVersion":"8"},"metadata":{"resourceVersion":"9"},"items":[]}`, nil, "9", nil, nil},
		"nested namesakes": {`{"kind":"PodList","x":{"items":[1],"metadata":{"resourceVersion":"1"},"kind":"No"},"metadata":{"resourceVersion":"9"},"items":[` +
			`{"items":[{"metadata":{"name":"no"}}],"spec":{"kind":"No","metadata":{"name":"no"}},` + a[1:] + `]}`, []string{"a"}, "9", nil, nil},
		"escapes":          {`{"\u006bind":"Pod\u004cist","items":[{"metadat\u0061":{"n\u0061me":"a","namespace":"n\u0073","resourceVersion":"1\u0030"}}],"metadata":{"resourceVersion":"9"}}`, []string{"a"}, "9", nil, nil},
		"trailing garbage": {podList("9", "", a) + "x", []string{"a"}, "", listwatch.ErrDecode, nil},
		"two lists":        {podList("9", "", a) + podList("9", "", a), []string{"a"}, "", listwatch.ErrDecode, nil},
		"no JSON":          {"<html>", nil, "", listwatch.ErrDecode, nil},
		"empty":            {"", nil, "", listwatch.ErrUnavailable, nil},
		"item null":        {podList("9", "", "null", a), []string{"a"}, "9", nil, []error{listwatch.ErrDecode}},
		"item undecodable": {podList("9", "", `{"metadata":{"name":"bad","resourceVersion":"2"},"spec":{"replicas":"many"}}`, a), []string{"a"}, "9", nil, []error{listwatch.ErrDecode}},
		"item bad JSON":    {podList("9", "", `{"metadata":{"name":"bad","resourceVersion":"2"},"spec":tru}`, a), []string{"a"}, "9", nil, []error{listwatch.ErrDecode}},
		"no name":          {podList("9", "", `{"metadata":{"resourceVersion":"2"}}`, a), []string{"a"}, "9", nil, []error{listwatch.ErrProtocol}},
		"no version":       {podList("9", "", `{"metadata":{"name":"bad"}}`, a), []string{"a"}, "9", nil, []error{listwatch.ErrProtocol}},
		"name no string":   {podList("9", "", `{"metadata":{"name":5,"resourceVersion":"2"}}`, a), []string{"a"}, "9", nil, []error{listwatch.ErrDecode}},
		"two names":        {podList("9", "", `{"metadata":{"name":"bad","Name":"other","resourceVersion":"2"}}`, a), []string{"a"}, "9", nil, []error{listwatch.ErrProtocol}},
		"last name wins":   {podList("9", "", `{"metadata":{"name":"no","resourceVersion":"2","name":"a"}}`), []string{"a"}, "9", nil, nil},
	}
}

// An answer is read whatever order its members have, and is complete or an error.
func TestListAnswers(t *testing.T) {
	for name, test := range listAnswers() {
		t.Run(name, func(t *testing.T) {
			r, meta, err := list(source[*Pod](newScript(t, body(test.text)), rest.Options{Kind: "Pod"}))
			if test.err != nil {
				require.ErrorIs(t, err, test.err)
				require.ErrorContains(t, err, "list /api/v1/pods: ")
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, test.version, meta.ResourceVersion)
			var names []string
			for _, o := range r.objects {
				names = append(names, o.Name)
			}
			require.Equal(t, test.names, names)
			require.Len(t, r.errs, len(test.refused))
			for i, want := range test.refused {
				require.ErrorIs(t, r.errs[i], want)
			}
		})
	}
}

// A list that is cut anywhere is an error that says so, never a short list.
func TestTruncatedListIsAnError(t *testing.T) {
	text := strings.TrimSpace(podList("9", `,"continue":"x"`, pod("a", "1"), pod("b", "2")))
	for n := range len(text) {
		_, _, err := list(source[*Pod](newScript(t, body(text[:n])), rest.Options{}))
		require.ErrorIs(t, err, listwatch.ErrUnavailable, "%d", n)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d", n)
	}
}

// What is known is not decoded, nor handed on.
func TestKnownObjectsAreNotDecoded(t *testing.T) {
	s := newScript(t, body(podList("9", "", pod("a", "1"), pod("b", "2"), pod("c", "3"))))
	decoded := 0
	src := source[*Pod](s, rest.Options{Decode: func(data []byte, v any) error {
		decoded++
		*v.(**Pod) = &Pod{Meta: listwatch.Meta{Namespace: "ns", Name: "b", ResourceVersion: "2"}}
		return nil
	}})
	var heads []listwatch.Head
	r := &record[*Pod]{}
	_, err := src.List(t.Context(), listwatch.ListOptions{Known: func(h listwatch.Head) bool {
		heads = append(heads, h)
		return h.Key.Name != "b"
	}}, r.each)
	require.NoError(t, err)
	require.Equal(t, 1, decoded)
	require.Equal(t, "b", r.objects[0].Name)
	require.Equal(t, []listwatch.Head{
		{Key: listwatch.Key{Namespace: "ns", Name: "a"}, UID: "u-a", ResourceVersion: "1"},
		{Key: listwatch.Key{Namespace: "ns", Name: "b"}, UID: "u-b", ResourceVersion: "2"},
		{Key: listwatch.Key{Namespace: "ns", Name: "c"}, UID: "u-c", ResourceVersion: "3"},
	}, heads)
}

// A batch is what has come, and is handed on before the source waits for more.
func TestListDeliversBeforeItWaits(t *testing.T) {
	more := make(chan struct{})
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		text := podList("9", "", pod("a", "1"), pod("b", "2"), pod("c", "3"))
		at := strings.Index(text, `{"metadata":{"name":"c"`) + 5
		body(text[:at])(w, r)
		w.(http.Flusher).Flush()
		<-more
		_, _ = io.WriteString(w, text[at:])
	})
	var batches []int
	_, err := source[*Pod](s, rest.Options{}).List(t.Context(), listwatch.ListOptions{}, func(pods ...*Pod) error {
		if len(batches) == 0 {
			close(more)
		}
		batches = append(batches, len(pods))
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, batches)
}

// Errors of the callbacks end the call and come back as they are.
func TestCallbacksEndTheCall(t *testing.T) {
	stop := errors.New("stop")
	bad := `{"metadata":{"name":"bad"}}`
	text := podList("9", "", pod("a", "1"), bad, pod("b", "2"))
	s := newScript(t, body(text), body(text), body(text), body(event("ADDED", "a", "1")), body(event("ODD", "a", "1")))
	src := source[*Pod](s, rest.Options{})
	_, err := src.List(t.Context(), listwatch.ListOptions{Refused: func(listwatch.Head, error) error { return stop }}, func(...*Pod) error { return nil })
	require.Same(t, stop, err)
	_, err = src.List(t.Context(), listwatch.ListOptions{}, func(...*Pod) error { return nil })
	require.ErrorIs(t, err, listwatch.ErrProtocol, "a nil Refused refuses to go on")
	_, err = src.List(t.Context(), listwatch.ListOptions{Refused: func(listwatch.Head, error) error { return nil }}, func(...*Pod) error { return io.ErrUnexpectedEOF })
	require.Equal(t, io.ErrUnexpectedEOF, err)
	err = src.Watch(t.Context(), listwatch.WatchOptions{}, func(...listwatch.Event[*Pod]) error { return stop })
	require.Same(t, stop, err)
	err = src.Watch(t.Context(), listwatch.WatchOptions{Refused: func(listwatch.Head, error) error { return stop }}, nil)
	require.Same(t, stop, err)
}

type explosive struct{ listwatch.Meta }

func (e *explosive) UnmarshalJSON(data []byte) error {
	if strings.Contains(string(data), "bang") {
		panic("bang")
	}
	e.Meta = listwatch.Meta{Namespace: "ns", Name: "a", ResourceVersion: "1"}
	return nil
}

func TestPanicOfDecodingRefusesTheObject(t *testing.T) {
	r, _, err := list(source[*explosive](newScript(t, body(podList("9", "", pod("bang", "2"), pod("a", "1")))), rest.Options{}))
	require.NoError(t, err)
	require.Len(t, r.objects, 1)
	require.Equal(t, []string{"ns/bang"}, r.refused)
	require.ErrorIs(t, r.errs[0], listwatch.ErrDecode)
}

// Scenario 43, for lists. An object over the limit is refused with its size, the rest goes on.
func TestTooLargeObjectInAList(t *testing.T) {
	big := func(name string, n int) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"ns","uid":"u","resourceVersion":"5"},"x":%q}`, name, strings.Repeat("x", n))
	}
	text := podList("9", "", pod("a", "1"), big("b", 300<<10), big("c", 900<<10), pod("d", "4"))
	r, meta, err := list(source[*Pod](newScript(t, body(text)), rest.Options{MaxObjectBytes: 512 << 10}))
	require.NoError(t, err)
	require.Equal(t, "9", meta.ResourceVersion)
	require.Len(t, r.objects, 3)
	require.Equal(t, []string{"ns/c"}, r.refused)
	require.Equal(t, "5", r.heads[0].ResourceVersion)
	require.ErrorIs(t, r.errs[0], listwatch.ErrTooLarge)
	require.ErrorContains(t, r.errs[0], fmt.Sprintf("%d bytes, the limit is %d", len(big("c", 900<<10)), 512<<10))
	_, err = source[*Pod](newScript(t, body(text)), rest.Options{MaxObjectBytes: 512 << 10}).List(t.Context(), listwatch.ListOptions{}, func(...*Pod) error { return nil })
	require.ErrorIs(t, err, listwatch.ErrTooLarge)
	_, _, err = list(source[*Pod](newScript(t, body(`{"kind":"PodList","metadata":{"a":"`+strings.Repeat("x", 2000)+`"},"items":[]}`)), rest.Options{MaxObjectBytes: 1000}))
	require.ErrorIs(t, err, listwatch.ErrTooLarge, "metadata of the list")
}

// What is too large is not looked at, so that a broken head of it names nothing: half of a key is
// another key.
func TestTooLargeObjectThatIsNoJSON(t *testing.T) {
	big := `{"metadata":{"name":"b","names` + "\x00" + `pace":"ns"},"x":"` + strings.Repeat("x", 300<<10) + `"}`
	r, _, err := list(source[*Pod](newScript(t, body(podList("9", "", pod("a", "1"), big))), rest.Options{MaxObjectBytes: 256 << 10}))
	require.NoError(t, err)
	require.Len(t, r.objects, 1)
	require.Equal(t, []listwatch.Head{{}}, r.heads)
	require.ErrorIs(t, r.errs[0], listwatch.ErrTooLarge)
}

// The kind that a sound answer had is the one expected from then on.
func TestKindIsLearnt(t *testing.T) {
	nodes := strings.ReplaceAll(podList("9", ""), "PodList", "NodeList")
	s := newScript(t, body(nodes+"x"), body(nodes), body(podList("9", "", pod("a", "1"))), body(nodes), body(strings.ReplaceAll(event("ADDED", "a", "1"), "Pod", "Node")))
	src := source[*Pod](s, rest.Options{})
	_, _, err := list(src)
	require.ErrorIs(t, err, listwatch.ErrDecode, "nothing is learnt from a broken answer")
	_, _, err = list(src)
	require.NoError(t, err, "nothing is learnt from an empty list")
	_, _, err = list(src)
	require.NoError(t, err)
	_, _, err = list(src)
	require.ErrorIs(t, err, listwatch.ErrWrongKind)
	r, err := watch(src, listwatch.WatchOptions{ResourceVersion: "9"})
	require.NoError(t, err)
	require.Equal(t, []string{"ns/a"}, r.refused)
	require.ErrorIs(t, r.errs[0], listwatch.ErrWrongKind)

	s = newScript(t, body(event("ADDED", "a", "1")), body(nodes))
	src = source[*Pod](s, rest.Options{})
	_, err = watch(src, listwatch.WatchOptions{ResourceVersion: "9"})
	require.NoError(t, err)
	_, _, err = list(src)
	require.ErrorIs(t, err, listwatch.ErrWrongKind, "learnt from a watch")

	own := strings.ReplaceAll(podList("9", "", pod("a", "1")), "PodList", "PodBag")
	s = newScript(t, body(own), body(podList("9", "")))
	src = source[*Pod](s, rest.Options{ListKind: "PodBag"})
	r2, _, err := list(src)
	require.NoError(t, err)
	require.Len(t, r2.objects, 1)
	_, _, err = list(src)
	require.ErrorIs(t, err, listwatch.ErrWrongKind)
}

func TestContextEndsAList(t *testing.T) {
	cause := errors.New("cause")
	for name, answer := range map[string]http.HandlerFunc{
		"before the header": func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"within the body": func(w http.ResponseWriter, r *http.Request) {
			body(`{"kind":"PodList","items":[`+pod("a", "1"))(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"within a failure": func(w http.ResponseWriter, r *http.Request) {
			failure(500, "text/plain", "half")(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			arrived := make(chan struct{})
			s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
				close(arrived)
				answer(w, r)
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			context.AfterFunc(t.Context(), func() { cancel(nil) })
			stopped := make(chan struct{})
			group.Go(func() { defer close(stopped); <-arrived; cancel(cause) })
			_, err := source[*Pod](s, rest.Options{}).List(ctx, listwatch.ListOptions{}, func(...*Pod) error { return nil })
			<-stopped
			require.ErrorIs(t, err, cause)
		})
	}
	s := newScript(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := source[*Pod](s, rest.Options{}).List(ctx, listwatch.ListOptions{}, nil)
	require.ErrorIs(t, err, context.Canceled)
}
