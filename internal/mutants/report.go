package mutants

import (
	"fmt"
	"slices"
	"strings"
)

// least is the part of the mutants that must be killed.
const least = 0.95

// Report is what came of a run.
type Report struct {
	// Results are those of the run.
	Results []Result
}

// Killed returns how many were killed.
func (r Report) Killed() (n int) {
	for _, result := range r.Results {
		if result.Verdict == Killed {
			n++
		}
	}
	return n
}

// Faults returns what makes the run a failure: a mutant that is invalid, a survivor that nobody
// explains, an explanation of one that was killed, and too many survivors. Empty: none.
func (r Report) Faults() []string {
	var faults []string
	for _, result := range r.Results {
		name, explained := result.Mutant.Name, result.Mutant.Survives != ""
		switch {
		case result.Verdict == Invalid:
			faults = append(faults, fmt.Sprintf("%s is invalid: %s", name, result.Detail))
		case result.Verdict == Survived && !explained:
			faults = append(faults, fmt.Sprintf("%s survives: %s", name, result.Detail))
		case result.Verdict == Killed && explained:
			faults = append(faults, fmt.Sprintf("%s is said to survive, but is noticed: %s", name, result.Detail))
		}
	}
	if float64(r.Killed()) < least*float64(len(r.Results)) {
		faults = append(faults, "too many survive: "+r.String())
	}
	return faults
}

// String returns the count in one line.
func (r Report) String() string {
	total := len(r.Results)
	return fmt.Sprintf("%d of %d mutants killed (%.1f %%), %d survive",
		r.Killed(), total, 100*float64(r.Killed())/float64(max(total, 1)), total-r.Killed())
}

// Markdown returns the report as a document.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Mutation report\n\n%s.\n", r)
	if faults := r.Faults(); len(faults) > 0 {
		fmt.Fprintf(&b, "\n## Faults\n\n- %s\n", strings.Join(faults, "\n- "))
	}
	b.WriteString("\n## Survivors\n\n")
	for _, result := range r.Results {
		if m := result.Mutant; result.Verdict == Survived {
			fmt.Fprintf(&b, "- `%s` (%s): %s\n", m.Name, m.Why, m.Survives)
		}
	}
	b.WriteString("\n## All\n\n| mutant | what breaks | stands for | verdict | by |\n|---|---|---|---|---|\n")
	for _, result := range r.Results {
		m := result.Mutant
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", m.Name, m.Why, m.standsFor(), result.Verdict, result.Detail)
	}
	return b.String()
}

// standsFor names the scenarios and guarantees.
func (m Mutant) standsFor() string {
	var words []string
	for _, n := range slices.Sorted(slices.Values(m.Scenarios)) {
		words = append(words, fmt.Sprint(n))
	}
	for _, g := range m.Guarantees {
		words = append(words, fmt.Sprintf("%s guarantee %d", g.Folder, g.Number))
	}
	return strings.Join(words, ", ")
}
