package workqueue_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// order works off all that is ready and returns the keys in their order.
func order(t testing.TB, q *workqueue.Queue[string]) string {
	t.Helper()
	var keys []string
	for q.Len() > 0 {
		k := get(t, q)
		keys = append(keys, k)
		q.Done(k)
	}
	return strings.Join(keys, " ")
}

// Scenario 97: a high key that comes due while low ones are ready.
func TestPriorityOfDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		q.AddWith("low1", workqueue.AddOptions{Priority: -10})
		q.AddWith("low2", workqueue.AddOptions{Priority: -10})
		q.AddWith("high", workqueue.AddOptions{Priority: 10, After: time.Second})
		time.Sleep(1100 * time.Millisecond)
		require.Equal(t, "high low1 low2", order(t, q))
	})
}

// Scenario 97: the delay of a key is its own.
func TestRateLimitedByKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{
			Limiter: &workqueue.Exponential[string]{Base: time.Second},
		})
		defer q.Close()
		for range 10 {
			q.AddRateLimited("a")
			q.Cancel("a")
		}
		q.AddRateLimited("a")
		q.AddRateLimited("b")
		require.Equal(t, 11, q.Requeues("a"))
		require.Equal(t, 1, q.Requeues("b"))
		time.Sleep(time.Second)
		require.Equal(t, "b", order(t, q))
		time.Sleep(999 * time.Second)
		require.Equal(t, "a", order(t, q), "capped at 1000 s")
	})
}

// Scenario 97: a key that comes back by itself keeps its priority; one that is added anew,
// after it was done, does not.
func TestRequeueKeepsPriority(t *testing.T) {
	fired := new(listwatch.Signal)
	fired.Fire()
	for name, requeue := range map[string]func(q *workqueue.Queue[string], k string){
		"error":       func(q *workqueue.Queue[string], k string) { q.Finish(k, workqueue.Result{}, errStep) },
		"after":       func(q *workqueue.Queue[string], k string) { q.Finish(k, workqueue.Result{After: 5}, nil) },
		"await":       func(q *workqueue.Queue[string], k string) { q.Finish(k, workqueue.Result{Await: fired}, nil) },
		"rateLimited": func(q *workqueue.Queue[string], k string) { q.AddRateLimited(k); q.Done(k) },
		"add":         func(q *workqueue.Queue[string], k string) { q.Add(k); q.Done(k) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := workqueue.New[string](workqueue.Options{})
				q.AddWith("x", workqueue.AddOptions{Priority: 7})
				requeue(q, get(t, q))
				time.Sleep(5 * time.Millisecond)
				require.Equal(t, 7, q.Items()[0].Priority)
				q.AddWith("six", workqueue.AddOptions{Priority: 6})
				require.Equal(t, "x six", order(t, q))
				q.Add("x")
				require.Equal(t, 0, q.Items()[0].Priority)
			})
		})
	}
}

// A retry by hand says nothing about priority, an add does.
func TestRetryDoesNotRaise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		defer q.Close()
		q.AddWith("x", workqueue.AddOptions{Priority: -7})
		q.AddRateLimited(get(t, q))
		require.Equal(t, -7, q.Items()[0].Priority)
		q.Add("x")
		require.Equal(t, 0, q.Items()[0].Priority)
	})
}

// Scenario 97: first in, first out within one priority.
func TestFIFOWithinPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		for _, k := range strings.Split("a b c d e f", " ") {
			q.AddWith(k, workqueue.AddOptions{Priority: int(k[0] % 2)})
		}
		q.Add("b")
		q.AddWith("b", workqueue.AddOptions{Replace: true})
		require.Equal(t, "a c e b d f", order(t, q))
	})
}

func TestPriorityChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		for _, k := range strings.Split("a b c d", " ") {
			q.Add(k)
		}
		q.AddWith("d", workqueue.AddOptions{Priority: 1})
		q.AddWith("c", workqueue.AddOptions{Priority: 2})
		q.AddWith("c", workqueue.AddOptions{Priority: -1})
		q.AddWith("a", workqueue.AddOptions{Priority: -1, Replace: true})
		require.Equal(t, "c d b a", order(t, q))

		q.AddWith("most", workqueue.AddOptions{Priority: math.MaxInt})
		q.AddWith("least", workqueue.AddOptions{Priority: math.MinInt})
		q.Add("mid")
		require.Equal(t, "most mid least", order(t, q))
	})
}

// One level of priority is gained per Aging, and a key that is raised never gets later by it.
func TestAging(t *testing.T) {
	for name, test := range map[string]struct {
		aging  time.Duration
		waited time.Duration
		want   string
	}{
		"young":        {0, 2 * time.Second, "three zero"},
		"a tie":        {0, 3 * time.Second, "three zero"},
		"aged":         {0, 3*time.Second + 1, "zero three"},
		"slow aging":   {time.Hour, 3*time.Hour + 1, "zero three"},
		"slow, young":  {time.Hour, 3 * time.Hour, "three zero"},
		"never starve": {-1, 1000 * time.Hour, "three zero"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := workqueue.New[string](workqueue.Options{Aging: test.aging})
				q.Add("zero")
				time.Sleep(test.waited)
				q.AddWith("three", workqueue.AddOptions{Priority: 3})
				require.Equal(t, test.want, order(t, q))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		q.Add("old")
		time.Sleep(10 * time.Second)
		q.AddWith("new", workqueue.AddOptions{Priority: 5})
		q.AddWith("old", workqueue.AddOptions{Priority: 5})
		require.Equal(t, "old new", order(t, q))
	})
}

// A low key gets its turn although higher ones never cease to come.
func TestNothingStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		q.AddWith("low", workqueue.AddOptions{Priority: -20})
		start := time.Now()
		q.AddWith("high", workqueue.AddOptions{Priority: 10})
		for get(t, q) != "low" {
			time.Sleep(time.Second)
			q.Add("high")
			q.Done("high")
			require.Less(t, time.Since(start), time.Minute)
		}
		require.Equal(t, 31*time.Second, time.Since(start))
	})
}

// Flows take turns, so a large one does not make a small one wait for all of it.
func TestFairFlows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{Flow: func(k string) string { return k[:1] }})
		for _, k := range strings.Split("a1 a2 a3 a4 a5 b1 b2 b3", " ") {
			q.Add(k)
		}
		time.Sleep(time.Minute)
		q.Add("c1")
		q.Add("c2")
		q.AddWith("a9", workqueue.AddOptions{Priority: 100})
		require.Equal(t, "a9 a1 b1 c1 a2 b2 c2 a3 b3 a4 a5", order(t, q))
	})
}

// Deliveries over a long time are shared evenly between flows, however uneven the adds are.
func TestFairShares(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	q := workqueue.New(workqueue.Options{}, workqueue.Policy[int]{Flow: func(k int) string {
		return []string{"large", "large", "large", "large", "large", "large", "large", "large", "small", "tiny"}[k%10]
	}})
	for _, k := range random.Perm(10_000) {
		q.Add(k)
	}
	var tiny int
	for range 3000 {
		k, err := q.Get(t.Context())
		require.NoError(t, err)
		if k%10 == 9 {
			tiny++
		}
		q.Done(k)
	}
	require.Equal(t, 1000, tiny, "a third for one flow of three")
}

// The listing can be taken while the queue changes.
func TestFlowIsKeptAndListed(t *testing.T) {
	calls := 0
	q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{Flow: func(k string) string { calls++; return k[:1] }})
	q.Add("a1")
	require.Equal(t, "a", q.Items()[0].Flow)
	for _, i := range q.Items() {
		q.AddWith(i.Key, workqueue.AddOptions{Priority: 3})
		q.Add("b1")
	}
	require.Equal(t, "a1 b1", order(t, q))
	require.Equal(t, 3, calls, "once an add")
}
