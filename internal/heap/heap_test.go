package heap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/internal/heap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type item struct{ value, index int }

func (i *item) Before(other *item) bool { return i.value < other.value }
func (i *item) Moved(index int)         { i.index = index }

// Random pushes, removals, changes and pops must give what a sorted slice gives.
func TestAgainstSortedSlice(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		var h heap.Heap[*item]
		var all []*item
		for range 400 {
			switch op := random.IntN(10); {
			case op < 5 || len(all) == 0:
				i := &item{value: random.IntN(100)}
				h.Push(i)
				all = append(all, i)
			case op < 7:
				n := random.IntN(len(all))
				h.Remove(all[n].index)
				all = slices.Delete(all, n, n+1)
			case op < 8:
				i := all[random.IntN(len(all))]
				i.value = random.IntN(100)
				h.Fix(i.index)
			case op < 9:
				n := random.IntN(len(all))
				i := &item{value: random.IntN(100)}
				h.Set(all[n].index, i)
				all[n] = i
			default:
				top := h.Top()
				for _, i := range all {
					require.LessOrEqual(t, top.value, i.value, "seed %d", seed)
				}
				h.Remove(0)
				all = slices.DeleteFunc(all, func(i *item) bool { return i == top })
			}
			require.Equal(t, len(all), h.Len(), "seed %d", seed)
			for index, i := range h.Items() {
				require.Equal(t, index, i.index, "seed %d", seed)
			}
		}
	}
}

func TestGivesCapacityBack(t *testing.T) {
	var h heap.Heap[*item]
	for value := range 10_000 {
		h.Push(&item{value: value})
	}
	for value := range 10_000 {
		require.Equal(t, value, h.Top().value)
		h.Remove(0)
	}
	require.Zero(t, h.Len())
	require.LessOrEqual(t, cap(h.Items()), 64)
}
