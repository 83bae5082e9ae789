package deltafifo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

func withBody(p *pod, body string) *pod {
	p.Body = body
	return p
}

// A restored server counts on from an older version, and comes to give out versions again that meant
// something else: a state of the same identity and version is compared by its body.
func TestResetComparesBodies(t *testing.T) {
	old := func() *pod { return withBody(newPod("a", "U", "15"), "old") }
	cases := map[string]struct {
		before, listed *pod
		inside         bool // the state is being processed when it is listed
		queued         bool // or queued
		want           []string
	}{
		"held, the same":      {before: old(), listed: old(), want: []string{}},
		"held, another":       {before: old(), listed: withBody(old(), "new"), want: []string{"Replaced a/U@15 +force"}},
		"queued, the same":    {before: old(), listed: old(), queued: true, want: []string{"Added a/U@15"}},
		"queued, another":     {before: old(), listed: withBody(old(), "new"), queued: true, want: []string{"Added a/U@15", "Replaced a/U@15 +force"}},
		"in flight, the same": {before: old(), listed: old(), inside: true, want: []string{}},
		"in flight, another":  {before: old(), listed: withBody(old(), "new"), inside: true, want: []string{"Replaced a/U@15 +force"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, deltafifo.Options{})
			r.fill("10")
			r.apply(event(listwatch.Added, c.before, "15"))
			reset := func() {
				s := r.q.Begin(listwatch.Reset)
				require.False(t, s.Known(headOf(c.listed)), "the body is needed")
				put(t, s, c.listed)
				require.NoError(t, s.Commit("16"))
			}
			switch {
			case c.queued:
				reset()
			case c.inside:
				require.NoError(t, r.q.Pop(t.Context(), 0, func(b deltafifo.Batch[*pod]) error {
					reset()
					r.write(b)
					return nil
				}))
			default:
				r.pop(0)
				reset()
			}
			lines, batch := r.pop(0)
			equal(t, c.want, lines)
			require.True(t, batch.Exact)
			held, _ := r.store.Get(key("a"))
			require.Equal(t, c.listed.Body, held.Body)
		})
	}
}

// What could not be taken of a restored server's list is held without version. Nothing that a watch
// says of the key afterwards is older than that, nor is the deletion of another identity.
func TestAfterRefusalOfARestoredServer(t *testing.T) {
	cases := map[string]struct {
		event listwatch.Event[*pod]
		want  []listwatch.Head
	}{
		"a state":                    {event(listwatch.Modified, newPod("a", "U", "17"), "17"), []listwatch.Head{headOf(newPod("a", "U", "17"))}},
		"another life":               {event(listwatch.Added, newPod("a", "V", "17"), "17"), []listwatch.Head{headOf(newPod("a", "V", "17"))}},
		"the deletion":               {event(listwatch.Deleted, newPod("a", "U", "12"), "17"), []listwatch.Head{}},
		"the deletion of a new life": {event(listwatch.Deleted, newPod("a", "V", "12"), "17"), []listwatch.Head{}},
	}
	for name, c := range cases {
		for _, named := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, deltafifo.Options{})
				r.fill("20", newPod("a", "U", "15"))
				s := r.q.Begin(listwatch.Reset)
				if named {
					require.False(t, s.Known(listwatch.Head{Key: key("a")}))
				} else {
					require.False(t, s.Known(listwatch.Head{}))
				}
				require.NoError(t, s.Commit("16"))
				r.pop(0)
				equal(t, []listwatch.Head{{Key: key("a"), UID: "U"}}, r.store.heads())

				r.apply(c.event)
				r.pop(0)
				equal(t, c.want, r.store.heads())

				// A list sees the same, whether it comes before the queue has been read or after.
				require.NoError(t, r.q.Begin(listwatch.Rebuild).Commit("18"))
				if r.q.Len() > 0 {
					r.pop(0)
				}
				require.Empty(t, r.store.heads())
			})
		}
	}
}

// The store stands at a version only if nothing beyond it was queued, by whatever event of a batch.
func TestExactOfMixedBatch(t *testing.T) {
	state := func(name, version, position string) listwatch.Event[*pod] {
		return event(listwatch.Modified, newPod(name, "", version), position)
	}
	cases := map[string]struct {
		events []listwatch.Event[*pod]
		exact  bool
		later  string // the position at which it is exact again
	}{
		"all with a position":                {[]listwatch.Event[*pod]{state("a", "11", "11"), state("b", "12", "12")}, true, ""},
		"one without, covered by the next":   {[]listwatch.Event[*pod]{state("a", "11", ""), state("b", "12", "12")}, true, ""},
		"one without, covered by a bookmark": {[]listwatch.Event[*pod]{state("a", "11", ""), bookmark("11")}, true, ""},
		"one without, beyond the others":     {[]listwatch.Event[*pod]{state("a", "20", ""), state("b", "12", "12")}, false, "20"},
		"one without, beyond, comes last":    {[]listwatch.Event[*pod]{bookmark("12"), state("b", "12", "12"), state("a", "20", "")}, false, "20"},
		"one without, beyond the bookmark":   {[]listwatch.Event[*pod]{state("a", "20", ""), bookmark("12")}, false, "20"},
		"one without, of an opaque version":  {[]listwatch.Event[*pod]{state("a", "x", ""), bookmark("12")}, false, ""},
		"a deletion without, beyond": {[]listwatch.Event[*pod]{
			event(listwatch.Deleted, newPod("a", "", "20"), ""), bookmark("12")}, false, "20"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, deltafifo.Options{})
			r.fill("10", newPod("a", "", "5"))
			r.apply(c.events...)
			_, batch := r.pop(0)
			require.Equal(t, c.exact, batch.Exact)
			if c.later != "" {
				r.apply(bookmark("19"))
				_, batch = r.pop(0)
				require.False(t, batch.Exact)
				r.apply(bookmark(c.later))
				_, batch = r.pop(0)
				require.True(t, batch.Exact)
			}
			require.NoError(t, r.q.Replace(t.Context(), "30"))
			_, batch = r.pop(0)
			require.True(t, batch.Exact, "a whole list makes it so in any case")
		})
	}
}

// What has lost its version keeps its pointer when a later list shows that it is what it was.
func TestListOfWhatLostItsVersion(t *testing.T) {
	for _, mode := range []listwatch.Mode{listwatch.Rebuild, listwatch.Compare} {
		for _, same := range []bool{true, false} {
			r := newRig(t, deltafifo.Options{})
			before := withBody(newPod("a", "U", "15"), "old")
			r.fill("20", before)
			s := r.q.Begin(listwatch.Reset)
			require.False(t, s.Known(listwatch.Head{Key: key("a")}))
			require.NoError(t, s.Commit("16"))
			r.pop(0)

			after := withBody(newPod("a", "U", "15"), "new")
			if same {
				after.Body = "old"
			}
			s = r.q.Begin(mode)
			require.False(t, s.Known(headOf(after)))
			put(t, s, after)
			require.NoError(t, s.Commit("17"))
			r.pop(0)
			equal(t, []listwatch.Head{headOf(after)}, r.store.heads())
			held, _ := r.store.Get(key("a"))
			require.Equal(t, same, held == before)
			require.Equal(t, after.Body, held.Body)
		}
	}
}
