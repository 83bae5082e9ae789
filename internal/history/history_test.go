package history_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed3bce33ad/listwatch/internal/history"
	"github.com/stretchr/testify/require"
)

type (
	collection = history.History[string, string]
	change     = history.Change[string, string]
)

func sorted(states []*string) []string {
	texts := []string{}
	for _, s := range states {
		texts = append(texts, *s)
	}
	slices.Sort(texts)
	return texts
}

// write gives key the value; "" deletes it.
func write(h *collection, key, value string) {
	c := change{Version: h.Version() + 1, Key: key, Was: h.Get(key)}
	if value != "" {
		c.Now = &value
	}
	h.Add(c)
}

func TestLimit(t *testing.T) {
	h := history.New[string, string](7, 2)
	require.Equal(t, uint64(7), h.Version())
	require.Equal(t, uint64(7), h.Floor())
	write(h, "a", "1")
	write(h, "a", "2")
	require.Equal(t, uint64(7), h.Floor())
	require.Empty(t, h.At(7))
	h.Advance(10)
	write(h, "a", "")
	require.Equal(t, uint64(8), h.Floor())
	require.Equal(t, uint64(20), h.Version())
	require.Nil(t, h.Get("a"))
	require.Equal(t, []string{"1"}, sorted(h.At(8)))
	for _, version := range []uint64{9, 15, 19} {
		require.Equal(t, []string{"2"}, sorted(h.At(version)))
	}
	require.Empty(t, h.At(20))
}

func TestCompact(t *testing.T) {
	h := history.New[string, string](1, 10)
	h.Compact(1)
	require.Equal(t, uint64(1), h.Floor())
	write(h, "a", "1")
	write(h, "b", "1")
	h.Advance(5)
	h.Compact(2)
	require.Equal(t, uint64(2), h.Floor())
	h.Compact(1)
	require.Equal(t, uint64(2), h.Floor(), "the floor does not sink")
	require.Len(t, h.After(2, 10, nil), 1)
	h.Compact(6)
	require.Equal(t, uint64(6), h.Floor(), "it may stand between two changes")
	require.Empty(t, h.After(6, 10, nil))
	require.Equal(t, []string{"1", "1"}, sorted(h.At(6)))
}

func TestAfter(t *testing.T) {
	h := history.New[string, string](1, 10)
	for i := range 5 {
		write(h, "a", fmt.Sprint(i))
	}
	versions := func(changes []change) (got []uint64) {
		for _, c := range changes {
			got = append(got, c.Version)
		}
		return got
	}
	require.Equal(t, []uint64{2, 3, 4, 5, 6}, versions(h.After(1, 10, nil)))
	require.Equal(t, []uint64{4, 5}, versions(h.After(3, 2, nil)))
	require.Empty(t, h.After(6, 2, nil))
	require.Empty(t, h.After(99, 2, nil))
	buffer := h.After(1, 1, nil)
	require.Equal(t, []uint64{2, 6}, versions(h.After(5, 9, buffer)))
}

// TestAgainstModel undoes random writes down to each version, and rewinds to some of them.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, seed))
		h := history.New[string, string](1, 40)
		now := map[string]string{}
		states := map[uint64]map[string]string{1: {}}
		for range 200 {
			before := h.Version()
			switch key := fmt.Sprint(r.IntN(6)); r.IntN(20) {
			case 0:
				h.Advance(uint64(r.IntN(3)))
			case 1:
				before = h.Floor() + uint64(r.IntN(int(h.Version()-h.Floor()+1)))
				h.Rewind(before)
				now = maps.Clone(states[before])
			case 2, 3, 4, 5, 6:
				if now[key] != "" {
					write(h, key, "")
					delete(now, key)
				}
			default:
				now[key] = fmt.Sprintf("%s at %d", key, h.Version())
				write(h, key, now[key])
			}
			for v := before + 1; v < h.Version(); v++ {
				states[v] = states[before]
			}
			states[h.Version()] = maps.Clone(now)
		}
		for v := h.Floor(); v <= h.Version(); v++ {
			want := slices.AppendSeq([]string{}, maps.Values(states[v]))
			slices.Sort(want)
			require.Equal(t, want, sorted(h.At(v)), "seed %d, version %d", seed, v)
		}
		require.LessOrEqual(t, len(h.After(h.Floor(), 1000, nil)), 40)
	}
}
