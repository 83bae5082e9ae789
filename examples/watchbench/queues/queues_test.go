package queues

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCases runs each case once in a tiny size.
func TestCases(t *testing.T) {
	s := size{keys: 100, rounds: 2, hotKeys: 10, adds: 1000, delayed: 100, due: 100, span: time.Millisecond, ranked: 100}
	for _, c := range cases(s) {
		t.Run(c.Name+"/"+c.Side, func(t *testing.T) {
			m, err := c.Run(t.Context(), false)
			require.NoError(t, err)
			what := "key"
			if c.Name == "hot" {
				what = "add"
			}
			require.Positive(t, m["ns_per_"+what])
			require.Contains(t, m, "cpu_ns_per_"+what)
		})
	}
}
