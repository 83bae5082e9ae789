package informer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

var (
	seeds = flag.Int("seeds", 150, "how many seeds the simulation runs")
	seed  = flag.Uint64("seed", 0, "the one seed that the simulation runs; 0: from 1 to -seeds")
)

// TestSimulation lets random writes, faults and handlers loose on an informer, and checks all
// that can be checked after each step and at rest. A failure prints the seed and the steps.
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *seed != 0 {
		simulate(t, *seed)
		return
	}
	n := uint64(*seeds)
	if storage != nil { // compact stores are slow to write to, and their own tests tell more
		n = n/3 + 1
	}
	for s := range n {
		if simulate(t, s+1); t.Failed() {
			return
		}
	}
}

// world is one simulated server with an informer of it.
type world struct {
	rng      *rand.Rand
	server   *server
	pods     *pods
	byValue  *indexer.Index[*object, string]
	told     []*listener
	history  map[listwatch.Key][]string // versions of each key, in order
	read     map[listwatch.Key]string   // versions last read from the store
	steps    []string
	failures []string
	paused   bool
	lossy    bool // something was hidden from watches
	still    bool // everybody waits for time to pass
}

// listener is a handler with its registration.
type listener struct {
	rec    fakes.Recorder[*object]
	reg    *informer.Registration
	policy informer.Policy
}

func simulate(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w := &world{rng: rng, history: map[listwatch.Key][]string{}, read: map[listwatch.Key]string{}}
		w.server = newServer(fakes.Options[*object]{
			History: 20 + rng.IntN(200), NoInitialEvents: rng.IntN(2) == 0, ExpiredStatus: rng.IntN(2) == 0,
		})
		o := quiet(informer.Options{})
		if storage != nil { // much is decoded again
			o.Index.Compact = &indexer.Compact{Recent: 1 + int(seed%20)}
		}
		o.Reflector.PageSize = int64(rng.IntN(3) * 4)
		w.pods = informer.New[*object](w.server, o)
		w.byValue, _ = indexer.AddIndex(w.pods.Indexer(), "value", indexer.One(func(o *object) string { return o.Value }))
		for range rng.IntN(20) {
			w.write()
		}
		for range rng.IntN(3) {
			w.listen(t.Context())
		}
		ctx, cancel := context.WithCancel(context.Background())
		run := make(chan error, 1)
		go func() { run <- w.pods.Run(ctx) }()
		for range 40 + rng.IntN(80) {
			w.step(t.Context())
		}
		w.settle(t.Context())
		cancel()
		if err := <-run; err != nil {
			w.fail("Run: %v", err)
		}
		if len(w.failures) > 0 {
			t.Errorf("seed %d:\n%s\nsteps:\n%s", seed, strings.Join(w.failures, "\n"), strings.Join(w.steps, "\n"))
		}
	})
}

