package workqueue_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// stepped is a clock whose time of day can be set, as a wall clock is; its timers don't mind.
type stepped struct {
	clock.Clock
	ahead atomic.Int64
}

func (c *stepped) Now() time.Time                  { return c.Clock.Now().Add(time.Duration(c.ahead.Load())) }
func (c *stepped) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *stepped) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// A clock that is set back delays nothing: what is delayed, parked or to be retried comes when its
// timer says so. One that is set forward makes what is pending come sooner, and nothing later.
func TestClockIsSet(t *testing.T) {
	for name, c := range map[string]struct {
		before, meanwhile time.Duration
		want              time.Duration
	}{
		"not":                          {0, 0, 20 * time.Second},
		"back":                         {0, -time.Hour, 20 * time.Second},
		"back before":                  {-time.Hour, -time.Hour, 20 * time.Second},
		"back for a moment":            {0, -5 * time.Second, 20 * time.Second},
		"forward":                      {0, time.Hour, 10 * time.Second},
		"forward before and then back": {time.Hour, 0, 20 * time.Second},
	} {
		for way, pend := range map[string]func(q *workqueue.Queue[string], k string){
			"delayed": func(q *workqueue.Queue[string], k string) {
				q.Finish(k, workqueue.Result{After: 20 * time.Second}, nil)
			},
			"parked": func(q *workqueue.Queue[string], k string) {
				q.Finish(k, workqueue.Result{After: 20 * time.Second, Await: &listwatch.Signal{}}, nil)
			},
			"failed": func(q *workqueue.Queue[string], k string) {
				q.Finish(k, workqueue.Result{}, errors.New("not yet"))
			},
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					clock := &stepped{Clock: clock.New()}
					limiter := &workqueue.Exponential[string]{Base: 20 * time.Second}
					q := workqueue.New(workqueue.Options{Clock: clock}, workqueue.Policy[string]{Limiter: limiter})
					defer q.Close()
					clock.ahead.Store(int64(c.before))
					q.Add("k")
					k, err := q.Get(t.Context())
					require.NoError(t, err)
					clock.ahead.Store(0)
					begin := time.Now()
					pend(q, k)
					pass(10 * time.Second)
					clock.ahead.Store(int64(c.meanwhile))
					q.Add("other") // the queue looks at the clock
					_, err = q.Get(t.Context())
					require.NoError(t, err)
					_, err = q.Get(t.Context())
					require.NoError(t, err)
					require.Equal(t, c.want, time.Since(begin))
				})
			})
		}
	}
}

// Nor is anything delayed by shorter delays that come and go while the clock is behind: the queue's own
// time goes on.
func TestClockIsSetBackAmongShorterDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &stepped{Clock: clock.New()}
		q := workqueue.New[string](workqueue.Options{Clock: clock})
		defer q.Close()
		begin := time.Now()
		q.AddAfter("k", 20*time.Second)
		pass(time.Second)
		require.Zero(t, q.Len()) // it looks at the clock
		clock.ahead.Store(-int64(time.Hour))
		for k := ""; k != "k"; q.Done(k) {
			q.AddAfter("longer", 2*time.Second)
			pass(900 * time.Millisecond)
			q.AddAfter("shorter", 100*time.Millisecond)
			if i, ok := q.Item("k"); ok && i.State == workqueue.Delayed {
				require.Equal(t, begin.Add(20*time.Second-time.Hour), i.Due, "by the clock as it is set now")
			}
			var err error
			k, err = q.Get(t.Context())
			require.NoError(t, err)
			q.Cancel("longer")
		}
		require.Equal(t, 20*time.Second, time.Since(begin))
	})
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	<-ctx.Done()
}
