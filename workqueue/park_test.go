package workqueue_test

import (
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// parkTest parks "x" at time 0 with retries after 10 s.
func parkTest(t *testing.T, o workqueue.Options, r workqueue.Result, err error, then func(q *workqueue.Queue[string])) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(o, workqueue.Policy[string]{Limiter: &workqueue.Exponential[string]{Base: 10 * time.Second}})
		q.Add("x")
		q.Finish(get(t, q), r, err)
		then(q)
		q.Close()
	})
}

// readyAfter requires that "x" becomes ready exactly d from now, and once.
func readyAfter(t testing.TB, q *workqueue.Queue[string], d time.Duration) {
	t.Helper()
	if d > 0 {
		time.Sleep(d - 1)
		require.Zero(t, q.Len(), "too soon")
		time.Sleep(time.Nanosecond)
	}
	require.Equal(t, "x", get(t, q))
	q.Done("x")
	require.Empty(t, q.Items(), "delivered once")
}

func TestParkedUntilSignal(t *testing.T) {
	signal := new(listwatch.Signal)
	parkTest(t, workqueue.Options{}, workqueue.Result{Await: signal}, nil, func(q *workqueue.Queue[string]) {
		time.Sleep(10 * time.Second)
		require.Equal(t, workqueue.Parked, q.Items()[0].State)
		require.Equal(t, 1, q.Stats().Parked)
		signal.Fire()
		readyAfter(t, q, 0)
	})
}

func TestParkedUntilDeadline(t *testing.T) {
	never := new(listwatch.Signal)
	for name, test := range map[string]struct {
		o    workqueue.Options
		r    workqueue.Result
		err  error
		want time.Duration
	}{
		"default":               {r: workqueue.Result{Await: never}, want: 30 * time.Second},
		"option":                {o: workqueue.Options{ParkTimeout: time.Hour}, r: workqueue.Result{Await: never}, want: time.Hour},
		"result":                {r: workqueue.Result{Await: never, After: time.Minute}, want: time.Minute},
		"error":                 {r: workqueue.Result{Await: never, After: time.Minute}, err: errStep, want: time.Minute},
		"not before the retry":  {r: workqueue.Result{Await: never, After: time.Second}, err: errStep, want: 10 * time.Second},
		"error and no deadline": {r: workqueue.Result{Await: never}, err: errStep, want: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			parkTest(t, test.o, test.r, test.err, func(q *workqueue.Queue[string]) {
				readyAfter(t, q, test.want)
				time.Sleep(2 * time.Hour)
				require.Zero(t, q.Len())
			})
		})
	}
}

func TestAddsToParkedAreKeptNotRun(t *testing.T) {
	signal := new(listwatch.Signal)
	parkTest(t, workqueue.Options{}, workqueue.Result{Await: signal}, nil, func(q *workqueue.Queue[string]) {
		q.Add("x")
		q.AddAfter("x", time.Second)
		q.AddWith("x", workqueue.AddOptions{Replace: true, Priority: 4})
		require.Equal(t, workqueue.Parked, q.Items()[0].State)
		require.True(t, q.Items()[0].Again)
		require.Equal(t, 4, q.Items()[0].Priority)
		time.Sleep(20 * time.Second)
		require.Zero(t, q.Len())
		signal.Fire()
		require.False(t, q.Items()[0].Again)
		readyAfter(t, q, 0)
	})
}

// A re-add from the time in work is kept while parked, too.
func TestReAddThenPark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New[string](workqueue.Options{})
		q.Add("x")
		require.Equal(t, "x", get(t, q))
		q.Add("x")
		q.Finish("x", workqueue.Result{Await: new(listwatch.Signal)}, nil)
		require.True(t, q.Items()[0].Again)
		readyAfter(t, q, 30*time.Second)
	})
}

func TestSignalAfterError(t *testing.T) {
	for name, test := range map[string]struct{ fire, want time.Duration }{
		"before the retry delay is over": {4 * time.Second, 6 * time.Second},
		"after it":                       {11 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			signal := new(listwatch.Signal)
			parkTest(t, workqueue.Options{}, workqueue.Result{Await: signal}, errStep, func(q *workqueue.Queue[string]) {
				q.Add("x")
				time.Sleep(test.fire)
				signal.Fire()
				readyAfter(t, q, test.want)
			})
		})
	}
}

func TestFiredSignal(t *testing.T) {
	signal := new(listwatch.Signal)
	signal.Fire()
	parkTest(t, workqueue.Options{}, workqueue.Result{Await: signal, After: time.Hour}, nil, func(q *workqueue.Queue[string]) {
		readyAfter(t, q, 0)
	})
	parkTest(t, workqueue.Options{}, workqueue.Result{Await: signal, After: time.Hour}, errStep, func(q *workqueue.Queue[string]) {
		readyAfter(t, q, 10*time.Second)
	})
}

