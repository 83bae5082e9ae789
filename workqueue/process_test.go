package workqueue_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// process runs steps on "x" until the queue has been drained a day later, and returns the times
// of the steps and the log.
func process(t *testing.T, step func(n int) (workqueue.Result, error), p ...workqueue.Policy[string]) (at []time.Duration, log string) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		q := workqueue.New(workqueue.Options{Name: "pods", Logger: slog.New(slog.NewTextHandler(&text, nil))}, p...)
		start := time.Now()
		q.Add("x")
		ended := make(chan error, 1)
		go func() {
			ended <- workqueue.Process(t.Context(), q, 1, func(_ context.Context, k string) (workqueue.Result, error) {
				at = append(at, time.Since(start))
				return step(len(at))
			})
		}()
		time.Sleep(24 * time.Hour)
		left, err := q.Drain(t.Context())
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, <-ended)
		require.Zero(t, q.Requeues("x"), "success forgets")
		log = text.String()
	})
	return at, log
}

func TestProcessResults(t *testing.T) {
	const ms = time.Millisecond
	at, log := process(t, func(n int) (workqueue.Result, error) {
		switch n {
		case 1, 2:
			return workqueue.Result{After: time.Hour}, errStep
		case 3:
			return workqueue.Result{After: time.Second}, nil
		case 4:
			return workqueue.Result{Await: new(listwatch.Signal)}, nil
		case 5:
			return workqueue.Result{}, errStep
		}
		return workqueue.Result{}, nil
	})
	require.Equal(t, []time.Duration{0, 5 * ms, 15 * ms, 1015 * ms, 31015 * ms, 31020 * ms}, at)
	require.Contains(t, log, `level=WARN msg="workqueue: step failed" queue=pods key=x failures=2 error="step failed"`)
}

func TestProcessPanics(t *testing.T) {
	at, log := process(t, func(n int) (workqueue.Result, error) {
		switch n {
		case 1:
			panic("bad " + "step")
		case 2:
			panic(errStep)
		case 3:
			// What t.FailNow does in a step.
			runtime.Goexit()
		}
		return workqueue.Result{}, nil
	})
	require.Equal(t, []time.Duration{0, 5 * time.Millisecond, 15 * time.Millisecond, 35 * time.Millisecond}, at)
	require.Contains(t, log, `level=ERROR msg="workqueue: step panicked" queue=pods key=x failures=1 panic="bad step" stack=`)
	require.Contains(t, log, "process_test.go")
	require.Contains(t, log, `failures=3 error="step called runtime.Goexit"`)
}

func TestPanicError(t *testing.T) {
	err := error(&workqueue.PanicError{Value: errStep})
	require.ErrorIs(t, err, errStep)
	require.EqualError(t, err, "step panicked: step failed")
	require.NoError(t, errors.Unwrap(&workqueue.PanicError{Value: 1}))
}

// faulty panics wherever user code is called.
type faulty struct{}

func (faulty) When(string) time.Duration { panic("when") }
func (faulty) Forget(string)             { panic("forget") }
func (faulty) Requeues(string) int       { panic("requeues") }

// User code that panics is told, and neither loses the key nor ends a worker.
func TestFaultyPolicy(t *testing.T) {
	var text bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))}, workqueue.Policy[string]{
			Limiter: faulty{}, Flow: func(string) string { panic("flow") },
		})
		start := time.Now()
		q.Add("x")
		steps := 0
		ctx, cancel := context.WithCancel(t.Context())
		err := workqueue.Process(ctx, q, 1, func(context.Context, string) (workqueue.Result, error) {
			if steps++; steps == 1 {
				return workqueue.Result{}, errStep
			}
			cancel()
			return workqueue.Result{}, nil
		})
		require.NoError(t, err)
		require.Equal(t, 2, steps)
		require.Equal(t, time.Second, time.Since(start))
		require.Empty(t, q.Items())
	})
	for _, what := range []string{"Flow", "Limiter.When", "Limiter.Forget", "Limiter.Requeues"} {
		require.Contains(t, text.String(), what+" panicked")
	}
}

func TestNegativeDelayIsNone(t *testing.T) {
	q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{Limiter: negative{}})
	q.AddRateLimited("x")
	require.Equal(t, 1, q.Len())
}

type negative struct{ workqueue.Limiter[string] }

func (negative) When(string) time.Duration { return -time.Hour }

// Once ctx is done no step begins, and Process returns when the last one has.
func TestProcessEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{Logger: slog.New(slog.DiscardHandler)})
		for _, k := range []string{"a", "b", "c", "d"} {
			q.Add(k)
		}
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan string, 4)
		ended := make(chan error, 1)
		go func() {
			ended <- workqueue.Process(ctx, q, 2, func(ctx context.Context, k string) (workqueue.Result, error) {
				started <- k
				<-ctx.Done()
				time.Sleep(time.Hour)
				return workqueue.Result{}, ctx.Err()
			})
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.Empty(t, ended, "steps are still running")
		time.Sleep(time.Hour)
		require.NoError(t, <-ended)
		require.Len(t, started, 2)
		require.Equal(t, 2, q.Len(), "left in the queue")
		require.Equal(t, 2, q.Stats().Delayed, "failed by the context")
		q.Close()
	})
}

func TestProcessEndsWithQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		q.Add("a")
		q.Add("b")
		q.Close()
		var steps atomic.Int32
		require.NoError(t, workqueue.Process(t.Context(), q, 3, func(context.Context, string) (workqueue.Result, error) {
			steps.Add(1)
			return workqueue.Result{}, nil
		}))
		require.EqualValues(t, 2, steps.Load(), "what was ready is worked off")
	})
}

func TestProcessRefuses(t *testing.T) {
	q := workqueue.New[string](workqueue.Options{Name: "x"})
	step := func(context.Context, string) (workqueue.Result, error) { return workqueue.Result{}, nil }
	require.EqualError(t, workqueue.Process(t.Context(), q, 0, step), "workqueue x: process: 0 workers, at least one is needed")
	require.EqualError(t, workqueue.Process(t.Context(), q, 1, nil), "workqueue x: process: no step")
}

// Scenario 98: a step looks at the current state, so the retry of an old delete meets the
// re-created object and does not delete it.
func TestRetryOfOldDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{Logger: slog.New(slog.DiscardHandler)})
		// cache is what an indexer would hold, mirror what the controller keeps equal to it.
		var mu sync.Mutex
		cache := map[string]int{}
		mirror := map[string]int{}
		var done []string
		ended := make(chan error, 1)
		go func() {
			ended <- workqueue.Process(t.Context(), q, 2, func(_ context.Context, k string) (workqueue.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				if value, ok := cache[k]; ok {
					mirror[k] = value
					done = append(done, "C")
				} else if len(done) == 1 && done[0] == "C" && q.Requeues(k) == 0 {
					return workqueue.Result{}, errStep
				} else {
					delete(mirror, k)
					done = append(done, "D")
				}
				return workqueue.Result{}, nil
			})
		}()
		change := func(f func()) {
			mu.Lock()
			defer mu.Unlock()
			f()
			q.Add("x")
		}
		change(func() { cache["x"] = 1 })
		synctest.Wait()
		change(func() { delete(cache, "x") })
		synctest.Wait()
		require.Equal(t, 1, q.Requeues("x"), "the delete has failed and waits")
		change(func() { cache["x"] = 2 })
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, cache, mirror)
		require.Equal(t, []string{"C", "C"}, done)
		change(func() { delete(cache, "x") })
		synctest.Wait()
		require.Equal(t, cache, mirror)
		require.Equal(t, []string{"C", "C", "D"}, done)
		q.Close()
		require.NoError(t, <-ended)
	})
}

// Under load from all sides, in real time: no key is in two workers at once, and the last add
// of every key is seen by a step that began after it.
func TestStress(t *testing.T) {
	const keys, adders = 50, 4
	adds := 20_000
	if testing.Short() {
		adds = 2000
	}
	q := workqueue.New(workqueue.Options{}, workqueue.Policy[int]{
		Limiter: &workqueue.Exponential[int]{Base: time.Microsecond, Max: time.Millisecond},
		Flow:    func(k int) string { return string(rune('a' + k%3)) },
	})
	var busy [keys]atomic.Bool
	var added, seen [keys]atomic.Int64
	var overlaps atomic.Int64
	signal := new(listwatch.Signal)
	ended := make(chan error, 1)
	go func() {
		ended <- workqueue.Process(context.Background(), q, 8, func(_ context.Context, k int) (workqueue.Result, error) {
			if !busy[k].CompareAndSwap(false, true) {
				overlaps.Add(1)
			}
			now := added[k].Load()
			defer func() {
				seen[k].Store(now)
				busy[k].Store(false)
			}()
			switch now % 7 {
			case 0:
				return workqueue.Result{}, nil
			case 1:
				return workqueue.Result{After: time.Microsecond}, nil
			case 2:
				go signal.Fire()
				return workqueue.Result{Await: signal, After: time.Millisecond}, nil
			}
			return workqueue.Result{}, nil
		})
	}()
	var group sync.WaitGroup
	for range adders {
		group.Go(func() {
			for i := range adds {
				k := i * 31 % keys
				added[k].Add(1)
				switch i % 5 {
				case 0:
					q.AddWith(k, workqueue.AddOptions{Priority: i % 3})
				case 1:
					q.AddAfter(k, time.Microsecond)
				}
				q.Add(k)
				if i%100 == 0 {
					q.Items()
					q.Stats()
				}
			}
		})
	}
	group.Wait()
	for k := range keys {
		// No key is delayed or parked for good: the last step of each sees a multiple of 7.
		added[k].Store(7)
		q.Add(k)
	}
	left, err := q.Drain(context.Background())
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Zero(t, overlaps.Load())
	for k := range keys {
		if seen[k].Load() != 7 {
			require.Contains(t, left, k, "the last add was lost")
		}
	}
	require.Zero(t, q.Stats().Working+q.Stats().Ready)
	require.Equal(t, q.Stats().Gets, q.Stats().Done)
}
