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

// visit is a way for a key to be in a queue for a while.
type visit struct {
	come  func(q *workqueue.Queue[string], k string)
	leave func(q *workqueue.Queue[string], k string)
	// cost is how many bytes a key may cost meanwhile; it is less than twice what it does cost.
	cost int
}

// visits returns the ways, with the signal that the parked ones share.
//
// In each way there is an entry, 72 bytes with a string as key, and a slot of the table, 12 at a
// load of 40 to 80 %; a delayed one has a slot of the heap, 16, half of them free at worst.
func visits(t *testing.T, shared *listwatch.Signal) map[string]visit {
	type queue = *workqueue.Queue[string]
	park := func(s func() *listwatch.Signal) func(queue, string) {
		return func(q queue, k string) {
			q.Add(k)
			q.Finish(get(t, q), workqueue.Result{Await: s(), After: time.Hour}, nil)
		}
	}
	cancel := func(q queue, k string) { q.Cancel(k) }
	giveUp := func(q queue, k string) {
		q.Cancel(k)
		q.Forget(k)
	}
	return map[string]visit{
		"delayed": {func(q queue, k string) { q.AddAfter(k, time.Hour) }, cancel, 250},
		// Each needs the timer sooner than the one before.
		"sooner and sooner": {func(q queue, k string) {
			q.AddAfter(k, 1000*time.Hour-time.Duration(q.Stats().Delayed)*time.Second)
		}, cancel, 250},
		// The failures: a map's place, 24 at a load of 44 to 88 %.
		"rate limited": {func(q queue, k string) { q.AddRateLimited(k) }, giveUp, 350},
		"failed": {func(q queue, k string) {
			q.Add(k)
			q.Finish(get(t, q), workqueue.Result{}, errStep)
		}, giveUp, 350},
		// The parking and two functions, 88, a place in the queue's map and one in the signal's,
		// 16 each.
		"parked": {park(func() *listwatch.Signal { return shared }), cancel, 500},
		// A signal of its own, 48, with a map of its own, 192.
		"parked alone": {park(func() *listwatch.Signal { return new(listwatch.Signal) }), cancel, 800},
		// A lane, 64, and its place in a map, 24.
		"ready": {func(q queue, k string) { q.Add(k) }, func(q queue, _ string) { q.Finish(get(t, q), workqueue.Result{}, nil) }, 450},
	}
}

// Whatever a crowd of keys did in a queue costs memory by key while it is there, and nothing
// when it is gone and the queue has been used twice since.
func TestBoundsByKey(t *testing.T) {
	keys := make([]string, measure.Sized(5000, 500_000))
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	shared := new(listwatch.Signal)
	for name, v := range visits(t, shared) {
		synctest.Test(t, func(t *testing.T) {
			before := measure.Held()
			q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{Flow: flowOfReady(name)})
			for _, k := range keys {
				v.come(q, k)
			}
			kept := measure.Held() - before
			for _, k := range keys {
				v.leave(q, k)
			}
			for range 2 {
				q.Add("x")
				q.Finish(get(t, q), workqueue.Result{}, nil)
			}
			left := measure.Held() - before
			t.Logf("%s: %d bytes a key, %d left", name, kept/len(keys), left)
			require.Less(t, kept, v.cost*len(keys), name)
			require.Less(t, left, 32<<10, name)
			require.Empty(t, q.Items())
			runtime.KeepAlive(q)
		})
	}
	runtime.KeepAlive(shared)
	runtime.KeepAlive(keys)
}

// flowOfReady gives each key a flow of its own where keys are ready.
func flowOfReady(name string) func(string) string {
	if name != "ready" {
		return nil
	}
	return func(k string) string { return k }
}

// A hundred keys come and go again and again, beside one that stays, so that the queue is never
// empty. Two bytes that stayed for each visit would be more than is allowed.
func TestBoundsByVisits(t *testing.T) {
	shared := new(listwatch.Signal)
	for name, v := range visits(t, shared) {
		synctest.Test(t, func(t *testing.T) {
			q := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{Flow: flowOfReady(name)})
			q.AddAfter("stays", 10_000*time.Hour)
			next := 0
			round := func(rounds int) int {
				for range rounds {
					first := next
					for ; next < first+100; next++ {
						v.come(q, strconv.Itoa(next))
					}
					for k := first; k < next; k++ {
						v.leave(q, strconv.Itoa(k))
					}
				}
				return measure.Held()
			}
			warm := round(20)
			grown := round(measure.Sized(100, 10_000)) - warm
			require.Less(t, grown, 16<<10, name)
			require.Len(t, q.Items(), 1)
			q.Close()
			runtime.KeepAlive(q)
		})
	}
	runtime.KeepAlive(shared)
}

// Keys that wait for what never happens come back when their time is up, and leave nothing at
// the signal or the limiter.
func TestBoundsOfParkedInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := measure.Sized(100, 1000)
		signal := new(listwatch.Signal)
		q := workqueue.New[int](workqueue.Options{})
		attempt := func(rounds int) int {
			for range rounds {
				for q.Len() > 0 {
					k, err := q.Get(t.Context())
					require.NoError(t, err)
					q.Finish(k, workqueue.Result{Await: signal}, errStep)
				}
				time.Sleep(time.Hour) // longer than the timeout and the limiter's longest delay
			}
			return measure.Held()
		}
		for k := range keys {
			q.Add(k)
		}
		warm := attempt(10)
		grown := attempt(100) - warm
		require.Equal(t, keys, q.Len())
		require.Equal(t, 110, q.Requeues(0))
		// The maps of the queue and of the signal may grow once more, by 32 bytes a key each. One
		// byte for each of the waits in vain would be more.
		require.Less(t, grown, 4<<10+64*keys)
		runtime.KeepAlive(signal)
		q.Close()
	})
}
