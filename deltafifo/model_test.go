package deltafifo_test

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var (
	seeds = flag.Int("seeds", 5000, "how many seeds TestModel runs")
	seed  = flag.Uint64("seed", 0, "the one seed that TestModel runs; 0: from 1 to -seeds")
)

// play runs a world to its end and returns what went wrong.
func play(choose func(int) int, steps int) []string {
	w := newWorld(choose)
	for range steps {
		w.step()
	}
	w.finish()
	return w.faults
}

func TestModel(t *testing.T) {
	first, last := uint64(1), uint64(*seeds)
	if *seed != 0 {
		first, last = *seed, *seed
	}
	for n := first; n <= last; n++ {
		random := rand.New(rand.NewPCG(n, 0))
		if faults := play(random.IntN, 60); len(faults) > 0 {
			t.Fatalf("-seed=%d: %d faults, the first: %s", n, len(faults), faults[0])
		}
	}
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte("a seed is as good as any"))
	f.Add([]byte{0, 1, 7, 0, 10, 0, 3, 5, 9, 7, 1, 0, 0, 1, 4, 10, 5, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		choose := func(n int) int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b) % n
		}
		if faults := play(choose, min(len(data), 200)); len(faults) > 0 {
			t.Fatalf("%d faults, the first: %s", len(faults), faults[0])
		}
	})
}
