package informer_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// stuck is an explanation of a key that is stuck at every station.
func stuck() informer.Explanation {
	now := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
	head := func(version string) listwatch.Head {
		return listwatch.Head{Key: key("a"), UID: "u", ResourceVersion: version}
	}
	return informer.Explanation{
		Informer: "pods", Key: key("a"), Time: now,
		Source: informer.ExplainedSource{
			State: reflector.Waiting, Since: now.Add(-90 * time.Second), LastProgress: now.Add(-2 * time.Hour),
			Failures: 2, LastError: "no connection", NextRetry: now.Add(1234 * time.Millisecond), More: true,
		},
		Reading: deltafifo.Explanation{
			Queued: 2, InFlight: 1, Before: 7, Unswept: true,
			Processed: []deltafifo.DeltaHead{{Type: deltafifo.Updated, Head: head("4")}},
			Deltas:    []deltafifo.DeltaHead{{Type: deltafifo.Deleted, Head: head("5")}, {Type: deltafifo.Replaced, Head: head("")}},
		},
		Store: informer.ExplainedStore{
			Held: true, UID: "u", ResourceVersion: "3", Mark: 2, Version: "6",
			Indexes: []informer.ExplainedIndex{{Name: "node", Values: []string{"n1", "n2"}}, {Name: "zone"}},
		},
		Handlers: []informer.ExplainedHandler{{
			HandlerStats: informer.HandlerStats{Name: "slow", Pending: 99, Behind: true, Panics: 3}, Told: head("1"), InCall: 1, Waiting: 1,
			Changes: []informer.ChangeHead{{Type: informer.Delete, Head: head("2")}, {Type: informer.Add, Head: head("3")}},
		}},
		Queues: []informer.ExplainedQueue{{Name: "jobs", Held: true, Item: workqueue.Item[any]{
			State: workqueue.Parked, Since: now.Add(-time.Second), Due: now.Add(30 * time.Second), Again: true, Priority: 1, Flow: "ns", Failures: 4,
		}}},
	}
}

func TestExplanationAsLines(t *testing.T) {
	t.Parallel()
	require.Equal(t, `ns/a in informer pods at 2000-01-01T12:00:00Z
source    Waiting since 1m30s ago, position none, first list not complete, last progress 2h0m0s ago, 2 failures: no connection, next attempt in 1.2s
refused   too many objects to name them all: perhaps this one, too
reading   1 change being stored, 2 changes queued, Updated at 4, Deleted at 5, Replaced at none, behind 7 keys, missing in the last list: deleted unless the watch explains it
store     holds version 3, uid u, seen by list 2, index node ["n1" "n2"], index zone [], store at 6
handler   slow: told 1, 1 change in the batch being told, 1 change waiting, Delete to 2, Add to 3, too slow, changes are folded, not synced, 3 panics so far
work      jobs: Parked since 1s ago, added again, due in 30s, priority 1, flow ns, 4 failures
`, stuck().String())
}

// stub is an informer that says what a test wants it to.
type stub struct {
	health      informer.Health
	stats       informer.Stats
	explanation informer.Explanation
}

func (s stub) Health() informer.Health                                       { return s.health }
func (s stub) Stats() informer.Stats                                         { return s.stats }
func (s stub) SomeKeys(int) []listwatch.Key                                  { return nil }
func (s stub) Explain(listwatch.Key, ...informer.Queue) informer.Explanation { return s.explanation }

// Each part of a page is made once from what is stuck everywhere: a template that is wrong fails.
func TestDebugPageOfWhatIsStuck(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := stub{explanation: stuck()}
	s.health = informer.Health{Name: "pods", Age: time.Hour, Drift: 4, Source: reflector.Health{
		State: reflector.Listing, LastProgress: now.Add(-time.Hour), Failures: 3, LastError: errors.New("no connection"),
		LastErrorClass: listwatch.ErrUnavailable, LastErrorTime: now, NextRetry: now.Add(time.Hour),
		Refused: []reflector.Refusal{{Key: key("bad"), ResourceVersion: "7", Reason: listwatch.ErrDecode, Time: now}},
	}}
	s.stats.Handlers = []informer.HandlerStats{{Name: "slow", Behind: true, Panics: 1}}
	working := workqueue.New(workqueue.Options{Name: "jobs"}, workqueue.Policy[string]{Flow: func(k string) string { return "flow of " + k }})
	working.Add("step")
	_ = get(t, working)
	working.Add("step")
	h := informer.DebugHandler(informer.DebugOptions{Informers: []informer.Inspected{s}, Queues: []informer.Queue{working}})
	for query, want := range map[string][]string{
		"": {`<span class="bad">Listing</span>`, ">1h0m0s<", `<span class="bad">behind</span>`},
		"informer=pods": {
			"3 since anything was read", "class “unavailable”", "Next attempt", `>ns/bad</a>`, "cannot decode", `<ul class="keys"`,
		},
		"queue=jobs": {`<span class="good">Working</span> again`, "flow of step"},
		"informer=pods&key=ns/a": {
			`<li id="source" class="bad-line">`, "no connection", "Too many objects were refused", "Keys before it", "Updated at 4, being stored",
			"Deleted at 5", "did not show it", `<li class="handler busy-line">`, "Delete to 2", `<span class="bad">Parked</span> again`, ">in 30s<", ">ns<",
		},
	} {
		w := ask(h, http.MethodGet, "/?"+query)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		for _, part := range want {
			require.Contains(t, w.Body.String(), part, query)
		}
		require.True(t, strings.HasSuffix(strings.TrimSpace(w.Body.String()), "</html>"), query)
	}
}

func get(t *testing.T, q *workqueue.Queue[string]) string {
	t.Helper()
	k, err := q.Get(t.Context())
	require.NoError(t, err)
	return k
}
