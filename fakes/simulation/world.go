package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// World is one scenario: servers, what is under test, and what must hold. The function given to
// [Run] fills it. All of it lives in one bubble of virtual time.
//
// Its methods and [Serve] are for that function; Fail and Now may be called from any goroutine of
// the scenario.
type World struct {
	rng     *rand.Rand
	clock   clock.Clock
	options Options

	// lines are the script: what is left of it to be done, or nothing when it is being written.
	lines   []line
	replays bool
	written []string
	chosen  map[string]string

	targets    []target
	operations map[string]Operation
	weights    int
	order      []string
	always     []check
	atRest     []check
	runs       []*running
	cleanups   []func()
	workers    worker.Group
	// changed has an element when a server was written to since the last look.
	changed chan struct{}
	still   bool
	faults  map[string]int
	count   int

	mu sync.Mutex
	// violation is the first that was found; guarded by mu.
	violation *violation
}

// violation is a broken promise.
type violation struct{ promise, text string }

type check struct {
	promise string
	holds   func() error
}

// target is something that faults of some kinds can be ordered from.
type target struct {
	name   string
	faulty fakes.Faulty
	kinds  []fakes.FaultKind
}

// Operation is one thing that can be done in a scenario. In a script it is a line that begins
// with its name.
type Operation struct {
	// Name is one word.
	Name string
	// Weight is how often it is chosen, compared with the others: sleeping has 25, all faults
	// together 15, writes of foreign clients 100 for each source and their deletes 20.
	Weight int
	// Make returns what stands in the line behind the name. It may look at the world, but must
	// not change it. Defaults to nothing.
	Make func(rng *rand.Rand) string
	// Do does it, given the words of the line. It must do nothing when the words speak of what
	// is not there (any more), since lines are left out when a script is made shorter. An error
	// says that the words make no sense.
	Do func(words []string) error
}

// Operate adds an operation.
func (w *World) Operate(o Operation) {
	if o.Make == nil {
		o.Make = func(*rand.Rand) string { return "" }
	}
	if _, taken := w.operations[o.Name]; taken {
		panic(fmt.Sprintf("simulation: two operations %q", o.Name))
	}
	w.operations[o.Name] = o
	w.order = append(w.order, o.Name)
	w.weights += o.Weight
}

// weigh changes the weight of an operation.
func (w *World) weigh(name string, weight int) {
	o := w.operations[name]
	w.weights += weight - o.Weight
	o.Weight = weight
	w.operations[name] = o
}

// Choose returns one of the values, by chance; the choice stands in the script. When a script
// does not say, it is the first. A name is one word, and asked for once; values hold no spaces.
func (w *World) Choose(name string, values ...string) string {
	if w.replays {
		if v, ok := w.chosen[name]; ok {
			return v
		}
		return values[0]
	}
	v := values[w.rng.IntN(len(values))]
	w.written = append(w.written, "with "+name+"="+v)
	return v
}

// Rand returns numbers for chances that are not part of the script, such as jitter. They follow
// from the seed as far as goroutines run in the same order. It is safe for concurrent use.
func (w *World) Rand() func() float64 {
	rng := rand.New(rand.NewPCG(w.rng.Uint64(), 1))
	var mu sync.Mutex
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return rng.Float64()
	}
}

// Target adds something that faults of these kinds are injected into, under a name of one word.
// Those of them that Options.Faults leaves out are not.
func (w *World) Target(name string, f fakes.Faulty, kinds ...fakes.FaultKind) {
	t := target{name: name, faulty: f}
	for _, k := range kinds {
		if slices.Contains(w.options.Faults, k) {
			t.kinds = append(t.kinds, k)
		}
	}
	w.targets = append(w.targets, t)
}

// Always adds a promise that must hold after each operation and after each write to a source
// that was made by [Serve]. It is told as broken by what holds returns, at most one at a time.
// The promise's text is short and the same for each breach: scripts are shortened by it.
func (w *World) Always(promise string, holds func() error) {
	w.always = append(w.always, check{promise, holds})
}

// AtRest adds a promise that must hold after no fault has been in force and nobody has written
// for Options.Rest. Otherwise it is as [World.Always].
func (w *World) AtRest(promise string, holds func() error) {
	w.atRest = append(w.atRest, check{promise, holds})
}

// Fail tells of a broken promise from anywhere: from a handler, a step, an operation. The first
// one ends the scenario.
func (w *World) Fail(promise, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.violation == nil {
		w.violation = &violation{promise, fmt.Sprintf(format, args...)}
	}
}

// Cleanup has f called at the end of the scenario, by the goroutine that does the operations, when
// what was started has ended; what was given last is called first.
func (w *World) Cleanup(f func()) { w.cleanups = append(w.cleanups, f) }

// Still reports whether everything that follows from the operations so far without time passing
// has happened: then no goroutine of the scenario runs while a check does. It is for checks.
func (w *World) Still() bool { return w.still }

func (w *World) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.violation != nil
}

// Now returns the virtual time.
func (w *World) Now() time.Time { return w.clock.Now() }

// look checks what must always hold.
func (w *World) look(checks []check) {
	for _, c := range checks {
		if w.failed() {
			return
		}
		if err := c.holds(); err != nil {
			w.Fail(c.promise, "%v", err)
		}
	}
}

// sleep lets virtual time pass, and looks around whenever something was written.
func (w *World) sleep(ctx context.Context, d time.Duration) {
	end := w.Now().Add(d)
	for !w.failed() {
		due := make(chan struct{})
		left := end.Sub(w.Now())
		if left <= 0 {
			return
		}
		stop := timing.AfterFunc(w.clock, left, func() { close(due) })
		select {
		case <-due:
			return
		case <-w.changed:
			stop()
			w.look(w.always)
		case <-ctx.Done():
			stop()
			return
		}
	}
}

// wrote notes that a server was written to.
func (w *World) wrote() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// line is one operation of a script.
type line struct {
	text  string
	words []string
	// alone: nobody waits until everything that follows from it has happened.
	alone bool
}

func parseLine(text string) line {
	words := strings.Fields(text)
	n := len(words)
	alone := n > 0 && words[n-1] == "&"
	if alone {
		words = words[:n-1]
	}
	return line{text: text, words: words, alone: alone}
}

// parseScript reads a script: choices first, then operations. Empty lines, and what stands
// behind a #, are left out.
func parseScript(script string) (chosen map[string]string, lines []line) {
	chosen = make(map[string]string)
	for text := range strings.Lines(script) {
		text, _, _ = strings.Cut(text, "#")
		l := parseLine(strings.TrimSpace(text))
		switch {
		case len(l.words) == 0:
		case l.words[0] == "with":
			for _, word := range l.words[1:] {
				name, value, _ := strings.Cut(word, "=")
				chosen[name] = value
			}
		default:
			lines = append(lines, l)
		}
	}
	return chosen, lines
}
