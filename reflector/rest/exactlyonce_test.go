package rest_test

import (
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0: another one each time")

// history is a server whose objects never end: version v was written in namespace ns[v].
type history struct {
	mu   sync.Mutex
	rng  *rand.Rand
	ns   []string
	ends string // the namespace whose streams the server ends; those of others stay open
}

func (h *history) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ns := strings.Split(r.URL.Path, "/")[4]
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	version := strconv.Itoa(len(h.ns) - 1)
	if r.URL.Query().Get("resourceVersionMatch") == "Exact" {
		switch h.rng.IntN(3) { // else the match is ignored
		case 0:
			version = r.URL.Query().Get("resourceVersion")
		case 1:
			return respond(http.StatusGone, strings.NewReader(`{"code":410}`)), nil
		}
	}
	text := namespaced(ns, podList(version, ""))
	if r.URL.Query().Has("watch") {
		if err != nil {
			return nil, err
		}
		text = ""
		for v := from + 1; v < len(h.ns) && h.rng.IntN(12) > 0; v++ {
			if h.ns[v] == ns {
				text += namespaced(ns, event("MODIFIED", "p", strconv.Itoa(v)))
			} else if h.rng.IntN(3) == 0 {
				text += bookmark(strconv.Itoa(v), "")
			}
		}
	} else if h.rng.IntN(2) == 0 {
		h.write(3) // while the list is being taken
	}
	var body io.Reader = strings.NewReader(text)
	if ns != h.ends && r.URL.Query().Has("watch") {
		body = io.MultiReader(body, open{r.Context().Done()})
	}
	return respond(http.StatusOK, body), nil
}

func respond(code int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body)}
}

// open has nothing more to read.
type open struct{ done <-chan struct{} }

func (o open) Read([]byte) (int, error) {
	<-o.done
	return 0, io.EOF
}

func (h *history) write(n int) {
	for range n {
		h.ns = append(h.ns, []string{"a", "b", "c"}[h.rng.IntN(3)])
	}
}

// Through lists and watches that break anywhere, a consumer that goes on from the version that
// it was given last gets each change of each namespace once, in order.
func TestChangesOfNamespacesComeOnce(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed=%d", seed)
	for round := range uint64(60) {
		h := &history{rng: rand.New(rand.NewPCG(seed, round)), ns: []string{""}}
		h.write(5)
		src, err := rest.New[*Pod]("http://server/api/v1/pods", rest.Options{Client: &http.Client{Transport: h}, Namespaces: []string{"a", "b", "c"}})
		require.NoError(t, err)
		_, meta, err := list(src)
		require.NoError(t, err)
		position := meta.ResourceVersion
		h.write(40)

		var seen []int
		take := func(events ...listwatch.Event[*Pod]) error {
			for _, e := range events {
				if e.Type == listwatch.Modified {
					v, err := strconv.Atoi(e.Object.ResourceVersion)
					require.NoError(t, err)
					require.Equal(t, h.ns[v], e.Object.Namespace)
					seen = append(seen, v)
				}
				if e.ResourceVersion != "" {
					require.False(t, listwatch.Newer(position, e.ResourceVersion), "the position goes back")
					position = e.ResourceVersion
				}
			}
			return nil
		}
		for n := 0; position != strconv.Itoa(len(h.ns)-1) && n < 3000; n++ {
			h.ends = []string{"a", "b", "c"}[n%3]
			require.NoError(t, src.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: position}, take))
		}
		require.Equal(t, strconv.Itoa(len(h.ns)-1), position, "it gets to the end")
		got, want := map[string][]int{}, map[string][]int{}
		for _, v := range seen {
			got[h.ns[v]] = append(got[h.ns[v]], v)
		}
		for v, ns := range h.ns {
			if len(got[ns]) > 0 && v >= got[ns][0] {
				want[ns] = append(want[ns], v)
			}
		}
		require.Equal(t, want, got, "round %d", round)
		start, err := strconv.Atoi(meta.ResourceVersion)
		require.NoError(t, err)
		// Each namespace's list may have been newer than the whole's: at most three writes each.
		require.GreaterOrEqual(t, len(seen), len(h.ns)-1-start-9)
	}
}

// What a namespace has passed already does not come again, though the others are behind it: there
// the consumer has no version to tell it by.
func TestReplaysOfANamespaceAreNoEvents(t *testing.T) {
	c := newCluster(t, "a", "b")
	got := c.play(t, several(c.script, "a", "b"), listwatch.WatchOptions{ResourceVersion: "1"},
		"a: "+event("ADDED", "x", "5"),
		"a: "+event("DELETED", "x", "8"),
		"a: "+event("ADDED", "x", "5"),
		"a: "+bookmark("6", ""),
		"a: "+event("DELETED", "x", "8")+event("ADDED", "y", "9")+event("ADDED", "z", "9"), // two of one transaction
		"b: "+bookmark("7", ""),
	)
	require.Equal(t, []string{"Added a/x@", "Deleted a/x@", "refused", "refused", "Added a/y@", "Added a/z@", "Bookmark@7"}, got)
}
