package workqueue_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// every returns a queue with two keys of each state; "working0" is the longest in work.
func every(t *testing.T) *workqueue.Queue[string] {
	t.Helper()
	q := workqueue.New[string](workqueue.Options{Name: "every"})
	for n := range 2 {
		for _, state := range []string{"working", "parked"} {
			k := state + strconv.Itoa(n)
			q.Add(k)
			require.Equal(t, k, get(t, q))
			if state == "parked" {
				q.Finish(k, workqueue.Result{After: time.Hour, Await: new(listwatch.Signal)}, errStep)
			}
		}
		time.Sleep(time.Second)
	}
	for n := range 2 {
		q.AddWith("ready"+strconv.Itoa(n), workqueue.AddOptions{Priority: -n})
		q.AddAfter("delayed"+strconv.Itoa(n), time.Duration(n+1)*time.Minute)
	}
	return q
}

func TestItemTellsWhereAKeyStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		q := every(t)
		now := time.Now()
		q.AddAfter("working0", time.Minute)
		q.Add("parked1")
		for _, want := range []workqueue.Item[string]{
			{Key: "working0", State: workqueue.Working, Since: start, Due: now.Add(time.Minute), Again: true},
			{Key: "ready1", State: workqueue.Ready, Since: now, Priority: -1},
			{Key: "delayed1", State: workqueue.Delayed, Since: now, Due: now.Add(2 * time.Minute)},
			{Key: "parked1", State: workqueue.Parked, Since: start.Add(time.Second), Due: start.Add(time.Second + time.Hour), Again: true, Failures: 1},
		} {
			got, ok := q.Item(want.Key)
			require.True(t, ok)
			require.Empty(t, cmp.Diff(want, got))
			require.Contains(t, q.Items(), want)
			untyped, ok := q.Find(want.Key)
			require.True(t, ok)
			require.Equal(t, workqueue.Item[any]{
				Key: want.Key, State: want.State, Since: want.Since, Due: want.Due, Again: want.Again,
				Priority: want.Priority, Failures: want.Failures,
			}, untyped)
		}
		q.Close()
	})
}

func TestItemOfAKeyThatIsNotHeld(t *testing.T) {
	t.Parallel()
	q := workqueue.New[string](workqueue.Options{Name: "jobs"}, workqueue.Policy[string]{Limiter: &workqueue.Exponential[string]{Base: time.Hour}})
	require.Equal(t, "jobs", q.Name())
	q.AddRateLimited("failed")
	require.True(t, q.Cancel("failed"))
	i, ok := q.Item("failed")
	require.False(t, ok)
	require.Equal(t, workqueue.Item[string]{Key: "failed", Failures: 1}, i)
	for _, k := range []any{"other", 7, listwatch.Key{Name: "failed"}, nil} {
		i, ok := q.Find(k)
		require.False(t, ok)
		require.Equal(t, workqueue.Item[any]{Key: k}, i)
	}
}

func TestSomeTakesAFewOfEachState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := every(t)
		for n, want := range map[int][]any{
			0: {},
			1: {"working0", "ready0", "delayed0", "Parked"},
			9: {"working0", "working1", "ready0", "ready1", "delayed0", "delayed1", "Parked", "Parked"},
		} {
			keys := []any{}
			for _, i := range q.Some(n) {
				if i.State == workqueue.Parked { // which of them comes first is not promised
					i.Key = "Parked"
				}
				keys = append(keys, i.Key)
			}
			require.ElementsMatch(t, want, keys)
		}
		require.Len(t, q.Items(), 8)
		q.Close()
	})
}

func TestSomeLooksIntoEveryFlow(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{Flow: func(k string) string { return k[:1] }})
	for _, k := range []string{"a1", "a2", "b1", "c1"} {
		q.Add(k)
	}
	flows := map[any]string{}
	for _, i := range q.Some(4) {
		flows[i.Key] = i.Flow
	}
	require.Equal(t, map[any]string{"a1": "a", "a2": "a", "b1": "b", "c1": "c"}, flows)
	require.Len(t, q.Some(3), 3)
}

func TestDurationsAreCountedByMagnitude(t *testing.T) {
	t.Parallel()
	var d workqueue.Durations
	require.Equal(t, 10*time.Nanosecond, d.Bound(0))
	require.Equal(t, time.Second, d.Bound(8))
	require.Equal(t, 1000*time.Second, d.Bound(len(d)-1))
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		for _, wait := range []time.Duration{0, 10, 11, time.Second, time.Second + 1, 1000 * time.Second, 1001 * time.Second} {
			q.Add("a")
			time.Sleep(wait)
			get(t, q)
			time.Sleep(2 * wait)
			q.Done("a")
		}
		s := q.Stats()
		require.Equal(t, workqueue.Durations{0: 2, 1: 1, 8: 1, 9: 1, 11: 1}, s.Latency)
		require.Equal(t, workqueue.Durations{0: 1, 1: 2, 9: 2}, s.Work)
		require.EqualValues(t, 7, s.Gets)
	})
}

func ExampleQueue_Item() {
	q := workqueue.New[string](workqueue.Options{Name: "jobs"})
	q.AddRateLimited("backup")
	i, ok := q.Item("backup")
	fmt.Println(ok, i.State, i.Failures, i.Due.Sub(i.Since))
	// Output: true Delayed 1 5ms
}

func ExampleDurations() {
	q := workqueue.New[string](workqueue.Options{Name: "jobs"})
	q.Add("backup")
	_, _ = q.Get(context.Background())
	latency := q.Stats().Latency
	sum := uint64(0)
	for n, count := range latency {
		sum += count
		if latency.Bound(n) == 100*time.Second {
			fmt.Println(sum, "within", latency.Bound(n))
		}
	}
	// Output: 1 within 1m40s
}
