package workqueue_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/seed3bce33ad/listwatch/workqueue"
)

// Scenario 91.
func TestExponentialNeverOverflows(t *testing.T) {
	for name, test := range map[string]struct {
		limiter *workqueue.Exponential[string]
		first   []time.Duration
		longest time.Duration
	}{
		"defaults": {
			&workqueue.Exponential[string]{},
			[]time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond},
			1000 * time.Second,
		},
		"1 ms, 1000 s": {
			&workqueue.Exponential[string]{Base: time.Millisecond, Max: 1000 * time.Second},
			[]time.Duration{time.Millisecond, 2 * time.Millisecond},
			1000 * time.Second,
		},
		"no practical limit": {
			&workqueue.Exponential[string]{Base: time.Second, Max: math.MaxInt64},
			[]time.Duration{time.Second, 2 * time.Second},
			math.MaxInt64,
		},
		"odd base": {
			&workqueue.Exponential[string]{Base: 3, Max: math.MaxInt64},
			[]time.Duration{3, 6, 12},
			math.MaxInt64,
		},
		"base above max": {
			&workqueue.Exponential[string]{Base: time.Hour, Max: time.Second},
			[]time.Duration{time.Second, time.Second},
			time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := test.limiter
			var last time.Duration
			for i := range 1000 {
				delay := l.When("x")
				require.Positive(t, delay)
				require.GreaterOrEqual(t, delay, last)
				require.LessOrEqual(t, delay, test.longest)
				if i < len(test.first) {
					require.Equal(t, test.first[i], delay)
				}
				require.Equal(t, i+1, l.Requeues("x"))
				last = delay
			}
			require.Equal(t, test.longest, last)
			require.Zero(t, l.Requeues("y"))
			require.Equal(t, test.first[0], l.When("y"))
			l.Forget("x")
			require.Zero(t, l.Requeues("x"))
			require.Equal(t, test.first[0], l.When("x"))
		})
	}
}

// Scenario 92: 10 a second and a burst of 100, for 5,200 keys at one instant, capped.
func TestBucketIsCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := &workqueue.Bucket[int]{Rate: rate.NewLimiter(10, 100), Cap: 500 * time.Second}
		limiter := workqueue.Max(&workqueue.Exponential[int]{}, bucket)
		var last time.Duration
		for k := range 5200 {
			delay := limiter.When(k)
			if k < 100 {
				require.Equal(t, 5*time.Millisecond, delay)
			}
			require.GreaterOrEqual(t, delay, last)
			require.LessOrEqual(t, delay, 500*time.Second)
			last = delay
		}
		require.Equal(t, 500*time.Second, last)
		// Those that got the cap took no token: the debt is 500 s, and in a second 10 are served.
		time.Sleep(time.Second)
		for range 10 {
			require.LessOrEqual(t, bucket.When(0), 500*time.Second)
		}
		time.Sleep(510 * time.Second)
		require.Zero(t, bucket.When(0))
	})
}

func TestBucketEdges(t *testing.T) {
	var none workqueue.Bucket[string]
	require.Zero(t, none.When("x"))
	none.Forget("x")
	require.Zero(t, none.Requeues("x"))

	empty := workqueue.Bucket[string]{Rate: rate.NewLimiter(1, 0)}
	require.Equal(t, 1000*time.Second, empty.When("x"))

	synctest.Test(t, func(t *testing.T) {
		uncapped := workqueue.Bucket[string]{Rate: rate.NewLimiter(rate.Every(time.Hour), 1), Cap: -1}
		for want := range 5 {
			require.Equal(t, time.Duration(want)*time.Hour, uncapped.When("x"))
		}
	})
}

func TestMax(t *testing.T) {
	fast := &workqueue.Exponential[string]{Base: time.Second}
	slow := &workqueue.Exponential[string]{Base: time.Minute, Max: time.Minute}
	both := workqueue.Max(fast, slow)
	slow.When("x")
	for _, want := range []time.Duration{60, 60, 60, 60, 60, 60, 64} {
		require.Equal(t, want*time.Second, both.When("x"))
	}
	require.Equal(t, 8, both.Requeues("x"))
	both.Forget("x")
	require.Zero(t, fast.Requeues("x")+slow.Requeues("x"))
	require.Zero(t, workqueue.Max[string]().When("x"))
}