// A signal that fires after its key has left does not wake the key's next parking.
func TestLateSignal(t *testing.T) {
	first, second := new(listwatch.Signal), new(listwatch.Signal)
	parkTest(t, workqueue.Options{}, workqueue.Result{Await: first}, nil, func(q *workqueue.Queue[string]) {
		time.Sleep(30 * time.Second)
		q.Finish(get(t, q), workqueue.Result{Await: second}, nil)
		first.Fire()
		require.Equal(t, workqueue.Parked, q.Items()[0].State)
		second.Fire()
		readyAfter(t, q, 0)
	})
}

// A parked key costs no goroutine, and one signal may wake many.
func TestParkedCostsNoGoroutine(t *testing.T) {
	const count = 10_000
	q := workqueue.New[string](workqueue.Options{})
	defer q.Close()
	signal := new(listwatch.Signal)
	before := runtime.NumGoroutine()
	for i := range count {
		q.Add(strconv.Itoa(i))
		q.Finish(get(t, q), workqueue.Result{Await: signal, After: time.Hour}, nil)
	}
	require.Less(t, runtime.NumGoroutine(), before+100)
	require.Equal(t, count, q.Stats().Parked)
	signal.Fire()
	require.Equal(t, count, q.Len())
}

// A signal that never fires keeps neither keys nor queues alive once the keys have left.
func TestSignalRetainsNothing(t *testing.T) {
	type object struct{ _ [64]byte }
	signal := new(listwatch.Signal)
	freed := make(chan struct{}, 2)
	func() {
		q := workqueue.New[*object](workqueue.Options{})
		for range 2 {
			o := new(object)
			runtime.AddCleanup(o, func(struct{}) { freed <- struct{}{} }, struct{}{})
			q.Add(o)
			o, err := q.Get(t.Context())
			require.NoError(t, err)
			q.Finish(o, workqueue.Result{Await: signal, After: time.Hour}, nil)
		}
		require.True(t, q.Cancel(q.Items()[0].Key))
		q.Close()
	}()
	runtime.GC()
	<-freed
	<-freed
	runtime.KeepAlive(signal)
}

// ending ends the work on a key while its Finish asks for the delay.
type ending struct {
	workqueue.Exponential[string]
	queue *workqueue.Queue[string]
}

func (e *ending) When(k string) time.Duration {
	e.queue.Done(k)
	return e.Exponential.When(k)
}

// Of two ends of one piece of work the first counts, and the second leaves nothing on its signal.
func TestTwoEnds(t *testing.T) {
	limiter := new(ending)
	q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{Limiter: limiter})
	limiter.queue = q
	q.Add("x")
	signal := new(listwatch.Signal)
	q.Finish(get(t, q), workqueue.Result{Await: signal}, errStep)
	require.Empty(t, q.Items())
	q.Add("x")
	require.Equal(t, "x", get(t, q))
	signal.Fire()
	require.Equal(t, workqueue.Working, q.Items()[0].State)
	require.Zero(t, q.Stats().Retries)
}

// A signal that never fires does not remember who has waited on it, however that ended.
func TestSignalForgets(t *testing.T) {
	const rounds = 10_000
	limiter := new(ending)
	q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{Limiter: limiter})
	limiter.queue = q
	signal := new(listwatch.Signal)
	await := workqueue.Result{Await: signal}
	for name, round := range map[string]func(){
		"cancelled": func() {
			q.Add("x")
			q.Finish(get(t, q), await, nil)
			require.True(t, q.Cancel("x"))
		},
		"ended twice": func() {
			q.Add("x")
			q.Finish(get(t, q), await, errStep)
			q.Forget("x")
		},
		"closed": func() {
			closing := workqueue.New[string](workqueue.Options{})
			closing.Add("x")
			closing.Close()
			closing.Finish(get(t, closing), await, nil)
		},
	} {
		before := measure.Held()
		for range rounds {
			round()
		}
		require.Less(t, measure.Held(), before+128<<10, name)
	}
	runtime.KeepAlive(signal)
	runtime.KeepAlive(q)
}

// A signal that is about to call when its key leaves and is parked again elsewhere does not
// wake it.
func TestSignalOfEarlierParking(t *testing.T) {
	overtaken := 0
	for range 100 {
		q := workqueue.New[string](workqueue.Options{})
		first, second := new(listwatch.Signal), new(listwatch.Signal)
		q.Add("x")
		q.Finish(get(t, q), workqueue.Result{Await: first}, nil)
		// The order of the calls is chance: in about half of the rounds this one comes first.
		first.AfterFunc(func() {
			if q.Cancel("x") {
				overtaken++
				q.Add("x")
				q.Finish(get(t, q), workqueue.Result{Await: second}, nil)
			}
		})
		want := overtaken
		first.Fire()
		if overtaken > want {
			require.Equal(t, workqueue.Parked, q.Items()[0].State)
		} else {
			require.Equal(t, workqueue.Ready, q.Items()[0].State)
		}
		q.Close()
	}
	require.Positive(t, overtaken)
}
