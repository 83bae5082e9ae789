package informer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// ask sends a request to a handler, without a network.
func ask(h http.Handler, method, target string, accept ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Header["Accept"] = accept
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// answer is the JSON of the page, as far as these tests look at it.
type answer struct {
	Fault     string
	Informers []struct {
		Name, State, LastError, LastErrorClass string
		Objects                                int
		AgeSeconds                             float64
		Refused                                []struct{ Key listwatch.Key }
		Handlers                               []informer.HandlerStats
		Keys                                   []listwatch.Key
	}
	Queues []struct {
		Name           string
		Ready, Delayed int
		Failing, Items []struct {
			Key, State string
			Failures   int
		}
	}
	Explanation *struct {
		Key   listwatch.Key
		Store informer.ExplainedStore
	}
	Object json.RawMessage
}

func askJSON(t *testing.T, h http.Handler, query string) (a answer) {
	t.Helper()
	w := ask(h, http.MethodGet, "/debug?format=json&"+query)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
	return a
}

// hostile is a name that no page may take for more than a name.
const hostile = `"><script>document.title='owned'</script><img src=http://elsewhere.invalid/>`

// shown is a handler over a factory, an informer and two queues, with everything in it that can be
// told: failures, refusals, waiting handlers and keys.
func shown(t *testing.T, o informer.DebugOptions) http.Handler {
	server := newServer(fakes.Options[*object]{})
	factory := &informer.Factory{Options: quiet(informer.Options{})}
	pods, err := informer.Of[*object](factory, "pods", refuses{server})
	require.NoError(t, err)
	_, err = indexer.AddIndex(pods.Indexer(), "value", func(o *object) []string { return []string{o.Value} })
	require.NoError(t, err)
	down := newServer(fakes.Options[*object]{})
	for range 100 {
		down.Fail(fakes.VerbList, fakes.Status(http.StatusForbidden, hostile))
		down.Fail(fakes.VerbWatch, fakes.Status(http.StatusForbidden, hostile))
	}
	denied := informer.New[*object](down, quiet(informer.Options{Name: hostile}))
	for _, o := range []*object{named("web", "secret-1"), named("db", "secret-2"), named(hostile, "secret-3"), named("broken", "bad")} {
		_, err := server.Put(o)
		require.NoError(t, err)
	}
	keys := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods"})
	keys.AddRateLimited(key("web"))
	keys.AddWith(key("web"), workqueue.AddOptions{After: time.Hour, Replace: true})
	keys.AddAfter(key(hostile), time.Hour)
	keys.Add(key("db"))
	names := workqueue.New[string](workqueue.Options{Name: hostile})
	names.Add(hostile)
	_, err = pods.AddHandler(t.Context(), func(context.Context, change) {}, informer.HandlerOptions{Name: "fine"})
	require.NoError(t, err)
	g := make(gate)
	_, err = pods.AddHandler(t.Context(), g.handle, informer.HandlerOptions{Name: "stuck"})
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- factory.Run(ctx) }()
	go func() { done <- denied.Run(ctx) }()
	require.NoError(t, pods.WaitForSync(ctx))
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		keys.Close()
		names.Close()
	})
	o.Factory, o.Informers, o.Queues = factory, []informer.Inspected{denied}, []informer.Queue{keys, names}
	return informer.DebugHandler(o)
}

func TestDebugShowsEverythingAsJSON(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := shown(t, informer.DebugOptions{})
		time.Sleep(time.Second)
		synctest.Wait()
		a := askJSON(t, h, "")
		require.Len(t, a.Informers, 2)
		pods, denied := a.Informers[0], a.Informers[1]
		require.Equal(t, []any{"pods", "Watching", 3, 1.0}, []any{pods.Name, pods.State, pods.Objects, pods.AgeSeconds})
		require.Equal(t, key("broken"), pods.Refused[0].Key)
		require.Empty(t, pods.Keys, "no keys of all informers")
		require.Equal(t, "fine", pods.Handlers[0].Name)
		require.EqualValues(t, 3, pods.Handlers[0].Delivered)
		require.EqualValues(t, 3, pods.Handlers[1].Pending)
		require.Equal(t, []string{hostile, "forbidden"}, []string{denied.Name, denied.LastErrorClass})
		require.Contains(t, denied.LastError, hostile)

		require.Len(t, a.Queues, 2)
		require.Equal(t, []int{1, 2}, []int{a.Queues[0].Ready, a.Queues[0].Delayed})
		require.Len(t, a.Queues[0].Failing, 1)
		require.Equal(t, "ns/web", a.Queues[0].Failing[0].Key)
		require.Empty(t, a.Queues[0].Items)

		require.Len(t, askJSON(t, h, "informer=pods").Informers[0].Keys, 3)
		queue := askJSON(t, h, "queue=pods")
		require.Len(t, queue.Queues[0].Items, 3)
		require.Equal(t, []string{"ns/db", "Ready"}, []string{queue.Queues[0].Items[0].Key, queue.Queues[0].Items[0].State})
		require.Equal(t, key("web"), askJSON(t, h, "informer=pods&key=ns/web").Explanation.Key)
		odd := url.Values{"informer": {"pods"}, "namespace": {"ns"}, "name": {hostile}}
		e := askJSON(t, h, odd.Encode())
		require.True(t, e.Explanation.Store.Held)
	})
}

