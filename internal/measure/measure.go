// Package measure helps tests measure what a program keeps. It adds a flag to test binaries alone.
package measure

import (
	"flag"
	"math"
	"regexp"
	"runtime"
	"strings"
)

// Full says that bounds are to be measured at full size.
var Full = flag.Bool("bounds.full", false, "measure kept memory at full size")

// Sized returns how many there are to be of what a test of bounds makes: usual, or whole with [Full].
func Sized(usual, whole int) int {
	if *Full {
		return whole
	}
	return usual
}

// Held returns how many bytes are alive: the least of three looks, since the runtime frees some things
// late. It collects garbage six times.
func Held() int {
	least := math.MaxInt
	for range 3 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, int(m.HeapAlloc))
	}
	return least
}

var bubble = regexp.MustCompile(`synctest bubble \d+\]`)

// Goroutines returns how many goroutines are in the caller's bubble of testing/synctest. Those of
// tests that came before may still be ending; they are in other bubbles. It panics outside of one.
func Goroutines() int {
	stack := make([]byte, 1<<10)
	stack = stack[:runtime.Stack(stack, false)]
	own := bubble.Find(stack)
	if own == nil {
		panic("measure: not in a bubble: " + string(stack))
	}
	all := make([]byte, 4<<20)
	return strings.Count(string(all[:runtime.Stack(all, true)]), string(own))
}
