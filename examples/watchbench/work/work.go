// Package work says what a workload of the benchmark is.
package work

import "context"

// Metrics are what one run measured, by name with unit, such as "wall_s" or "events_per_s".
type Metrics map[string]float64

// Case is one workload in one size, for one side.
type Case struct {
	// Workload is its short name, such as "S1", and Name which form of it this is.
	Workload, Name string
	// Side is who does it: "listwatch", "client-go", "client-go-protobuf",
	// "controller-runtime", or a variant such as "listwatch-corev1".
	Side string
	// Quick says that it is part of a quick run.
	Quick bool
	// Profiles says that Run takes a CPU profile by itself, when one is asked for: of what is measured
	// alone.
	Profiles bool
	// Run does it once, in a process of its own, and blocks until it is done. With quick it is
	// a smaller one.
	Run func(ctx context.Context, quick bool) (Metrics, error)
}
