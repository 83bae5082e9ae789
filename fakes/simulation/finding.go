package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Finding is a promise that was broken.
type Finding struct {
	// Promise is its text, as it was given to [World.Always], [World.AtRest] or [World.Fail].
	Promise string
	// Text is how it was broken.
	Text string
	// Seed is that of the scenario, for Options.Seed.
	Seed uint64
	// Script is a script, as short as it could be made in the time, that breaks the promise.
	Script string
}

// String returns all of it, the script as a test that can be pasted.
func (f *Finding) String() string {
	return fmt.Sprintf("broken: %s: %s\nseed %d; shortened to a test, where setup is what Run was given:\n\nfunc TestFound%d(t *testing.T) {\n\tsimulation.Replay(t, setup, `\n%s\n`)\n}\n",
		f.Promise, f.Text, f.Seed, f.Seed, f.Script)
}

// String returns the report as one line.
func (r Report) String() string {
	var faults []string
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		faults = append(faults, fmt.Sprintf("%s %d", kind, r.Faults[kind]))
	}
	return fmt.Sprintf("simulation: seed %d, %d scenarios, %d operations, faults: %s; %.1f simulated hours, %d violations",
		r.Seed, r.Scenarios, r.Operations, strings.Join(faults, ", "), r.Simulated.Hours(), r.Violations)
}
