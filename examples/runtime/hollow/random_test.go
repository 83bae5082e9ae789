package hollow_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/seed3bce33ad/listwatch/examples/runtime/runtimetest"
)

var seed = flag.Uint64("seed", 0, "the one seed that random tests take; 0: another each time")

func TestRandom(t *testing.T) {
	open := func(t *testing.T) runtimetest.Runtime { return open(t, pretend()) }
	seeds := []uint64{*seed}
	if *seed == 0 {
		seeds = []uint64{1, 2, 3, 4, 5, rand.Uint64()}
	}
	for _, s := range seeds {
		runtimetest.Random(t, s, 300, open, nil)
		runtimetest.Together(t, s, 300, open)
	}
}
