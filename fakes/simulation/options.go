package simulation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/seed3bce33ad/listwatch/fakes"
)

// Options say how much is tried. The zero value works.
type Options struct {
	// Seed is where chance begins: scenario n of a run has seed Seed+n. Defaults to another one
	// each time, which is told with what was found.
	Seed uint64
	// Scenarios is how many are run. Defaults to 100, and to no bound when For is set.
	Scenarios int
	// For bounds the run in real time; scenarios that have begun are ended. Defaults to no bound.
	For time.Duration
	// Operations is how many a scenario has at least. Defaults to 200.
	Operations int
	// Faults are the kinds that are injected; each scenario has at least three of them, when
	// there are so many. Defaults to all that the targets take; but a promise about a controller's
	// own writes that must hold always, such as "never more than three", can be kept only under
	// [fakes.HonestFaults].
	Faults []fakes.FaultKind
	// Rest is how much virtual time passes without a fault or a foreign write before what must
	// hold at rest is looked at. Defaults to 2 h, which is longer than the period of relists.
	Rest time.Duration
	// Parallel is how many scenarios run at once. Defaults to GOMAXPROCS.
	Parallel int
	// Shrink bounds in real time how long a script is made shorter. Negative: it is left as it
	// is. Defaults to 20 s.
	Shrink time.Duration
}

func (o Options) withDefaults() Options {
	if o.Seed == 0 {
		o.Seed = 1 + rand.Uint64N(1e9)
	}
	if o.Scenarios == 0 && o.For == 0 {
		o.Scenarios = 100
	}
	if o.Operations == 0 {
		o.Operations = 200
	}
	if len(o.Faults) == 0 {
		o.Faults = fakes.FaultKinds()
	}
	if o.Rest == 0 {
		o.Rest = 2 * time.Hour
	}
	if o.Parallel == 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.Shrink == 0 {
		o.Shrink = 20 * time.Second
	}
	return o
}

func (o Options) validate() error {
	var faults []error
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"Scenarios", int64(o.Scenarios)}, {"For", int64(o.For)}, {"Operations", int64(o.Operations)},
		{"Rest", int64(o.Rest)}, {"Parallel", int64(o.Parallel)},
	} {
		if n.value < 0 {
			faults = append(faults, fmt.Errorf("%s is %d, less than 0", n.name, n.value))
		}
	}
	return errors.Join(faults...)
}
