package stores

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCases runs each case once in a tiny size, with several passes over the pods.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, c := range cases(size{objects: 800, gets: 1000, looks: 100, lists: 10, updates: 2000, mixed: 20_000}, size{}) {
		t.Run(c.Name+"/"+c.Side, func(t *testing.T) {
			t.Parallel()
			m, err := c.Run(t.Context(), false)
			require.NoError(t, err)
			require.Len(t, m, 3*8)
			for name, value := range m {
				if strings.HasSuffix(name, "_ns") && !strings.HasSuffix(name, "_cpu_ns") {
					require.Positive(t, value, name)
				}
			}
		})
	}
}

// TestUpdatesAreStored checks where the pods stand after a pass that moved all of them, and one
// that took half of them back.
func TestUpdatesAreStored(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"listwatch", "client-go"} {
		p, err := newPool(side, 2*onNode, 1)
		require.NoError(t, err)
		all := p.operations(size{updates: 3 * onNode})
		_, err = p.do(all[len(all)-1])
		require.NoError(t, err)
		want := map[string]int{}
		for at, pod := range p.order {
			state := &p.pods[pod]
			if at >= onNode {
				state = &p.moved[pod]
			}
			want[state.Spec.NodeName]++
		}
		for node, n := range want {
			require.Equal(t, n, p.store.find(node), side)
		}
	}
}

// TestReads runs S4's reads in a tiny size: pods that come from a server are encoded, and found.
func TestReads(t *testing.T) {
	t.Parallel()
	for _, c := range compactCases(reads{objects: 200, recent: 20, hits: 100, misses: 400, looks: 300}, reads{}) {
		m, err := c.Run(t.Context(), false)
		require.NoError(t, err)
		require.Len(t, m, 4*3)
		require.Positive(t, m["hit_ns"])
		if c.Side == "listwatch" {
			require.Greater(t, m["miss_allocs"], 30.0, "each is decoded")
			require.Zero(t, m["hit_allocs"])
		}
	}
}
