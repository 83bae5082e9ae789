package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

func namespaced(ns, text string) string { return strings.ReplaceAll(text, `"ns"`, `"`+ns+`"`) }

func several(s *script, namespaces ...string) *rest.Source[*Pod] {
	return source[*Pod](s, rest.Options{Namespaces: namespaces})
}

func matching(match, version string, more ...string) url.Values {
	query := url.Values{"resourceVersion": {version}, "resourceVersionMatch": {match}}
	for i := 0; i+1 < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	return query
}

func TestListOfNamespaces(t *testing.T) {
	s := newScript(t, body(podList("12", "", pod("x", "1"))), body(podList("12", "", pod("y", "2"), pod("z", "3"))), body(podList("12", "")))
	r, meta, err := list(several(s, "a", "b", "c"))
	require.NoError(t, err)
	require.Equal(t, listwatch.ListMeta{ResourceVersion: "12"}, meta)
	require.Len(t, r.objects, 3)
	for i, ns := range []string{"a", "b", "c"} {
		require.Equal(t, "/api/v1/namespaces/"+ns+"/pods", s.requests[i].URL.Path)
	}
	require.Equal(t, []url.Values{{}, matching("Exact", "12"), matching("Exact", "12")}, s.queries())
	s = newScript(t, body(podList("12", "")), body(podList("9", "")), body(podList("14", "")))
	meta, err = several(s, "a", "b", "c").List(t.Context(), listwatch.ListOptions{Match: listwatch.MatchNotOlder, ResourceVersion: "7"}, nil)
	require.NoError(t, err)
	require.Equal(t, "9", meta.ResourceVersion, "the oldest, of a server that ignores the match")
	require.Equal(t, []url.Values{matching("NotOlderThan", "7"), matching("Exact", "12"), matching("Exact", "12")}, s.queries())
	s = newScript(t, body(podList("12", "")), failure(410, "application/json", `{"code":410}`))
	_, err = several(s, "a", "b").List(t.Context(), listwatch.ListOptions{Match: listwatch.MatchExact, ResourceVersion: "12"}, nil)
	require.ErrorIs(t, err, listwatch.ErrExpired, "who asked for this version gets no other")
	s = newScript(t, body(podList("12", "")), failure(403, "application/json", `{"code":403}`))
	_, _, err = list(several(s, "a", "b"))
	require.ErrorIs(t, err, listwatch.ErrForbidden)
	require.ErrorContains(t, err, "/namespaces/b/")
}

