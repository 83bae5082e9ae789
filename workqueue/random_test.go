package workqueue_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

var (
	seed  = flag.Uint64("workqueue.seed", 0, "the one seed to run; 0: many")
	seeds = flag.Uint64("workqueue.seeds", 1000, "how many seeds to run")
)

// source is where a run takes its decisions from: chance, or a fuzzer's bytes.
type source interface{ IntN(n int) int }

// fuzzed reads decisions from bytes; at their end all are 0.
type fuzzed struct{ data []byte }

func (f *fuzzed) IntN(n int) int {
	if len(f.data) == 0 {
		return 0
	}
	b := f.data[0]
	f.data = f.data[1:]
	return int(b) % n
}

var errStep = errors.New("step failed")

// run does the same operations on a queue and on the model, and compares all that can be seen.
// It must run in a bubble.
type run struct {
	t      testing.TB
	pick   source
	queue  *workqueue.Queue[string]
	model  *model
	start  time.Time
	await  []*listwatch.Signal
	detail string
}

var names = []string{"a1", "a2", "b1", "b2", "c1", "c2"}

func newRun(t testing.TB, pick source, detail string) *run {
	flow := func(string) string { return "" }
	policy := workqueue.Policy[string]{Limiter: &workqueue.Exponential[string]{Base: time.Second, Max: 5 * time.Second}}
	if pick.IntN(2) == 0 {
		flow = func(k string) string { return k[:1] }
		policy.Flow = flow
	}
	aging := []time.Duration{time.Second, 3 * time.Second, -1}[pick.IntN(3)]
	return &run{
		t: t, pick: pick, detail: detail, start: time.Now(),
		queue: workqueue.New(workqueue.Options{Aging: aging, ParkTimeout: 7 * time.Second}, policy),
		model: &model{
			aging: aging, park: 7 * time.Second, flow: flow, open: true,
			delay:  func(failures int) time.Duration { return min(time.Second<<min(failures-1, 9), 5*time.Second) },
			keys:   make(map[string]*modelKey),
			failed: make(map[string]int),
			turns:  make(map[int][]string),
		},
	}
}

func (r *run) delay() time.Duration { return time.Duration(r.pick.IntN(8)-1) * time.Second }

func (r *run) step() {
	k := names[r.pick.IntN(len(names))]
	switch r.pick.IntN(13) {
	case 0, 1:
		r.queue.Add(k)
		r.model.add(k, 0, 0, false, false)
	case 2:
		d := r.delay()
		r.queue.AddAfter(k, d)
		r.model.add(k, d, 0, false, false)
	case 3, 4:
		o := workqueue.AddOptions{After: r.delay(), Priority: r.pick.IntN(5) - 2, Replace: r.pick.IntN(2) == 0}
		r.queue.AddWith(k, o)
		r.model.add(k, o.After, o.Priority, o.Replace, false)
	case 5:
		r.queue.AddRateLimited(k)
		r.model.failed[k]++
		r.model.add(k, r.model.delay(r.model.failed[k]), 0, false, true)
	case 6, 7:
		r.get()
	case 8, 9:
		r.finish(k)
	case 10:
		r.queue.Done(k)
		r.model.done(k)
	case 11:
		require.Equal(r.t, r.model.cancel(k), r.queue.Cancel(k), "%s: cancel %s", r.detail, k)
	case 12:
		r.pass()
	}
	r.compare()
}

func (r *run) get() {
	if r.model.count("ready") == 0 {
		return
	}
	k, err := r.queue.Get(context.Background())
	require.NoError(r.t, err, r.detail)
	require.Equal(r.t, r.model.get(), k, r.detail)
}

func (r *run) finish(k string) {
	var result workqueue.Result
	if r.pick.IntN(2) == 0 {
		result.After = r.delay()
	}
	if r.pick.IntN(2) == 0 {
		result.Await = new(listwatch.Signal)
		r.await = append(r.await, result.Await)
		if r.pick.IntN(4) == 0 {
			result.Await.Fire()
		}
	}
	var err error
	if r.pick.IntN(3) == 0 {
		err = errStep
	}
	r.queue.Finish(k, result, err)
	r.model.finish(k, result.After, result.Await, err != nil)
}

// pass lets a signal fire or time go by.
func (r *run) pass() {
	if len(r.await) > 0 && r.pick.IntN(2) == 0 {
		n := r.pick.IntN(len(r.await))
		r.await[n].Fire()
		r.model.fire(r.await[n])
		return
	}
	d := time.Duration(r.pick.IntN(6)+1) * time.Second / 2
	time.Sleep(d)
	r.model.pass(d)
}

// seen is what can be seen of one key.
type seen struct {
	State    string
	Again    bool
	Priority int
	Failures int
	Due      time.Duration
}

var stateNames = map[workqueue.State]string{
	workqueue.Ready: "ready", workqueue.Delayed: "delayed", workqueue.Working: "working", workqueue.Parked: "parked",
}

func (r *run) compare() {
	want, got := make(map[string]seen), make(map[string]seen)
	for name, k := range r.model.keys {
		s := seen{State: k.state, Again: k.again, Priority: k.priority, Failures: r.model.failed[name]}
		switch {
		case k.state == "delayed" || k.state == "parked":
			s.Due = k.due
		case k.state == "working" && k.again && k.againDue > 0:
			s.Due = k.againDue
		}
		want[name] = s
	}
	for _, i := range r.queue.Items() {
		s := seen{State: stateNames[i.State], Again: i.Again, Priority: i.Priority, Failures: i.Failures}
		if !i.Due.IsZero() {
			s.Due = i.Due.Sub(r.start)
		}
		got[i.Key] = s
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Fatalf("%s: (-model +queue)\n%s", r.detail, diff)
	}
	require.Equal(r.t, r.model.count("ready"), r.queue.Len(), r.detail)
}

// end takes out all that is ready, in the model's order, and closes.
func (r *run) end() {
	for r.model.count("ready") > 0 {
		r.get()
	}
	r.compare()
	r.queue.Close()
}

// TestModel compares random operations with the reference model of the state table, in virtual
// time. A failure names its seed: run it alone with -workqueue.seed.
func TestModel(t *testing.T) {
	first, last := uint64(1), *seeds
	switch {
	case *seed != 0:
		first, last = *seed, *seed
	case testing.Short():
		last = min(last, 500)
	}
	synctest.Test(t, func(t *testing.T) {
		for s := first; s <= last; s++ {
			r := newRun(t, rand.New(rand.NewPCG(s, 0)), fmt.Sprintf("seed %d", s))
			for range 60 {
				r.step()
			}
			r.end()
		}
	})
}

// FuzzQueue takes the operations from the fuzzer.
func FuzzQueue(f *testing.F) {
	f.Add([]byte("01234567890123456789"))
	f.Add([]byte{0, 1, 0, 3, 5, 6, 7, 8, 2, 4, 12, 1, 1, 9, 0, 0, 0, 12, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(t, &fuzzed{data}, "fuzz")
			for range min(len(data)/2, 200) {
				r.step()
			}
			r.end()
		})
	})
}