func (w *world) fail(format string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

func (w *world) note(format string, args ...any) {
	w.steps = append(w.steps, fmt.Sprintf("%s @%s", fmt.Sprintf(format, args...), w.server.Version()))
}

func (w *world) write() {
	k := key(fmt.Sprint("k", w.rng.IntN(8)))
	if w.rng.IntN(4) == 0 {
		gone, err := w.server.Delete(k, fakes.Preconditions{})
		if err == nil {
			w.history[k] = append(w.history[k], gone.ResourceVersion)
			w.note("delete %s", k.Name)
		}
		return
	}
	o, err := w.server.Put(named(k.Name, fmt.Sprint("v", w.rng.IntN(5))))
	if err != nil {
		w.fail("put: %v", err)
		return
	}
	w.history[k] = append(w.history[k], o.ResourceVersion)
	w.note("put %s", k.Name)
}

func (w *world) listen(ctx context.Context) {
	l := &listener{policy: informer.Policy(w.rng.IntN(2))}
	nap := time.Duration(w.rng.IntN(3)) * time.Millisecond
	grumpy := w.rng.IntN(4) == 0
	rng := rand.New(rand.NewPCG(w.rng.Uint64(), 1))
	h := func(ctx context.Context, c change) {
		time.Sleep(nap)
		if held, ok := w.pods.Indexer().Head(c.Key); ok && c.Type != informer.Delete {
			if listwatch.Newer(c.Object.ResourceVersion, held.ResourceVersion) {
				w.fail("handler was told %s of %s, the store holds %s", c.Object.ResourceVersion, c.Key, held.ResourceVersion)
			}
		}
		l.rec.Handle(ctx, c)
		if grumpy && rng.IntN(5) == 0 {
			panic("grumpy")
		}
	}
	var err error
	o := informer.HandlerOptions{Policy: l.policy, Backlog: 1 + w.rng.IntN(10), Resync: time.Duration(w.rng.IntN(2)) * time.Minute}
	if l.policy == informer.EveryEvent {
		o.Backlog *= 20
	}
	if l.reg, err = w.pods.AddHandler(ctx, h, o); err != nil {
		w.fail("AddHandler: %v", err)
		return
	}
	w.told = append(w.told, l)
	w.note("handler %d", len(w.told))
}

// step does one random thing and looks around.
func (w *world) step(ctx context.Context) {
	errs := []error{fakes.Status(500, "boom"), fakes.Status(429, "slow"), fakes.Status(403, "no"), fakes.Status(503, "away"), errors.New("reset")}
	switch n := w.rng.IntN(100); {
	case n < 55:
		w.write()
	case n < 60:
		w.server.Cut(errs[w.rng.IntN(len(errs))])
		w.note("cut")
	case n < 64:
		_ = w.server.Compact(w.server.Version())
		w.note("compact")
	case n < 70:
		verb := []fakes.Verb{fakes.VerbList, fakes.VerbWatch}[w.rng.IntN(2)]
		w.server.Fail(verb, errs[w.rng.IntN(len(errs))])
		w.note("fail %v", verb)
	case n < 73:
		w.server.Drop(1 + w.rng.IntN(2))
		w.lossy = true
		w.note("drop")
	case n < 77:
		if w.paused = !w.paused; w.paused {
			w.server.Pause()
		} else {
			w.server.Resume()
		}
		w.note("paused %v", w.paused)
	case n < 80:
		w.server.CutNext(w.rng.IntN(5), errs[w.rng.IntN(len(errs))])
		w.note("cut next")
	case n < 83:
		w.server.Advance(uint64(w.rng.IntN(10)))
		w.server.Bookmark()
		w.note("advance")
	case n < 86 && len(w.told) < 5:
		w.listen(ctx)
	case n < 87 && len(w.told) > 0:
		w.told[w.rng.IntN(len(w.told))].reg.Remove()
		w.note("remove")
	default:
		d := time.Duration(w.rng.ExpFloat64() * float64([]time.Duration{time.Millisecond, time.Second, time.Minute}[w.rng.IntN(3)]))
		time.Sleep(d)
		w.note("sleep %s", d)
	}
	w.still = w.rng.IntN(2) == 0
	if w.still {
		synctest.Wait()
	}
	w.look()
}

// look checks what must hold at every moment.
func (w *world) look() {
	count := 0
	for _, v := range slices.Collect(w.byValue.Values()) {
		count += w.byValue.Len(v)
	}
	if n := w.pods.Indexer().Len(); n != count && w.still {
		w.fail("%d objects, %d of them indexed", n, count)
	}
	for k, o := range w.pods.Indexer().All() {
		if !slices.Contains(w.history[k], o.ResourceVersion) {
			w.fail("%s was never at version %s", k, o.ResourceVersion)
		}
		if listwatch.Newer(w.read[k], o.ResourceVersion) {
			w.fail("%s went from version %s back to %s", k, w.read[k], o.ResourceVersion)
		}
		w.read[k] = o.ResourceVersion
	}
}

// settle ends all faults, waits for more than a comparing list, and checks what must hold at rest.
func (w *world) settle(ctx context.Context) {
	if w.paused {
		w.server.Resume()
	}
	w.note("settle")
	time.Sleep(3 * time.Hour)
	if err := w.pods.WaitForSync(ctx); err != nil {
		w.fail("%v", err)
	}
	synctest.Wait()
	want := byKey(w.server.Objects())
	if diff := cmp.Diff(want, byKey(w.pods.Indexer().List())); diff != "" {
		w.fail("the store differs from the server (-server +store):\n%s", diff)
	}
	if drift := w.pods.Health().Drift; drift > 0 && !w.lossy {
		w.fail("%d drift, though nothing was hidden", drift)
	}
	for n, l := range w.told {
		if err := l.rec.Err(); err != nil {
			w.fail("handler %d: %v", n+1, err)
		}
		if l.reg.Err() != nil || done(l.reg.Done()) {
			continue
		}
		if !l.reg.Synced().Fired() {
			w.fail("handler %d is not synced", n+1)
		}
		if !maps.EqualFunc(want, l.rec.Held(), func(a, b *object) bool { return cmp.Equal(a, b) }) {
			w.fail("handler %d holds another state than the server", n+1)
		}
		for k, versions := range w.history {
			if !subsequence(seen(l.rec.Changes(), k), versions) {
				w.fail("handler %d saw %s in states %v of %v", n+1, k, seen(l.rec.Changes(), k), versions)
			}
		}
	}
}

func done(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// subsequence reports whether the states seen, repeats left out, occur in all in that order.
func subsequence(seen, all []string) bool {
	seen = slices.Compact(slices.Clone(seen))
	for _, v := range all {
		if len(seen) > 0 && seen[0] == v {
			seen = seen[1:]
		}
	}
	return len(seen) == 0
}

// seen returns the versions in which a handler was told of a key; for a delete that was seen,
// that of the deletion.
func seen(changes []change, k listwatch.Key) (versions []string) {
	for _, c := range changes {
		if c.Key == k && !c.Unknown {
			versions = append(versions, c.Object.ResourceVersion)
		}
	}
	return versions
}