// Pages of all namespaces are one list with one version.
func TestPagesOfNamespaces(t *testing.T) {
	pages := func(s *script, o listwatch.ListOptions) (names []string, versions []string, err error) {
		src := several(s, "a", "b", "c")
		for {
			meta, err := src.List(t.Context(), o, func(pods ...*Pod) error {
				for _, p := range pods {
					names = append(names, p.Name)
				}
				return nil
			})
			if err != nil {
				return names, versions, err
			}
			versions = append(versions, meta.ResourceVersion)
			if meta.Continue == "" {
				return names, versions, nil
			}
			o = listwatch.ListOptions{Continue: meta.Continue, Limit: o.Limit}
		}
	}
	all := []http.HandlerFunc{
		body(podList("12", `,"continue":"t/1"`, pod("x", "1"))), body(podList("12", "", pod("y", "2"))),
		body(podList("12", "", pod("z", "3"))), body(podList("13", `,"continue":"t2"`)), body(podList("13", "", pod("w", "3"))),
	}
	s := newScript(t, all...)
	names, versions, err := pages(s, listwatch.ListOptions{Match: listwatch.MatchNotOlder, ResourceVersion: "7", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y", "z", "w"}, names)
	require.Equal(t, []string{"12", "12", "12", "12", "12"}, versions)
	require.Equal(t, []url.Values{
		matching("NotOlderThan", "7", "limit", "1"), {"limit": {"1"}, "continue": {"t/1"}},
		matching("Exact", "12", "limit", "1"), matching("Exact", "12", "limit", "1"), {"limit": {"1"}, "continue": {"t2"}},
	}, s.queries())

	// A server may cut a list into pages that nobody asked for.
	names, versions, err = pages(newScript(t, all...), listwatch.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y", "z", "w"}, names)
	require.Len(t, versions, 3)

	// Two states are never joined: neither of one namespace nor, paged, of two.
	_, _, err = pages(newScript(t, all[0], body(podList("14", ""))), listwatch.ListOptions{Limit: 1})
	require.ErrorIs(t, err, listwatch.ErrExpired)
	_, _, err = pages(newScript(t, all[0], all[1], body(podList("11", ""))), listwatch.ListOptions{Limit: 1})
	require.ErrorIs(t, err, listwatch.ErrExpired)

	for _, token := range []string{"x", "e30", "eyJpIjo5fQ", "eyJpIjotMX0", "bnVsbA"} {
		meta, err := several(newScript(t, all[2], all[2], all[2]), "a", "b", "c").List(t.Context(), listwatch.ListOptions{Continue: token}, func(...*Pod) error { return nil })
		if token == "e30" || token == "bnVsbA" { // an empty cursor is that of a beginning
			require.NoError(t, err)
			require.Equal(t, "12", meta.ResourceVersion)
			continue
		}
		require.ErrorIs(t, err, listwatch.ErrUnsupported, token)
	}
}

// The position of a watch of namespaces is the oldest of theirs; it is told by an event when
// it is the event's own, else by a bookmark. The next watch goes on in each from its own.
func TestWatchOfNamespaces(t *testing.T) {
	c := newCluster(t, "a", "b")
	src := several(c.script, "a", "b")
	got := c.play(t, src, listwatch.WatchOptions{ResourceVersion: "10"},
		"b: "+event("ADDED", "x", "15"),    // a is still at 10
		"b: "+event("DELETED", "x", "16"),  // so it is here
		"a: "+event("ADDED", "y", "12"),    // a has moved, and is the oldest
		"a: "+event("MODIFIED", "y", "20"), // the oldest is b's now
		"b: "+event("ODD", "z", "22"),
		"b: "+bookmark("18", ""),
		"a: "+bookmark("21", ""), // moves nothing
		"b: "+bookmark("30", ""), // a is the oldest
	)
	require.Equal(t, []string{
		"Added b/x@", "Deleted b/x@", "Added a/y@12", "Modified a/y@", "Bookmark@16", "refused", "Bookmark@18", "Bookmark@18", "Bookmark@21",
	}, got)
	require.Equal(t, map[string]string{"a": "10", "b": "10"}, c.versions())

	c.play(t, src, listwatch.WatchOptions{ResourceVersion: "21"}, "a: "+event("ADDED", "w", "31"))
	require.Equal(t, map[string]string{"a": "21", "b": "30"}, c.versions(), "each from its own")
	c.play(t, src, listwatch.WatchOptions{ResourceVersion: "30"}, "b: "+event("ADDED", "w", "32"))
	require.Equal(t, map[string]string{"a": "31", "b": "30"}, c.versions())
	c.play(t, src, listwatch.WatchOptions{ResourceVersion: "5"}, "a: "+event("ADDED", "w", "6"))
	require.Equal(t, map[string]string{"a": "5", "b": "5"}, c.versions(), "of another position nothing is known")
	// The position has not moved, yet a's event was taken: it is not asked for again.
	c.play(t, src, listwatch.WatchOptions{ResourceVersion: "5"}, "a: "+event("ADDED", "v", "7"))
	require.Equal(t, map[string]string{"a": "6", "b": "5"}, c.versions())
}

// A watch from a list goes on in each namespace from that namespace's list.
func TestWatchOfNamespacesFromAList(t *testing.T) {
	c := newCluster(t, "a", "b")
	watches := c.server.Config.Handler
	versions := map[string]string{"a": "12", "b": "14"}
	c.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			watches.ServeHTTP(w, r)
			return
		}
		body(podList(versions[strings.Split(r.URL.Path, "/")[4]], ""))(w, r)
	})
	src := several(c.script, "a", "b")
	_, meta, err := list(src)
	require.NoError(t, err)
	c.play(t, src, listwatch.WatchOptions{ResourceVersion: meta.ResourceVersion}, "b: "+event("ADDED", "x", "15"))
	require.Equal(t, versions, c.versions())

	// A list beside it, under the same version, must not hide what the watch has not had.
	versions["b"] = "40"
	_, meta, err = list(src)
	require.NoError(t, err)
	versions["b"] = "50"
	_, _, err = list(src)
	require.NoError(t, err)
	c.play(t, src, listwatch.WatchOptions{ResourceVersion: meta.ResourceVersion}, "b: "+event("ADDED", "x", "16"))
	require.Equal(t, map[string]string{"a": "12", "b": "15"}, c.versions())
}

