package report_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/report"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStat(t *testing.T) {
	require.Equal(t, report.Stat{Median: 2, Min: 1, Max: 9, Runs: 3}, report.NewStat([]float64{9, 1, 2}))
	require.Equal(t, report.Stat{Median: 2.5, Min: 1, Max: 9, Runs: 4}, report.NewStat([]float64{9, 3, 1, 2}))
	require.Equal(t, report.Stat{Median: 7, Min: 7, Max: 7, Runs: 1}, report.NewStat([]float64{7}))
}

// runs returns one run of each side, of a metric that is less for ours.
func runs(ours, theirs float64) []report.Run {
	return []report.Run{
		{Workload: "X", Name: "big", Side: "listwatch", Metrics: work.Metrics{"wall_s": ours}},
		{Workload: "X", Name: "big", Side: "client-go", Metrics: work.Metrics{"wall_s": theirs}},
	}
}

func target() report.Target {
	return report.Target{
		Place: report.Place{Workload: "X", Name: "big", Side: "listwatch", Metric: "wall_s"},
		Peer:  "client-go", Must: 0.5, Aim: 0.25, Quick: 0.8,
	}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(*report.Target)
		ours       float64
		quick      bool
		met, aimed bool
		says       string
	}{
		"aim":           {ours: 2, met: true, aimed: true},
		"must":          {ours: 4, met: true},
		"missed":        {ours: 6, says: "X big: wall_s of listwatch against client-go: 0.6, and must be ≤ 0.5"},
		"quick":         {ours: 6, quick: true, met: true},
		"quick missed":  {ours: 9, quick: true, says: "X big: wall_s of listwatch against client-go: 0.9, and must be ≤ 0.8"},
		"more":          {ours: 20, met: true, aimed: true, change: func(t *report.Target) { t.Direction, t.Must, t.Aim = report.AtLeast, 1.5, 2 }},
		"too little":    {ours: 14, change: func(t *report.Target) { t.Direction, t.Must, t.Aim = report.AtLeast, 1.5, 2 }},
		"absolute":      {ours: 0.4, met: true, change: func(t *report.Target) { t.Peer = "" }},
		"absolute over": {ours: 0.6, change: func(t *report.Target) { t.Peer = "" }},
		"no bound":      {ours: 99, met: true, change: func(t *report.Target) { t.Must, t.Aim = math.NaN(), math.NaN() }},
		"no metric":     {ours: 1, change: func(t *report.Target) { t.Metric = "x" }, says: "X big: x of listwatch against client-go: not measured"},
		"no peer":       {ours: 1, change: func(t *report.Target) { t.PeerName = "small" }},
	} {
		t.Run(name, func(t *testing.T) {
			goal := target()
			if c.change != nil {
				c.change(&goal)
			}
			verdicts := report.Judge(report.NewSummary(runs(c.ours, 10)), []report.Target{goal}, c.quick)
			require.Len(t, verdicts, 1)
			require.Equal(t, c.met, verdicts[0].Met())
			require.Equal(t, c.aimed, verdicts[0].Aimed())
			if c.says != "" {
				require.Equal(t, c.says, verdicts[0].String())
			}
		})
	}
}

// What did not run is not missed.
func TestOtherWorkloadsAreNotJudged(t *testing.T) {
	goal := target()
	goal.Workload = "Y"
	require.Empty(t, report.Judge(report.NewSummary(runs(1, 2)), []report.Target{goal}, false))
}

func TestTable(t *testing.T) {
	goal := target()
	verdicts := report.Judge(report.NewSummary(append(runs(2, 10), runs(3, 20_000)...)), []report.Target{goal}, false)
	var out bytes.Buffer
	require.NoError(t, report.WriteTable(&out, verdicts))
	require.Equal(t, `| workload | metric | side | measured | peer | measured | ratio | must | aim | |
|---|---|---|---|---|---|---|---|---|---|
| X big | wall_s | listwatch | 2.5 (2–3) | client-go | 10k (10–20k) | 1/4002 | ≤ 0.5 | ≤ 1/4 | aim |
`, out.String())
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	all := runs(2, 10)
	verdicts := report.Judge(report.NewSummary(all), []report.Target{target()}, false)
	require.NoError(t, report.WriteJSON(filepath.Join(dir, "out.json"), all, verdicts))
	text, err := os.ReadFile(filepath.Join(dir, "out.json"))
	require.NoError(t, err)
	var got struct {
		Runs     []report.Run
		Verdicts []struct {
			Workload string
			Value    float64
			Met      bool
		}
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, all, got.Runs)
	require.Equal(t, 0.2, got.Verdicts[0].Value)
	require.True(t, got.Verdicts[0].Met)
	again, err := report.AddJSON(nil, filepath.Join(dir, "out.json"))
	require.NoError(t, err)
	require.Equal(t, all, again)
	_, err = report.AddJSON(again, filepath.Join(dir, "out.json"))
	require.EqualError(t, err, "X big has runs already")
	elsewhere := filepath.Join(dir, "elsewhere.json")
	require.NoError(t, os.WriteFile(elsewhere, []byte(`{"Machine": {"Cores": 1000}}`), 0o600))
	_, err = report.AddJSON(nil, elsewhere)
	require.ErrorContains(t, err, "measured elsewhere")
	require.NoError(t, report.Plot(filepath.Join(dir, "plots"), report.NewSummary(all), verdicts))
	picture, err := os.ReadFile(filepath.Join(dir, "plots", "ratios.svg"))
	require.NoError(t, err)
	require.Contains(t, string(picture), "against client-go")
}

// Every target has a bound in words that its direction allows: what is wanted is more than what is
// enforced, and a quick run wants less.
func TestTargets(t *testing.T) {
	for _, g := range report.Targets() {
		less := func(a, b float64) bool { return math.IsNaN(a) || math.IsNaN(b) || a <= b }
		if g.Direction == report.AtLeast {
			less = func(a, b float64) bool { return math.IsNaN(a) || math.IsNaN(b) || a >= b }
		}
		require.True(t, less(g.Aim, g.Must) && less(g.Must, g.Quick), "%+v", g)
	}
}
