package overhttp_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/overhttp"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each case, small, does what it counts.
func TestCases(t *testing.T) {
	s, err := server.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	tiny := overhttp.Sizes{Sync: 30, Retained: 20, Compact: 40, Watched: 15, Relisted: 25, Events: 40, Paced: 10, Warm: 5}
	for _, c := range (overhttp.Bench{Address: s.Address, Quick: tiny}).Cases() {
		t.Run(c.Workload+" "+c.Name+" "+c.Side, func(t *testing.T) {
			t.Parallel()
			m, err := c.Run(t.Context(), true)
			require.NoError(t, err)
			for _, metric := range map[string][]string{
				"S1": {"wall_s", "cpu_s", "peak_mib"}, "S2": {"wall_s"}, "S3": {"bytes_per_object"}, "S4": {"bytes_per_object"},
				"W": {"events_per_s", "cpu_s_per_million"}, "L": {"p50_ms", "p99.9_ms"}, "R": {"wall_s", "peak_over_before"},
			}[c.Workload] {
				require.Contains(t, m, metric)
			}
			if c.Workload == "R" && c.Side == "listwatch" {
				require.Zero(t, m["handler_calls"])
			}
		})
	}
}
