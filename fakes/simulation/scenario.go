package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/fakes"
)

// outcome is how a scenario went.
type outcome struct {
	script     string
	violation  *violation
	operations int
	faults     map[string]int
	simulated  time.Duration
}

// scenario runs one: a script, or one that is made by chance from the seed when there is none.
func scenario(t *testing.T, setup func(*World), o Options, seed uint64, script *string) (out outcome) {
	w := &World{options: o, operations: make(map[string]Operation), faults: make(map[string]int)}
	if script == nil {
		w.written = append(w.written, fmt.Sprintf("with seed=%d", seed))
	} else {
		w.replays = true
		w.chosen, w.lines = parseScript(*script)
		seed, _ = strconv.ParseUint(w.chosen["seed"], 10, 64)
	}
	w.rng = rand.New(rand.NewPCG(seed, 11))
	defer func() {
		if p := recover(); p != nil {
			w.Fail(stuck(p), "%v", p)
		}
		out.violation, out.operations, out.faults = w.violation, w.count, w.faults
		out.script = strings.Join(w.written, "\n")
	}()
	synctest.Test(t, func(t *testing.T) {
		w.clock = clock.New()
		w.changed = make(chan struct{}, 1)
		begin := w.Now()
		w.builtin()
		setup(w)
		w.run(t.Context())
		w.stop()
		for _, f := range slices.Backward(w.cleanups) {
			f()
		}
		out.simulated = w.clock.Since(begin)
	})
	return out
}

// stuck names the promise that is broken when a bubble can't go on or can't end.
func stuck(p any) string {
	text := fmt.Sprint(p)
	switch {
	case strings.Contains(text, "main bubble goroutine has exited"):
		return promiseLeak
	case strings.Contains(text, "deadlock"):
		return promiseLive
	}
	panic(p)
}

// run does the script, or makes one.
func (w *World) run(ctx context.Context) {
	if w.replays {
		for _, l := range w.lines {
			if w.failed() {
				return
			}
			w.do(ctx, l)
		}
		return
	}
	g := newGenerator(w)
	for n := 0; n < w.options.Operations && !w.failed(); n++ {
		w.do(ctx, parseLine(g.next(n)))
	}
	if !w.failed() {
		w.do(ctx, parseLine("rest"))
	}
}

// do does one line and looks around.
func (w *World) do(ctx context.Context, l line) {
	w.written = append(w.written, l.text)
	w.count++
	w.still = false
	o, ok := w.operations[l.words[0]]
	err := fmt.Errorf("no such operation")
	if ok {
		err = o.Do(l.words[1:])
	}
	if err != nil {
		w.Fail("script", "%s: %v", l.text, err)
	}
	w.settle(!l.alone)
	w.look(w.always)
}

// settle lets everything happen that follows without time passing, when wait is set.
func (w *World) settle(wait bool) {
	w.still = wait
	if wait {
		synctest.Wait()
	}
}

// builtin adds the operations that every world has.
func (w *World) builtin() {
	ctx := context.Background()
	w.Operate(Operation{Name: "sleep", Weight: 25, Make: someTime, Do: func(words []string) error {
		d, err := time.ParseDuration(strings.Join(words, ""))
		w.sleep(ctx, d)
		return err
	}})
	w.Operate(Operation{Name: "fault", Do: w.inject})
	w.Operate(Operation{Name: "heal", Weight: 2, Do: func([]string) error {
		w.heal()
		return nil
	}})
	w.Operate(Operation{Name: "restart", Do: func([]string) error {
		w.restart()
		return nil
	}})
	w.Operate(Operation{Name: "rest", Do: func([]string) error {
		w.heal()
		w.sleep(ctx, w.options.Rest)
		w.settle(true)
		w.look(w.always)
		w.lookAtRuns(w.Now().Add(-w.options.Rest / 2))
		w.look(w.atRest)
		return nil
	}})
}

func (w *World) heal() {
	for _, t := range w.targets {
		t.faulty.Heal()
	}
}

// inject takes the words "target fault…".
func (w *World) inject(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("want a target and a fault")
	}
	f, err := fakes.ParseFault(strings.Join(words[1:], " "))
	if err != nil {
		return err
	}
	for _, t := range w.targets {
		if t.name == words[0] && t.faulty.Inject(f) == nil {
			w.faults[f.Kind.String()]++
		}
	}
	return nil
}
