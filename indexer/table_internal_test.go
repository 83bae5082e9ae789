package indexer

import (
	"cmp"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
)

// Random adds and removes must leave what they leave in a map. One seed in two has hashes of four
// values, so that nearly all collide, round the end of the slots too.
func TestTableEqualsMap(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		x := New[listwatch.Meta](Options{})
		hash := x.table.hash
		if seed%2 == 0 {
			hash = func(k listwatch.Key) uint32 { return x.table.hash(k) & 3 * 0x55555555 }
		}
		all := map[listwatch.Key]uint32{}
		var rows []listwatch.Key
		for range 500 {
			k := listwatch.Key{Namespace: strconv.Itoa(random.IntN(3)), Name: strconv.Itoa(random.IntN(20))}
			pos, ok := all[k]
			found, held := x.find(hash(k), k)
			require.Equal(t, ok, held, "seed %d", seed)
			require.Equal(t, pos, found, "seed %d", seed)
			if !ok {
				all[k] = x.addLocked(hash(k), k)
				rows = append(rows, k)
				continue
			}
			last := uint32(len(rows) - 1)
			x.table.remove(hash(k), pos)
			if pos != last {
				x.table.move(hash(rows[last]), last, pos)
			}
			x.spaces.remove(pos, last)
			x.rows = cut(x.rows, pos)
			all[rows[last]] = pos
			rows = cut(rows, pos)
			delete(all, k)
		}
		require.Equal(t, len(all), x.table.len, "seed %d", seed)
	}
}

func TestTableGivesMemoryBack(t *testing.T) {
	x := New[listwatch.Meta](Options{})
	for i := range 10_000 {
		x.Put(listwatch.Meta{Namespace: "n" + strconv.Itoa(i/2), Name: strconv.Itoa(i)})
	}
	require.Len(t, x.table.slots, 1<<14)
	for i := 10; i < 10_000; i++ {
		x.Delete(listwatch.Key{Namespace: "n" + strconv.Itoa(i/2), Name: strconv.Itoa(i)})
	}
	require.Len(t, x.table.slots, 1<<10)
	require.NoError(t, x.Check())
	// The namespaces have new numbers by now, and the keys are still theirs.
	require.LessOrEqual(t, len(x.spaces.buckets), 1024)
	for i := range 10 {
		_, ok := x.Get(listwatch.Key{Namespace: "n" + strconv.Itoa(i/2), Name: strconv.Itoa(i)})
		require.True(t, ok)
	}
}

// The numbers of versions have their order, and those without one have no number.
func TestNumberOfVersion(t *testing.T) {
	versions := []string{
		"", "0", "00", "1", "01", "9", "10", "18446744073709551614", "18446744073709551615", "18446744073709551616",
		"9999999999999999999", "0000000000000000001", "00000000000000000001", "a", "1a", "-1", "+1", "1.0", " 1", "/", ":",
	}
	for _, a := range versions {
		for _, b := range versions {
			m, n := numberOf(a), numberOf(b)
			c, err := listwatch.CompareVersions(a, b)
			if m != 0 && n != 0 {
				require.NoError(t, err, "%q and %q", a, b)
				require.Equal(t, c, cmp.Compare(m, n), "%q and %q", a, b)
			}
		}
	}
	require.Equal(t, uint64(1), numberOf("0"))
	require.Equal(t, uint64(10_000_000_000_000_000_000), numberOf("9999999999999999999"))
}