// Objects and what is made of them are shown to those who have asked for it.
func TestDebugHidesObjects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := shown(t, informer.DebugOptions{})
		for _, query := range []string{"", "?informer=pods", "?informer=pods&key=ns/web", "?queue=pods"} {
			for _, format := range []string{"text/html", "application/json"} {
				require.NotContains(t, ask(h, http.MethodGet, "/"+query, format).Body.String(), "secret")
			}
		}
		require.Contains(t, ask(h, http.MethodGet, "/?informer=pods&key=ns/web").Body.String(), ">hidden<")
	})
	t.Run("unless asked for", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h := shown(t, informer.DebugOptions{Objects: true})
			a := askJSON(t, h, "informer=pods&key=ns/web")
			require.Contains(t, string(a.Object), `"value":"secret-1"`)
			require.Equal(t, []informer.ExplainedIndex{{Name: "value", Values: []string{"secret-1"}}}, a.Explanation.Store.Indexes)
			require.Contains(t, ask(h, http.MethodGet, "/?informer=pods&key=ns/web").Body.String(), "secret-1")
			require.Empty(t, askJSON(t, h, "informer=pods&key=ns/broken").Object)
		})
	})
}

func TestDebugPageIsEscaped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := shown(t, informer.DebugOptions{Objects: true})
		for _, query := range []url.Values{
			{}, {"informer": {"pods"}}, {"informer": {hostile}}, {"queue": {hostile}}, {"queue": {"pods"}},
			{"informer": {"pods"}, "namespace": {"ns"}, "name": {hostile}}, {"informer": {"pods"}, "key": {hostile}},
			{"informer": {"no" + hostile}}, {"queue": {"no" + hostile}},
		} {
			w := ask(h, http.MethodGet, "/?"+query.Encode())
			require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
			require.NotContains(t, w.Body.String(), "<script")
			require.NotContains(t, w.Body.String(), "<img")
			require.Contains(t, w.Body.String(), "&lt;script&gt;", query)
			require.NotContains(t, w.Body.String(), "ZgotmplZ")
		}
	})
}

func TestDebugOnlyReads(t *testing.T) {
	t.Parallel()
	h := informer.DebugHandler(informer.DebugOptions{})
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		w := ask(h, method, "/")
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		w := ask(h, method, "/")
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-")
	}
	require.Contains(t, ask(h, http.MethodGet, "/").Body.String(), "There are none.")
}

func TestDebugChoosesTheFormat(t *testing.T) {
	t.Parallel()
	h := informer.DebugHandler(informer.DebugOptions{})
	const html, json = "text/html; charset=utf-8", "application/json"
	for _, c := range []struct{ query, accept, want string }{
		{"", "", html},
		{"", "*/*", html},
		{"", "application/json", json},
		{"", "text/html,application/json;q=0.9", html},
		{"?format=json", "text/html", json},
		{"?format=html", "application/json", html},
	} {
		require.Equal(t, c.want, ask(h, http.MethodGet, "/"+c.query, c.accept).Header().Get("Content-Type"), c)
	}
}

func TestDebugOfWhatIsNotThere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := shown(t, informer.DebugOptions{})
		for query, want := range map[string]int{
			"informer=none": http.StatusNotFound, "queue=none": http.StatusNotFound,
			"informer=none&key=a": http.StatusNotFound, "informer=none&name=a": http.StatusNotFound,
			"key=ns/web": http.StatusBadRequest, "namespace=ns&name=web": http.StatusBadRequest, "namespace=ns": http.StatusBadRequest,
			"informer=pods&key=a/b/c": http.StatusBadRequest, "informer=pods&key=a": http.StatusOK,
		} {
			w := ask(h, http.MethodGet, "/?"+query)
			require.Equal(t, want, w.Code, query)
			require.Equal(t, want != http.StatusOK, strings.Contains(w.Body.String(), `id="fault"`), query)
			require.Equal(t, want != http.StatusOK, askJSON(t, h, query).Fault != "", query)
		}
	})
}

func TestDebugListsNoMoreThanItsLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := shown(t, informer.DebugOptions{Limit: 1})
		require.Len(t, askJSON(t, h, "informer=pods").Informers[0].Keys, 1)
		require.Contains(t, ask(h, http.MethodGet, "/?informer=pods").Body.String(), "1 of 3 keys")
		require.Len(t, askJSON(t, h, "queue=pods").Queues[0].Items, 2, "one of each state")
	})
}

func TestDebugClipsLongTexts(t *testing.T) {
	t.Parallel()
	h := informer.DebugHandler(informer.DebugOptions{})
	w := ask(h, http.MethodGet, "/?queue="+strings.Repeat("x", 5000))
	require.Less(t, w.Body.Len()-ask(h, http.MethodGet, "/").Body.Len(), 1000)
	require.Contains(t, w.Body.String(), "characters)")
}

func TestDebugRefusesOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "informer: debug handler: negative Limit -1\nan informer that is nil\na queue that is nil", func() {
		informer.DebugHandler(informer.DebugOptions{Limit: -1, Informers: make([]informer.Inspected, 1), Queues: make([]informer.Queue, 1)})
	})
}

func ExampleDebugHandler() {
	var factory informer.Factory
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods"})
	mux := http.NewServeMux()
	mux.Handle("GET /debug/informers", informer.DebugHandler(informer.DebugOptions{
		Factory: &factory, Queues: []informer.Queue{queue},
	}))

	queue.Add(listwatch.Key{Namespace: "default", Name: "web"})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/informers?queue=pods&format=json", nil))
	var page struct {
		Queues []struct{ Items []struct{ Key, State string } }
	}
	fmt.Println(w.Code, json.Unmarshal(w.Body.Bytes(), &page), page.Queues[0].Items)
	// Output: 200 <nil> [{default/web Ready}]
}