// A list that begins beside a watch, under the same version, is none that the watch has got to: what
// the watch brings later is not brought again.
func TestListBesideAWatchOfNamespaces(t *testing.T) {
	c := newCluster(t, "a", "b")
	watches := c.server.Config.Handler
	c.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			watches.ServeHTTP(w, r)
			return
		}
		body(podList("12", ""))(w, r)
	})
	src := several(c.script, "a", "b")
	next := make(chan struct{})
	fed := make(chan error)
	group.Go(func() {
		<-c.open
		<-c.open
		c.feeds["b"] <- event("ADDED", "x", "16")
		<-next
		_, meta, err := list(src)
		c.feeds["b"] <- event("DELETED", "x", "17")
		<-next
		c.feeds["b"] <- ""
		fed <- errors.Join(err, map[bool]error{false: errors.New("another version")}[meta.ResourceVersion == "12"])
	})
	require.NoError(t, src.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "12"}, func(...listwatch.Event[*Pod]) error {
		next <- struct{}{}
		return nil
	}))
	require.NoError(t, <-fed)
	c.wait(2)
	c.play(t, src, listwatch.WatchOptions{ResourceVersion: "12"}, "b: "+event("ADDED", "y", "18"))
	require.Equal(t, map[string]string{"a": "12", "b": "17"}, c.versions())
}

// The initial state is complete when that of all namespaces is.
func TestInitialEventsOfNamespaces(t *testing.T) {
	c := newCluster(t, "a", "b")
	src := several(c.script, "a", "b")
	got := c.play(t, src, listwatch.WatchOptions{InitialEvents: true, ResourceVersion: "7"},
		"a: "+event("ADDED", "x", "5")+bookmark("9", "")+bookmark("10", "true"),
		"a: "+event("MODIFIED", "x", "14"), // a is live already, b is not
		"b: "+event("ADDED", "y", "3")+bookmark("11", "true"),
		"b: "+event("ADDED", "z", "12"),
		"a: "+event("ADDED", "w", "15"),
		"b: "+bookmark("13", ""),
	)
	require.Equal(t, []string{"Added a/x@", "Modified a/x@", "Added b/y@", "Synced@11", "Added b/z@12", "Added a/w@", "Bookmark@13"}, got)
	require.Equal(t, map[string]string{"a": "7", "b": "7"}, c.versions())

	got = c.play(t, src, listwatch.WatchOptions{ResourceVersion: "0"},
		"a: "+event("ADDED", "x", "5"), "a: "+event("MODIFIED", "x", "20"), "b: "+event("MODIFIED", "y", "21"))
	require.Equal(t, []string{"Added a/x@", "Modified a/x@", "Modified b/y@", "Bookmark@20"}, got)
	require.Equal(t, map[string]string{"a": "0", "b": "0"}, c.versions())
}

// A source of namespaces that two consumers watch at once remembers nothing, lest one goes on
// from where the other is.
func TestTwoWatchesOfNamespaces(t *testing.T) {
	c := newCluster(t, "a", "b")
	src := several(c.script, "a", "b")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	group.Go(func() {
		done <- src.Watch(ctx, listwatch.WatchOptions{ResourceVersion: "3"}, func(...listwatch.Event[*Pod]) error { return nil })
	})
	<-c.open
	<-c.open
	arrived := make(chan error)
	group.Go(func() {
		arrived <- src.Watch(ctx, listwatch.WatchOptions{ResourceVersion: "3"}, func(...listwatch.Event[*Pod]) error { cancel(); return nil })
	})
	<-c.open
	<-c.open
	select { // one of the two streams of a takes it
	case c.feeds["a"] <- event("ADDED", "x", "8"):
	case <-ctx.Done():
	}
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	<-arrived
	c.wait(4)
	c.play(t, src, listwatch.WatchOptions{ResourceVersion: "3"}, "b: "+event("ADDED", "y", "9"))
	require.Equal(t, map[string]string{"a": "3", "b": "3"}, c.versions())
}

