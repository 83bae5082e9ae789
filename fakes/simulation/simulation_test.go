package simulation_test

import (
	"flag"
	"testing"

	"github.com/seed3bce33ad/listwatch/fakes/simulation"
)

var (
	simFor   = flag.Duration("sim.for", 0, "for how long the simulation of the library runs; 0: for -sim.count scenarios")
	simCount = flag.Int("sim.count", 0, "how many scenarios it runs at most; 0: 40, or as many as -sim.for allows")
	simFirst = flag.Bool("sim.first", false, "the simulation ends at the first broken guarantee, and tells it as it is")
	simSeed  = flag.Uint64("sim.seed", 0, "the seed of the first scenario; 0: another one each time, or 1 when neither of the two above is given")
)

// TestSimulation lets random writes, faults, handlers, readers and steps loose on the library,
// and checks all its guarantees.
func TestSimulation(t *testing.T) {
	t.Parallel()
	o := simulation.Options{Seed: *simSeed, For: *simFor, Scenarios: *simCount}
	if o.For == 0 && o.Scenarios == 0 {
		o.Scenarios = 40
		o.Seed = max(o.Seed, 1) // the same ones each time
	}
	if *simFirst {
		o.Shrink = -1
		if f := simulation.Find(t, newLibrary, o); f != nil {
			t.Fatalf("broken: %s: %s (seed %d)", f.Promise, f.Text, f.Seed)
		}
		return
	}
	simulation.Run(t, newLibrary, o)
}

// The same over compact stores, in short.
func TestSimulationOverCompactStores(t *testing.T) {
	t.Parallel()
	simulation.Run(t, newCompactLibrary, simulation.Options{Seed: max(*simSeed, 1), Scenarios: max(*simCount, 10)})
}
