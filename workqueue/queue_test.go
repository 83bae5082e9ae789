package workqueue_test

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// delivery is one key that Get returned, and when.
type delivery struct {
	Key string
	At  time.Duration
}

// deliveries adds keys by add, and returns what comes out within a day, worked off at once.
func deliveries(t *testing.T, add func(q *workqueue.Queue[string]), p ...workqueue.Policy[string]) (all []delivery) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options{}, p...)
		start := time.Now()
		add(q)
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		for {
			k, err := q.Get(ctx)
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				break
			}
			all = append(all, delivery{k, time.Since(start)})
			q.Done(k)
		}
		require.Empty(t, q.Items())
		q.Close()
	})
	return all
}

// get returns the next key, which must be there.
func get(t testing.TB, q *workqueue.Queue[string]) string {
	t.Helper()
	require.Positive(t, q.Len(), "nothing is ready")
	k, err := q.Get(context.Background())
	require.NoError(t, err)
	return k
}

// Scenarios 86 and 87: one due time a key, the earliest, whichever way it was asked for.
func TestOneDueTime(t *testing.T) {
	const h, ms = time.Hour, time.Millisecond
	after := func(delays ...time.Duration) func(*workqueue.Queue[string]) {
		return func(q *workqueue.Queue[string]) {
			for _, d := range delays {
				q.AddAfter("x", d)
			}
		}
	}
	replace := func(first, then time.Duration) func(*workqueue.Queue[string]) {
		return func(q *workqueue.Queue[string]) {
			q.AddAfter("x", first)
			q.AddWith("x", workqueue.AddOptions{After: then, Replace: true})
		}
	}
	for name, test := range map[string]struct {
		add  func(*workqueue.Queue[string])
		want time.Duration
	}{
		"sooner":               {after(5*h, 10*ms), 10 * ms},
		"zero":                 {after(5*h, 0), 0},
		"negative":             {after(5*h, -1), 0},
		"add":                  {func(q *workqueue.Queue[string]) { q.AddAfter("x", 5*h); q.Add("x") }, 0},
		"shortest of three":    {after(50*ms, 20*ms, 90*ms), 20 * ms},
		"later after ready":    {after(0, 5*h), 0},
		"replace by later":     {replace(h, 5*h), 5 * h},
		"replace by sooner":    {replace(5*h, h), h},
		"replace by at once":   {replace(5*h, 0), 0},
		"replace of ready one": {replace(0, h), h},
		"replace and sooner": {func(q *workqueue.Queue[string]) {
			replace(h, 5*h)(q)
			q.AddAfter("x", 2*h)
		}, 2 * h},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []delivery{{"x", test.want}}, deliveries(t, test.add))
		})
	}
}

func TestLongestDelayDoesNotOverflow(t *testing.T) {
	require.Empty(t, deliveries(t, func(q *workqueue.Queue[string]) {
		q.AddAfter("y", 25*time.Hour)
		q.AddAfter("x", 1<<63-1)
		require.Equal(t, 2, q.Stats().Delayed)
		require.True(t, q.Cancel("x"))
		require.True(t, q.Cancel("y"))
	}))
}

func TestDelayedComeInOrder(t *testing.T) {
	want := []delivery{{"c", time.Second}, {"a", 2 * time.Second}, {"b", 2 * time.Second}, {"d", 2 * time.Second}, {"e", 3 * time.Second}}
	require.Equal(t, want, deliveries(t, func(q *workqueue.Queue[string]) {
		q.AddAfter("e", 3*time.Second)
		q.AddAfter("a", 2*time.Second)
		q.AddAfter("b", 2*time.Second)
		q.AddAfter("c", time.Second)
		q.AddAfter("d", 2*time.Second)
	}))
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		defer q.Close()
		require.False(t, q.Cancel("x"), "absent")
		q.AddAfter("x", time.Hour)
		require.True(t, q.Cancel("x"))
		require.Empty(t, q.Items())

		q.Add("x")
		require.False(t, q.Cancel("x"), "ready")
		require.Equal(t, "x", get(t, q))
		require.False(t, q.Cancel("x"), "working")
		q.AddAfter("x", time.Hour)
		require.True(t, q.Cancel("x"), "to come again later")
		q.Add("x")
		require.False(t, q.Cancel("x"), "to come again at once")
		q.Done("x")
		require.Equal(t, "x", get(t, q))

		q.Finish("x", workqueue.Result{Await: new(listwatch.Signal)}, nil)
		q.Add("x")
		require.False(t, q.Cancel("x"), "added while parked")
		time.Sleep(30 * time.Second)
		require.Equal(t, "x", get(t, q))
		q.Finish("x", workqueue.Result{Await: new(listwatch.Signal)}, nil)
		require.True(t, q.Cancel("x"), "parked")
		require.Empty(t, q.Items())

		early := new(listwatch.Signal)
		early.Fire()
		for name, signal := range map[string]*listwatch.Signal{"before": early, "after": new(listwatch.Signal)} {
			q.Add("x")
			require.Equal(t, "x", get(t, q))
			q.Add("x")
			q.Finish("x", workqueue.Result{Await: signal}, errStep)
			signal.Fire()
			require.Equal(t, workqueue.Delayed, q.Items()[0].State, name)
			require.False(t, q.Cancel("x"), "added in work, delayed by an error, signal fired %s", name)
			time.Sleep(time.Minute)
			require.Equal(t, "x", get(t, q))
			q.Done("x")
			require.Empty(t, q.Items())
		}
	})
}