// Whatever ends one stream ends the watch, and nothing is left behind.
func TestEndsOfAWatchOfNamespaces(t *testing.T) {
	stop := errors.New("stop")
	s := newScript(t)
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/b/") {
			failure(403, "application/json", `{"code":403,"message":"pods is forbidden"}`)(w, r)
			return
		}
		body("")(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	_, err := watch(several(s, "a", "b", "c"), listwatch.WatchOptions{ResourceVersion: "1"})
	require.ErrorIs(t, err, listwatch.ErrForbidden)
	require.ErrorContains(t, err, "/namespaces/b/")

	for name, call := range map[string]func(*rest.Source[*Pod]) error{
		"each": func(src *rest.Source[*Pod]) error {
			return src.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1"}, func(...listwatch.Event[*Pod]) error { return stop })
		},
		"refused": func(src *rest.Source[*Pod]) error {
			return src.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1", Refused: func(listwatch.Head, error) error { return stop }},
				func(...listwatch.Event[*Pod]) error { return nil })
		},
		"panic": func(src *rest.Source[*Pod]) (err error) {
			defer func() { err, _ = recover().(error) }()
			return src.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1"}, func(...listwatch.Event[*Pod]) error { panic(stop) })
		},
		"context": func(src *rest.Source[*Pod]) error {
			ctx, cancel := context.WithCancelCause(t.Context())
			return src.Watch(ctx, listwatch.WatchOptions{ResourceVersion: "1"}, func(...listwatch.Event[*Pod]) error { cancel(stop); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "a", "b")
			fed := make(chan struct{})
			group.Go(func() {
				defer close(fed)
				<-c.open
				<-c.open
				text := event("ADDED", "x", "5")
				if name == "refused" {
					text = event("ODD", "x", "5")
				}
				c.feeds["a"] <- text
			})
			src := several(c.script, "a", "b")
			err := call(src)
			<-fed
			c.wait(2)
			require.ErrorIs(t, err, stop)
			// What was not taken is asked for again.
			if name != "context" {
				c.play(t, src, listwatch.WatchOptions{ResourceVersion: "1"}, "a: "+event("ADDED", "x", "5"))
				require.Equal(t, map[string]string{"a": "1", "b": "1"}, c.versions())
			}
		})
	}
}

// each is called by the goroutine that has called Watch, one call at a time.
func TestWatchOfNamespacesIsOneVoice(t *testing.T) {
	const count = 200
	namespaces := []string{"a", "b", "c", "d"}
	s := newScript(t)
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ns := strings.Split(r.URL.Path, "/")[4]
		body("")(w, r)
		for i := range count {
			_, _ = io.WriteString(w, namespaced(ns, event("ADDED", fmt.Sprint("p", i), fmt.Sprint(100+i))))
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	done := errors.New("done")
	next := make(map[string]int) // a race if each were called by two at once
	position, total := "1", 0
	var busy atomic.Bool
	err := several(s, namespaces...).Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1"}, func(events ...listwatch.Event[*Pod]) error {
		require.True(t, busy.CompareAndSwap(false, true), "called by two at once")
		defer busy.Store(false)
		runtime.Gosched() // others may try
		for _, e := range events {
			if e.ResourceVersion != "" {
				require.True(t, listwatch.Newer(e.ResourceVersion, position), "the position only grows")
				position = e.ResourceVersion
			}
			if e.Type == listwatch.Bookmark {
				continue
			}
			require.Equal(t, fmt.Sprint("p", next[e.Object.Namespace]), e.Object.Name)
			next[e.Object.Namespace]++
			total++
		}
		if total == count*len(namespaces) {
			return done
		}
		return nil
	})
	require.Equal(t, done, err)
	require.Equal(t, fmt.Sprint(100+count-1), position)
}

// When the consumer has failed it is not called again, although another namespace waits to call it.
func TestNamespacesStopAtTheFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := answered[*Pod](t, rest.Options{Namespaces: []string{"a", "b"}}, func() io.Reader { return strings.NewReader(event("ADDED", "x", "10")) })
		calls, failure := 0, errors.New("no more")
		err := source.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1"}, func(...listwatch.Event[*Pod]) error {
			calls++
			synctest.Wait() // until the other one waits
			return failure
		})
		require.Equal(t, failure, err)
		require.Equal(t, 1, calls)
	})
}
