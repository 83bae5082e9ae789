package workqueue_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// drained is what a call of Drain returned, and when.
type drained struct {
	keys []string
	err  error
	at   time.Duration
}

func drain(ctx context.Context, q *workqueue.Queue[string], n int) <-chan drained {
	results := make(chan drained, n)
	start := time.Now()
	for range n {
		go func() {
			keys, err := q.Drain(ctx)
			slices.Sort(keys)
			results <- drained{keys, err, time.Since(start)}
		}()
	}
	return results
}

// Scenario 88 (a): Drain returns only after all that was ready is done.
func TestDrainWaitsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		for _, k := range []string{"a", "b", "c"} {
			q.Add(k)
		}
		var done []string
		go func() {
			for {
				k, err := q.Get(t.Context())
				if err != nil {
					return
				}
				time.Sleep(time.Second)
				done = append(done, k)
				q.Done(k)
			}
		}()
		require.Equal(t, drained{nil, nil, 3 * time.Second}, <-drain(t.Context(), q, 1))
		require.Equal(t, []string{"a", "b", "c"}, done)
		q.Add("d")
		require.Empty(t, q.Items())
		require.EqualValues(t, 1, q.Stats().Refused)
		_, err := q.Get(t.Context())
		require.ErrorIs(t, err, listwatch.ErrStopped)
	})
}

// Scenario 88 (b): a key that is in work and added during the drain is worked on twice.
func TestDrainTakesReAddsOfKeysInWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		q.Add("a")
		require.Equal(t, "a", get(t, q))
		result := drain(t.Context(), q, 1)
		synctest.Wait()
		q.Add("a")
		q.Add("b")
		q.Done("a")
		synctest.Wait()
		require.Empty(t, result)
		require.Equal(t, "a", get(t, q))
		synctest.Wait()
		require.Empty(t, result)
		q.Done("a")
		require.Equal(t, drained{}, <-result)
	})
}

// Scenario 88 (c): Close cuts a waiting drain short.
func TestCloseEndsDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{Name: "x"})
		q.Add("work")
		require.Equal(t, "work", get(t, q))
		q.Add("ready")
		result := drain(t.Context(), q, 1)
		synctest.Wait()
		require.Empty(t, result)
		q.Close()
		r := <-result
		require.Equal(t, []string{"ready", "work"}, r.keys)
		require.ErrorIs(t, r.err, listwatch.ErrStopped)
		require.Zero(t, r.at, "promptly")
		require.Equal(t, "ready", get(t, q), "Get hands out the rest")
		q.Done("ready")
		_, err := q.Get(t.Context())
		require.EqualError(t, err, "workqueue x: stopped")
	})
}

// Scenario 88 (d): Drain and Close at once, many times.
func TestDrainCloseRace(t *testing.T) {
	rounds := 10_000
	if testing.Short() {
		rounds = 500
	}
	for range rounds {
		q := workqueue.New[int](workqueue.Options{})
		q.Add(1)
		q.AddAfter(2, time.Hour)
		var group sync.WaitGroup
		group.Go(func() {
			k, err := q.Get(context.Background())
			if err == nil {
				q.Add(k)
				q.Done(k)
			}
		})
		group.Go(func() { _, _ = q.Drain(context.Background()) })
		group.Go(q.Close)
		group.Go(func() { _, _ = q.Drain(context.Background()) })
		group.Wait()
	}
}

// Scenario 88 (e): an immediate end wins over a drain that comes later.
func TestDrainAfterClose(t *testing.T) {
	q := workqueue.New[string](workqueue.Options{})
	q.Add("a")
	require.Equal(t, "a", get(t, q))
	q.Close()
	keys, err := q.Drain(context.Background())
	require.Equal(t, []string{"a"}, keys)
	require.ErrorIs(t, err, listwatch.ErrStopped)
	q.Done("a")
	keys, err = q.Drain(context.Background())
	require.Empty(t, keys)
	require.NoError(t, err, "nothing is left")
}

// Scenario 88 (f): two drains at once both return, with the same keys.
func TestTwoDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		q.Add("a")
		q.AddAfter("later", time.Hour)
		require.Equal(t, "a", get(t, q))
		results := drain(t.Context(), q, 2)
		synctest.Wait()
		require.Empty(t, results)
		q.Done("a")
		for range 2 {
			require.Equal(t, drained{keys: []string{"later"}}, <-results)
		}
		require.Equal(t, drained{keys: []string{"later"}}, <-drain(t.Context(), q, 1), "and once more later")
	})
}

// What would come later is not waited for, but told.
func TestDrainTellsWhatItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		never := new(listwatch.Signal)
		for _, k := range []string{"parked", "fails", "after", "awaits", "readds", "soon", "fine"} {
			q.Add(k)
			require.Equal(t, k, get(t, q))
		}
		q.Finish("parked", workqueue.Result{Await: never}, nil)
		q.AddAfter("delayed", time.Hour)
		result := drain(t.Context(), q, 1)
		synctest.Wait()
		q.Finish("fails", workqueue.Result{}, errStep)
		q.Finish("after", workqueue.Result{After: time.Hour}, nil)
		q.Finish("awaits", workqueue.Result{Await: never}, nil)
		q.AddAfter("readds", time.Hour)
		q.Done("readds")
		q.Add("soon")
		q.Finish("soon", workqueue.Result{}, errStep)
		q.Finish("fine", workqueue.Result{}, nil)
		require.Equal(t, "soon", get(t, q), "added meanwhile, without delay")
		synctest.Wait()
		require.Empty(t, result)
		q.Done("soon")
		require.Equal(t, drained{keys: []string{"after", "awaits", "delayed", "fails", "parked", "readds"}}, <-result)
		never.Fire()
		time.Sleep(2 * time.Hour)
		require.Empty(t, q.Items())
	})
}

