//go:build linux

package process_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
	"github.com/seed3bce33ad/listwatch/examples/runtime/runtimetest"
)

var seed = flag.Uint64("seed", 0, "the one seed that random tests take; 0: another each time")

func TestRandom(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		seed := *seed
		if seed == 0 {
			seed = rand.Uint64()
		}
		restart := func(t *testing.T, r runtimetest.Runtime) runtimetest.Runtime {
			require.NoError(t, r.(*process.Runtime).Close())
			return open(t, o)
		}
		runtimetest.Random(t, seed, 60, func(t *testing.T) runtimetest.Runtime { return open(t, o) }, restart)
	})
}

func TestTogether(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		seed := *seed
		if seed == 0 {
			seed = rand.Uint64()
		}
		runtimetest.Together(t, seed, 15, func(t *testing.T) runtimetest.Runtime { return open(t, o) })
	})
}
