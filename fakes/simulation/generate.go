package simulation

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seed3bce33ad/listwatch/fakes"
)

// faultWeight is how often faults are chosen, all kinds together.
const faultWeight = 15

// A scenario has few kinds of fault, so that each of them happens often enough for all that it
// can lead to.
const (
	least = 3
	most  = 7
)

// generator makes the lines of a script.
type generator struct {
	w     *World
	kinds []fakes.FaultKind
}

func newGenerator(w *World) *generator {
	g := &generator{w: w}
	for _, t := range w.targets {
		for _, k := range t.kinds {
			if !slices.Contains(g.kinds, k) {
				g.kinds = append(g.kinds, k)
			}
		}
	}
	w.rng.Shuffle(len(g.kinds), func(i, j int) { g.kinds[i], g.kinds[j] = g.kinds[j], g.kinds[i] })
	g.kinds = g.kinds[:min(len(g.kinds), least+w.rng.IntN(most-least+1))]
	return g
}

// next returns the line of operation n. So that each kind of fault happens, one of them is due
// at regular places.
func (g *generator) next(n int) string {
	text := ""
	if every := g.w.options.Operations / (2*len(g.kinds) + 1); every > 0 && len(g.kinds) > 0 && n%every == every-1 {
		text = g.fault(g.kinds[n/every%len(g.kinds)])
	}
	for text == "" {
		text = g.any()
	}
	if g.w.rng.IntN(3) == 0 {
		text += " &"
	}
	return text
}

// any returns some line, or nothing.
func (g *generator) any() string {
	w := g.w
	i := w.rng.IntN(w.weights + faultWeight)
	if i >= w.weights {
		if len(g.kinds) == 0 {
			return ""
		}
		return g.fault(g.kinds[w.rng.IntN(len(g.kinds))])
	}
	for _, name := range w.order {
		o := w.operations[name]
		if i -= o.Weight; i < 0 {
			return strings.TrimSpace(name + " " + o.Make(w.rng))
		}
	}
	return ""
}

// fault returns a fault of a kind for a target that takes it.
func (g *generator) fault(k fakes.FaultKind) string {
	start := g.w.rng.IntN(len(g.w.targets))
	for i := range g.w.targets {
		t := g.w.targets[(start+i)%len(g.w.targets)]
		if slices.Contains(t.kinds, k) {
			return "fault " + t.name + " " + fakes.RandomFault(g.w.rng, k).String()
		}
	}
	return ""
}

// someTime is a time to sleep: mostly short, at times long enough for everything periodic.
func someTime(rng *rand.Rand) string {
	unit := []time.Duration{time.Millisecond, time.Second, time.Second, time.Minute}[rng.IntN(4)]
	d := time.Duration(rng.ExpFloat64() * 4 * float64(unit))
	return d.Round(unit / 100).String()
}