// Scenario 90.
func TestReAddWhileWorking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		q.Add("x")
		require.Equal(t, "x", get(t, q))
		for range 3 {
			q.Add("x")
		}
		require.Zero(t, q.Len(), "dirty in work does not count")
		second := make(chan string, 10)
		ended := make(chan error, 1)
		go func() {
			for {
				k, err := q.Get(t.Context())
				if err != nil {
					ended <- err
					return
				}
				second <- k
				q.Done(k)
			}
		}()
		synctest.Wait()
		require.Empty(t, second, "in two workers at once")
		q.Done("x")
		synctest.Wait()
		require.Len(t, second, 1)
		q.Done("x")
		q.Close()
		require.ErrorIs(t, <-ended, listwatch.ErrStopped)
		require.Len(t, second, 1)
	})
}

func TestDoneOfWhatIsNotInWork(t *testing.T) {
	q := workqueue.New[string](workqueue.Options{})
	q.Done("x")
	q.Finish("x", workqueue.Result{After: time.Hour, Await: new(listwatch.Signal)}, errStep)
	require.Empty(t, q.Items())
	require.Zero(t, q.Requeues("x"), "the limiter was asked about a key that was not in work")
	q.Add("x")
	q.Done("x")
	require.Equal(t, 1, q.Len())
}

func TestGetObeysContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{Name: "pods"})
		ctx, cancel := context.WithCancelCause(t.Context())
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := q.Get(ctx)
				results <- err
			}()
		}
		synctest.Wait()
		require.Empty(t, results)
		cause := context.Canceled
		cancel(errStep)
		for range 2 {
			err := <-results
			require.ErrorIs(t, err, errStep)
			require.NotErrorIs(t, err, cause)
			require.EqualError(t, err, "workqueue pods: step failed")
		}
		q.Add("x")
		_, err := q.Get(ctx)
		require.ErrorIs(t, err, errStep, "no key once ctx is done")
		require.Equal(t, "x", get(t, q))
	})
}

