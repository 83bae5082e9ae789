package table_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type entry struct{ key int }

func (e *entry) TableKey() int { return e.key }

// Random puts and deletes must leave what they leave in a map. One seed in two has hashes of
// four values, so that nearly all collide, round the end of the slots too.
func TestAgainstMap(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		tab := table.New[int, *entry]()
		hash := tab.Hash
		if seed%2 == 0 {
			hash = func(k int) uint32 { return tab.Hash(k)&3*0x55555555 | 1<<31 }
		}
		all := make(map[int]*entry)
		for range 500 {
			k := random.IntN(60)
			switch e := all[k]; {
			case e == nil:
				require.Nil(t, tab.Get(hash(k), k), "seed %d", seed)
				all[k] = &entry{k}
				tab.Put(hash(k), all[k])
			case random.IntN(3) == 0:
				require.Same(t, e, tab.Get(hash(k), k), "seed %d", seed)
			default:
				tab.Delete(hash(k), e)
				delete(all, k)
			}
			require.Equal(t, len(all), tab.Len(), "seed %d", seed)
		}
		for k := range 60 {
			require.Same(t, all[k], tab.Get(hash(k), k), "seed %d", seed)
		}
		seen := make(map[int]*entry)
		for e := range tab.All() {
			seen[e.key] = e
		}
		require.Equal(t, all, seen, "seed %d", seed)
		for range tab.All() {
			break
		}
		tab.Reset()
		require.Zero(t, tab.Len())
		require.Nil(t, tab.Get(hash(1), 1))
	}
}

func TestKeyUnlikeItself(t *testing.T) {
	tab := table.New[any, *anyEntry]()
	for range 100 {
		tab.Put(tab.Hash(1), &anyEntry{1})
		e := &anyEntry{math.NaN()}
		tab.Put(tab.Hash(e.key), e)
		require.Nil(t, tab.Get(tab.Hash(e.key), e.key))
		tab.Delete(tab.Hash(e.key), e)
		tab.Delete(tab.Hash(1), tab.Get(tab.Hash(1), 1))
	}
	require.Zero(t, tab.Len())
}

func TestHashPanicsLikeMap(t *testing.T) {
	tab := table.New[any, *anyEntry]()
	require.Panics(t, func() { tab.Hash([]int{1}) })
	require.Equal(t, tab.Hash("a"), tab.Hash("a"))
}

type anyEntry struct{ key any }

func (e *anyEntry) TableKey() any { return e.key }
