package rest_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// An object of the second namespace is deleted between the requests for the two: the watch will
// tell it, so a comparing list must not.
func TestDeletionBetweenNamespacesIsNoDrift(t *testing.T) {
	store := indexer.New[*Pod](indexer.Options{})
	q := deltafifo.New(store, deltafifo.Options{})
	held := &Pod{Meta: listwatch.Meta{Namespace: "b", Name: "k", ResourceVersion: "5"}}
	s := q.Begin(listwatch.Rebuild)
	require.NoError(t, s.Put(t.Context(), held))
	require.NoError(t, s.Commit("10"))
	require.NoError(t, q.Pop(t.Context(), 0, func(b deltafifo.Batch[*Pod]) error {
		store.Apply("", []indexer.Write[*Pod]{{Head: b.Items[0].Deltas[0].Head, Object: held}})
		return nil
	}))
	states := map[string]string{"10": podList("10", "", namespaced("b", pod("k", "5"))), "": podList("12", "")} // deleted at 11
	for _, o := range []listwatch.ListOptions{{}, {Match: listwatch.MatchNotOlder, ResourceVersion: "10"}, {Limit: 5}} {
		wire := newScript(t, body(podList("10", "")), func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("resourceVersionMatch") != "Exact" {
				body(states[""])(w, r)
				return
			}
			body(states[r.URL.Query().Get("resourceVersion")])(w, r)
		})
		s = q.Begin(listwatch.Compare)
		o.Known = s.Known
		src := several(wire, "a", "b")
		for {
			meta, err := src.List(t.Context(), o, func(p ...*Pod) error { return s.Put(t.Context(), p...) })
			require.NoError(t, err)
			require.Equal(t, "10", meta.ResourceVersion)
			if o.Continue = meta.Continue; o.Continue == "" {
				break
			}
		}
		require.NoError(t, s.Commit("10"))
		require.Zero(t, q.Stats().Drift)
	}
}

// A list comes about also when the server has not got the state of the first namespace's
// version: the others are listed as the first one was, and not asked for that state any more.
func TestListOfNamespacesWithoutExactVersions(t *testing.T) {
	for name, refusal := range map[string]http.HandlerFunc{
		"compacted":   failure(410, "application/json", `{"kind":"Status","reason":"Expired","code":410}`),
		"bad request": failure(400, "text/plain", "unknown parameter"),
		"invalid":     failure(422, "application/json", `{"kind":"Status","reason":"Invalid","code":422}`),
		"lags": failure(504, "application/json",
			`{"kind":"Status","reason":"Timeout","code":504,"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}`),
	} {
		t.Run(name, func(t *testing.T) {
			notOlder := listwatch.ListOptions{Match: listwatch.MatchNotOlder, ResourceVersion: "7"}
			answers := []http.HandlerFunc{body(podList("12", "", pod("x", "1"))), refusal, body(podList("14", "", pod("y", "13"))), body(podList("13", "", pod("z", "2")))}

			s := newScript(t, answers...)
			r, meta, err := list(several(s, "a", "b", "c"))
			require.NoError(t, err)
			require.Len(t, r.objects, 3)
			require.Equal(t, "12", meta.ResourceVersion)
			require.Equal(t, []url.Values{{}, matching("Exact", "12"), {}, {}}, s.queries())

			s = newScript(t, answers...)
			meta, err = several(s, "a", "b", "c").List(t.Context(), notOlder, (&record[*Pod]{}).each)
			require.NoError(t, err)
			require.Equal(t, "12", meta.ResourceVersion)
			require.Equal(t, []url.Values{matching("NotOlderThan", "7"), matching("Exact", "12"), matching("NotOlderThan", "12"), matching("NotOlderThan", "12")}, s.queries())

			s = newScript(t, answers...)
			src, r, o := several(s, "a", "b", "c"), &record[*Pod]{}, listwatch.ListOptions{Limit: 9}
			if name == "compacted" { // pages fail; who goes on lists everything at once, as above
				meta, err = src.List(t.Context(), o, r.each)
				require.NoError(t, err)
				_, err = src.List(t.Context(), listwatch.ListOptions{Limit: 9, Continue: meta.Continue}, r.each)
				require.ErrorIs(t, err, listwatch.ErrExpired)
				return
			}
			for range 3 {
				meta, err = src.List(t.Context(), o, r.each)
				require.NoError(t, err)
				require.Equal(t, "12", meta.ResourceVersion)
				o.Continue = meta.Continue
			}
			require.Empty(t, o.Continue)
			require.Len(t, r.objects, 3)
			page := url.Values{"limit": {"9"}}
			require.Equal(t, []url.Values{page, matching("Exact", "12", "limit", "9"), page, page}, s.queries())
		})
	}

	// Nothing else is a reason to ask again: not a failure of the server, nor one of the consumer.
	s := newScript(t, body(podList("12", "")), failure(500, "application/json", `{"code":500}`))
	_, _, err := list(several(s, "a", "b"))
	require.ErrorIs(t, err, listwatch.ErrUnavailable)
	s = newScript(t, body(podList("12", "")), body(podList("12", "", pod("x", "1"))))
	_, err = several(s, "a", "b").List(t.Context(), listwatch.ListOptions{}, func(...*Pod) error { return listwatch.ErrExpired })
	require.ErrorIs(t, err, listwatch.ErrExpired)

	// A list without a version is what the caller has to judge.
	for _, version := range []string{"", "0"} {
		s = newScript(t, body(podList(version, "")), body(podList("12", "")))
		_, meta, err := list(several(s, "a", "b"))
		require.NoError(t, err)
		require.Equal(t, version, meta.ResourceVersion)
		require.Equal(t, []url.Values{{}, {}}, s.queries())
	}
}
