package workqueue

import "time"

// Durations counts durations by their order of magnitude: element n counts those of at most
// 10 ns × 10ⁿ that are in no element before. The last bound is 1,000 s; what took longer is in
// none. The zero value is ready, and is not safe for concurrent use.
type Durations [12]uint64

// shortest is the bound of the first element of a [Durations].
const shortest = 10 * time.Nanosecond

// Bound returns the longest duration that element n counts.
func (d *Durations) Bound(n int) time.Duration {
	bound := shortest
	for range n {
		bound *= 10
	}
	return bound
}

func (d *Durations) count(t time.Duration) {
	bound := shortest
	for n := range d {
		if t <= bound {
			d[n]++
			return
		}
		bound *= 10
	}
}
