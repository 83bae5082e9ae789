package pipeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCases runs each case once in a tiny size, in which what it finds of memory says nothing.
func TestCases(t *testing.T) {
	for _, c := range cases(size{keys: 100, budget: time.Millisecond, hotKeys: 10, updates: 3000}, size{}) {
		t.Run(c.Workload+"/"+c.Name+"/"+c.Side, func(t *testing.T) {
			m, err := c.Run(t.Context(), false)
			require.NoError(t, err)
			if c.Workload == "P" {
				require.Positive(t, m["events_per_s"])
				require.Positive(t, m["cpu_ns_per_event"])
			} else {
				require.GreaterOrEqual(t, m["drain_calls"], 10.0)
				require.Contains(t, m, "pairs_per_key")
			}
		})
	}
}