// A drain that gives up leaves nothing to be handed out behind its back.
func TestDrainGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{Name: "x"})
		q.Add("work")
		require.Equal(t, "work", get(t, q))
		q.Add("ready")
		q.AddAfter("later", time.Hour)
		waiting := make(chan error, 1)
		patient := drain(t.Context(), q, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		q.Add("work")
		r := <-drain(ctx, q, 1)
		require.Equal(t, []string{"later", "ready", "work"}, r.keys)
		require.ErrorIs(t, r.err, context.DeadlineExceeded)
		require.ErrorContains(t, r.err, "workqueue x: drain: ")
		require.Equal(t, time.Minute, r.at)
		r = <-patient
		require.Equal(t, []string{"later", "ready", "work"}, r.keys)
		require.ErrorIs(t, r.err, listwatch.ErrStopped)
		go func() {
			_, err := q.Get(t.Context())
			waiting <- err
		}()
		require.ErrorIs(t, <-waiting, listwatch.ErrStopped)
		q.Add("work")
		q.Finish("work", workqueue.Result{}, nil)
		require.Empty(t, q.Items())
	})
}

// Once a drain has given up, a later one does not say that all is well.
func TestDrainAfterGivingUp(t *testing.T) {
	q := workqueue.New[string](workqueue.Options{})
	q.Add("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, want := range []error{context.Canceled, listwatch.ErrStopped} {
		keys, err := q.Drain(ctx)
		require.Equal(t, []string{"a"}, keys)
		require.ErrorIs(t, err, want)
		ctx = t.Context()
	}
}

// Close drops what is later, and wakes every call of Get.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		signal := new(listwatch.Signal)
		q.Add("again")
		require.Equal(t, "again", get(t, q))
		q.Add("retry")
		require.Equal(t, "retry", get(t, q))
		q.Add("parked")
		require.Equal(t, "parked", get(t, q))
		q.Finish("parked", workqueue.Result{Await: signal}, nil)
		q.AddAfter("later", time.Hour)
		results := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := q.Get(t.Context())
				results <- err
			}()
		}
		synctest.Wait()
		q.Add("again")
		q.Close()
		q.Close()
		for range 3 {
			require.ErrorIs(t, <-results, listwatch.ErrStopped)
		}
		q.Add("again")
		q.Done("again")
		require.Equal(t, "again", get(t, q), "added before Close")
		q.Add("again")
		q.Done("again")
		q.Finish("retry", workqueue.Result{}, errStep)
		q.AddRateLimited("new")
		require.Zero(t, q.Requeues("new"), "the limiter was asked about a key that is not taken")
		signal.Fire()
		require.Empty(t, q.Items())
		require.EqualValues(t, 3, q.Stats().Refused)
	})
}

// A step that ends after Close, or after a drain that gave up, brings its key back by no way of
// its own, however soon that would be.
func TestNothingComesBackAfterTheEnd(t *testing.T) {
	fired := new(listwatch.Signal)
	fired.Fire()
	for name, finish := range map[string]func(q *workqueue.Queue[string]){
		"an error without delay":        func(q *workqueue.Queue[string]) { q.Finish("k", workqueue.Result{}, errStep) },
		"a signal that has fired":       func(q *workqueue.Queue[string]) { q.Finish("k", workqueue.Result{Await: fired}, nil) },
		"both":                          func(q *workqueue.Queue[string]) { q.Finish("k", workqueue.Result{Await: fired}, errStep) },
		"a signal that has not fired":   func(q *workqueue.Queue[string]) { q.Finish("k", workqueue.Result{Await: new(listwatch.Signal)}, nil) },
		"a delay":                       func(q *workqueue.Queue[string]) { q.Finish("k", workqueue.Result{After: 1}, nil) },
		"an error, and an add too late": func(q *workqueue.Queue[string]) { q.Add("k"); q.Finish("k", workqueue.Result{}, errStep) },
	} {
		for how, end := range map[string]func(q *workqueue.Queue[string]){
			"closed": (*workqueue.Queue[string]).Close,
			"given up": func(q *workqueue.Queue[string]) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				left, err := q.Drain(ctx)
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, []string{"k"}, left)
			},
		} {
			q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{Limiter: workqueue.Max[string]()})
			q.Add("k")
			require.Equal(t, "k", get(t, q))
			end(q)
			finish(q)
			_, err := q.Get(t.Context())
			require.ErrorIs(t, err, listwatch.ErrStopped, "%s, %s", name, how)
			require.Empty(t, q.Items(), "%s, %s", name, how)
		}
	}
}

// What was added before Close comes once more, and no more often by its retries.
func TestAddedBeforeCloseComesOnce(t *testing.T) {
	fired := new(listwatch.Signal)
	fired.Fire()
	for name, result := range map[string]workqueue.Result{"error": {}, "error and signal": {Await: fired}} {
		q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{Limiter: workqueue.Max[string]()})
		q.Add("k")
		require.Equal(t, "k", get(t, q))
		q.Add("k")
		q.Close()
		q.Finish("k", result, errStep)
		require.Equal(t, "k", get(t, q), name)
		q.Finish("k", result, errStep)
		require.Empty(t, q.Items(), name)
	}
}