// A wake-up that reaches a call whose context is done is passed on to another call.
func TestWakeUpIsNotLost(t *testing.T) {
	for round := range 300 {
		synctest.Test(t, func(t *testing.T) {
			q := workqueue.New[string](workqueue.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			other := make(chan string, 3)
			go func() {
				k, _ := q.Get(t.Context())
				other <- k
			}()
			synctest.Wait()
			go func() {
				if k, err := q.Get(ctx); err == nil {
					other <- k
				}
			}()
			synctest.Wait()
			if round%2 == 0 {
				go cancel()
				go q.Add("x")
			} else {
				cancel()
				q.Add("x")
			}
			synctest.Wait()
			require.Len(t, other, 1)
			q.Done(<-other)
			// The next ones are found as well: nobody is thought to be on the way who is not.
			for range 2 {
				go func() {
					k, _ := q.Get(t.Context())
					other <- k
				}()
			}
			synctest.Wait()
			q.Add("y")
			synctest.Wait()
			require.Len(t, other, 1)
			require.Equal(t, "y", <-other)
			cancel()
			q.Close()
		})
	}
}

// Scenario 94.
func TestKeepsNothingDelivered(t *testing.T) {
	type object struct {
		_    [64]byte
		name string
	}
	q := workqueue.New[*object](workqueue.Options{})
	const count = 100
	freed := make(chan string, count)
	func() {
		for i := range count {
			o := &object{name: strconv.Itoa(i)}
			runtime.AddCleanup(o, func(name string) { freed <- name }, o.name)
			if i%2 == 0 {
				q.AddRateLimited(o)
			} else {
				q.AddWith(o, workqueue.AddOptions{Priority: i % 5})
			}
		}
		for range count {
			o, err := q.Get(context.Background())
			require.NoError(t, err)
			q.Finish(o, workqueue.Result{}, nil)
		}
	}()
	runtime.GC()
	for range count {
		<-freed
	}
	runtime.KeepAlive(q)
}

// Scenario 95.
func TestNoGoroutineOfItsOwn(t *testing.T) {
	before := runtime.NumGoroutine()
	queues := make([]*workqueue.Queue[string], 10_000)
	for i := range queues {
		q := workqueue.New[string](workqueue.Options{Name: "same name"})
		q.Add("ready")
		q.AddAfter("delayed", time.Hour)
		q.Add("parked")
		require.Equal(t, "ready", get(t, q))
		require.Equal(t, "parked", get(t, q))
		q.Finish("parked", workqueue.Result{Await: new(listwatch.Signal), After: time.Hour}, nil)
		queues[i] = q
	}
	// Others may come and go, but not one a queue.
	require.Less(t, runtime.NumGoroutine(), before+100)
	for _, q := range queues {
		q.Close()
		require.Zero(t, q.Stats().Delayed+q.Stats().Parked)
	}
	require.Less(t, runtime.NumGoroutine(), before+100)
}

// lateClock keeps what it is given to call, and never calls it.
type lateClock struct {
	clock.Clock
	fires []func()
	set   []time.Duration
}

func (c *lateClock) AfterFunc(d time.Duration, f func()) *clock.Timer {
	c.fires, c.set = append(c.fires, f), append(c.set, d)
	return c.Clock.AfterFunc(time.Hour, func() {})
}

// A timer that fires although it was stopped, or late, or too early, does no harm; and one is
// set for the earliest due time alone.
func TestLateTimer(t *testing.T) {
	mock := clock.NewMock()
	c := &lateClock{Clock: mock}
	q := workqueue.New[string](workqueue.Options{Clock: c})
	q.AddAfter("a", 30*time.Minute)
	q.AddAfter("b", 40*time.Minute)
	require.Equal(t, []time.Duration{30 * time.Minute}, c.set, "b is later")
	q.AddAfter("c", 20*time.Minute)
	require.Equal(t, []time.Duration{30 * time.Minute, 20 * time.Minute}, c.set)
	c.fires[0]()
	require.Len(t, c.set, 2, "a stopped timer has set another")
	require.True(t, q.Cancel("c"))
	require.Len(t, c.set, 2, "the timer is left to fire")
	mock.Add(20 * time.Minute)
	c.fires[1]()
	require.Equal(t, []time.Duration{30 * time.Minute, 20 * time.Minute, 10 * time.Minute}, c.set)
	require.Zero(t, q.Len())
	mock.Add(10 * time.Minute)
	require.Equal(t, 1, q.Len(), "the clock counts, though the timer is late")
	c.fires[2]()
	c.fires[1]()
	require.Equal(t, 1, q.Len())
	q.Close()
	c.fires[len(c.fires)-1]()
	require.Equal(t, 1, q.Len())
}

// Close leaves no timer behind.
func TestCloseStopsTimer(t *testing.T) {
	mock := clock.NewMock()
	q := workqueue.New[string](workqueue.Options{Clock: mock})
	q.AddAfter("x", time.Hour)
	q.Close()
	before := mock.Now()
	mock.WaitForAllTimers()
	require.Equal(t, before, mock.Now())
}

// More keys than one hold of the lock makes ready come in due order all the same.
func TestDueBurst(t *testing.T) {
	const count = 5000
	all := deliveries(t, func(q *workqueue.Queue[string]) {
		for i := range count {
			q.AddAfter(strconv.Itoa(i), time.Hour)
		}
	})
	require.Len(t, all, count)
	for i, d := range all {
		require.Equal(t, delivery{strconv.Itoa(i), time.Hour}, d)
	}
}

func TestUnhashableKey(t *testing.T) {
	q := workqueue.New[any](workqueue.Options{})
	require.Panics(t, func() { q.Add([]int{1}) })
	require.Panics(t, func() { q.AddRateLimited([]int{1}) })
	q.Add(1)
	require.Equal(t, 1, q.Len(), "the queue has survived")
}

func TestBadOptions(t *testing.T) {
	require.PanicsWithError(t, "workqueue x: ParkTimeout is negative: -1ns\n2 policies, at most one makes sense", func() {
		workqueue.New(workqueue.Options{Name: "x", ParkTimeout: -1}, workqueue.Policy[string]{}, workqueue.Policy[string]{})
	})
}

func TestStateNames(t *testing.T) {
	var got []string
	for s := range workqueue.Parked + 1 {
		got = append(got, s.String())
	}
	require.Equal(t, []string{"none", "Ready", "Delayed", "Working", "Parked"}, got)
	require.True(t, slices.IsSorted([]workqueue.State{workqueue.Ready, workqueue.Delayed, workqueue.Working, workqueue.Parked}))
}
