// Package report turns runs into medians, ratios, verdicts, a table and plots.
package report

import (
	"maps"
	"slices"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// Run is what one run of a case has measured.
type Run struct {
	// Workload, Name and Side are the case's.
	Workload, Name, Side string
	// Metrics are what it measured.
	Metrics work.Metrics
}

// Stat is what the runs of one case say about one metric.
type Stat struct {
	// Median is between the two in the middle when their number is even.
	Median, Min, Max float64
	// Runs is how many there were.
	Runs int
}

// NewStat returns the statistics of some values, which are at least one.
func NewStat(values []float64) Stat {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Stat{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1], Runs: n}
}

// Place is a metric of a case.
type Place struct{ Workload, Name, Side, Metric string }

// Summary holds the statistics of all places.
type Summary struct {
	stats  map[Place]Stat
	places []Place // in the order in which they came
}

// NewSummary returns the summary of runs.
func NewSummary(runs []Run) *Summary {
	values := make(map[Place][]float64)
	s := &Summary{stats: make(map[Place]Stat)}
	for _, r := range runs {
		for _, metric := range slices.Sorted(maps.Keys(r.Metrics)) {
			p := Place{r.Workload, r.Name, r.Side, metric}
			if values[p] == nil {
				s.places = append(s.places, p)
			}
			values[p] = append(values[p], r.Metrics[metric])
		}
	}
	for p, v := range values {
		s.stats[p] = NewStat(v)
	}
	return s
}

// Get returns the statistics of a place.
func (s *Summary) Get(p Place) (Stat, bool) {
	stat, ok := s.stats[p]
	return stat, ok
}
