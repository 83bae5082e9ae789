package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/report"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/steps"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// Pictures of growth are made of the rows that were measured. What memory could not be told of, because
// less was in use afterwards, is left out.
func TestCurves(t *testing.T) {
	var all []report.Run
	for _, n := range []int{1_000, 10, 1} {
		for _, side := range []string{"listwatch", "client-go"} {
			all = append(all, report.Run{Workload: "G", Name: "informers-" + strconv.Itoa(n), Side: side, Metrics: work.Metrics{
				"sync_us_per_informer": 3, "update_us_per_informer": float64(n), "B_per_informer": float64(n - 1),
			}})
		}
	}
	dir := t.TempDir()
	require.NoError(t, report.Plot(dir, report.NewSummary(all), nil))
	require.NoFileExists(t, filepath.Join(dir, "parallel.svg"))
	picture, err := os.ReadFile(filepath.Join(dir, "growth.svg"))
	require.NoError(t, err)
	for _, word := range []string{"Memory of an informer, bytes", "listwatch", "client-go", ">10<", ">1000<"} {
		require.Contains(t, string(picture), word)
	}
	require.NotContains(t, string(picture), "Memory of a handler")
}

func TestWriteSteps(t *testing.T) {
	all := []steps.Step{{Name: "internal/json", CPU: 980 * time.Millisecond}, {Name: "indexer", CPU: 15 * time.Millisecond}, {Name: "main", CPU: 5 * time.Millisecond}}
	r := report.Run{Workload: "W", Name: "HTTP/1.1", Side: "listwatch"}
	var out bytes.Buffer
	require.NoError(t, report.WriteSteps(&out, r, all, "event", 50_000))
	require.Equal(t, `
| W HTTP/1.1: CPU time of listwatch | share | µs per event |
|---|---|---|
| internal/json | 98.0 % | 19.6 |
| indexer | 1.5 % | 0.3 |
| others | 0.5 % | 0.1 |
| all | 100.0 % | 20 |
`, out.String())
	out.Reset()
	require.NoError(t, report.WriteSteps(&out, r, nil, "event", 0))
	require.Contains(t, out.String(), "| all | 0.0 % | – |")
}
