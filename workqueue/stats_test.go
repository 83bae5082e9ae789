package workqueue_test

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{
			Limiter: &workqueue.Exponential[string]{Base: time.Hour},
			Flow:    func(k string) string { return k },
		})
		require.Equal(t, workqueue.Stats{}, q.Stats())
		q.Add("first")
		time.Sleep(2 * time.Second)
		q.AddWith("second", workqueue.AddOptions{Priority: 1})
		q.AddWith("second", workqueue.AddOptions{Priority: 1})
		time.Sleep(time.Second)
		q.Add("third")
		require.Equal(t, workqueue.Stats{Ready: 3, Adds: 4, OldestReady: 3 * time.Second}, q.Stats())

		for _, want := range []string{"first", "second", "third"} {
			require.Equal(t, want, get(t, q))
		}
		time.Sleep(4 * time.Second)
		q.Finish("second", workqueue.Result{}, errStep)
		time.Sleep(time.Second)
		q.AddRateLimited("fourth")
		q.AddAfter("fifth", time.Hour)
		require.Equal(t, workqueue.Stats{
			Delayed: 3, Working: 2, Adds: 6, Retries: 2, Gets: 3, Done: 1,
			LatencySum: (3 + 1 + 0) * time.Second, WorkSum: 4 * time.Second,
			Latency: workqueue.Durations{0: 1, 8: 1, 9: 1}, Work: workqueue.Durations{9: 1},
			RunningSum: 10 * time.Second, LongestRunning: 5 * time.Second,
		}, q.Stats())

		q.Finish("third", workqueue.Result{Await: new(listwatch.Signal)}, nil)
		s := q.Stats()
		require.Equal(t, []int{3, 1, 1}, []int{s.Delayed, s.Parked, s.Working})
		q.Close()
		q.Add("late")
		q.Done("first")
		require.Equal(t, workqueue.Stats{
			Adds: 6, Retries: 2, Refused: 1, Gets: 3, Done: 3,
			LatencySum: 4 * time.Second, WorkSum: 14 * time.Second,
			Latency: workqueue.Durations{0: 1, 8: 1, 9: 1}, Work: workqueue.Durations{9: 3},
		}, q.Stats())
	})
}

// The time a delayed key was ready counts from when it was due.
func TestLatencyOfDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		q.AddAfter("x", time.Minute)
		time.Sleep(90 * time.Second)
		require.Equal(t, 30*time.Second, q.Stats().OldestReady)
		require.Equal(t, "x", get(t, q))
		require.Equal(t, 30*time.Second, q.Stats().LatencySum)
	})
}

func TestItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{
			Limiter: &workqueue.Exponential[string]{Base: 10 * time.Minute},
			Flow:    func(k string) string { return k[:1] },
		})
		start := time.Now()
		after := func(d time.Duration) time.Time { return start.Add(d) }
		for _, k := range []string{"again", "failing", "later", "parked", "working"} {
			q.Add(k)
			require.Equal(t, k, get(t, q))
		}
		time.Sleep(time.Second)
		q.Finish("failing", workqueue.Result{}, errStep)
		q.Finish("parked", workqueue.Result{Await: new(listwatch.Signal)}, nil)
		q.Add("again")
		q.AddAfter("later", time.Minute)
		q.AddWith("ready", workqueue.AddOptions{Priority: 3})
		q.AddAfter("for ever", 1<<63-1)
		items := q.Items()
		slices.SortFunc(items, func(a, b workqueue.Item[string]) int { return strings.Compare(a.Key, b.Key) })
		want := []workqueue.Item[string]{
			{Key: "again", State: workqueue.Working, Since: start, Again: true, Flow: "a"},
			{Key: "failing", State: workqueue.Delayed, Since: after(time.Second), Due: after(10*time.Minute + time.Second), Flow: "f", Failures: 1},
			{Key: "for ever", State: workqueue.Delayed, Since: after(time.Second), Flow: "f"},
			{Key: "later", State: workqueue.Working, Since: start, Due: after(time.Minute + time.Second), Again: true, Flow: "l"},
			{Key: "parked", State: workqueue.Parked, Since: after(time.Second), Due: after(31 * time.Second), Flow: "p"},
			{Key: "ready", State: workqueue.Ready, Since: after(time.Second), Priority: 3, Flow: "r"},
			{Key: "working", State: workqueue.Working, Since: start, Flow: "w"},
		}
		require.Empty(t, cmp.Diff(want, items))
		q.Close()
	})
}

// A crowd that does not come again does not leave its memory behind.
func TestShrinks(t *testing.T) {
	q := workqueue.New[int](workqueue.Options{})
	pass := func(count int) {
		for k := range count {
			q.Add(k)
		}
		for range count {
			k, err := q.Get(t.Context())
			require.NoError(t, err)
			q.Done(k)
		}
	}
	before := measure.Held()
	pass(40_000)
	crowd := measure.Held() - before
	require.Greater(t, crowd, 2<<20)
	pass(10)
	require.Less(t, measure.Held(), before+128<<10)
	pass(40_000)
	pass(12_000)
	require.Greater(t, measure.Held()-before, 2<<20, "kept for a crowd that comes again")
	runtime.KeepAlive(q)
}

// Flows and priorities that have no keys any more cost nothing.
func TestForgetsFlows(t *testing.T) {
	q := workqueue.New(workqueue.Options{}, workqueue.Policy[int]{Flow: strconv.Itoa})
	before := measure.Held()
	for k := range 20_000 {
		q.AddWith(k, workqueue.AddOptions{Priority: k})
		_, err := q.Get(t.Context())
		require.NoError(t, err)
		q.Done(k)
	}
	require.Less(t, measure.Held(), before+1<<20)
	runtime.KeepAlive(q)
}
