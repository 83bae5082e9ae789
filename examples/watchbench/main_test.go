package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/report"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/server"
)

// The benchmark starts itself as child and as server; here that is the program of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == childMode || os.Args[1] == serverMode) {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// One workload, from the command line to the files.
func TestBench(t *testing.T) {
	dir := t.TempDir()
	o, err := parse([]string{
		"--quick", "--runs", "1", "--workload", "^S3 typed$", "--all", "--json", filepath.Join(dir, "out.json"),
		"--plot", dir, "--profile", filepath.Join(dir, "profiles"), "--check",
	}, &bytes.Buffer{})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, bench(t.Context(), o, &out))
	require.Regexp(t, `(?m)^\| S3 typed \| bytes_per_object \| listwatch \| .* \| client-go \| .* \| 0\.\d+ \| ≤ 0\.95 \| ≤ 0\.8 \| (met|aim) \|$`, out.String())
	require.Contains(t, out.String(), "| S3 typed | client-go | process_peak_mib | ")
	require.Contains(t, out.String(), "| S3 typed: CPU time of listwatch | share | µs per object |")
	o, err = parse([]string{"--workload", "^$", "--with", filepath.Join(dir, "out.json")}, &bytes.Buffer{})
	require.NoError(t, err)
	out.Reset()
	require.NoError(t, bench(t.Context(), o, &out))
	require.Contains(t, out.String(), "| S3 typed | bytes_per_object | listwatch | ")
	for _, file := range []string{"out.json", "ratios.svg", "profiles/S3-typed-listwatch.pprof", "profiles/S3-typed-client-go.pprof"} {
		require.FileExists(t, filepath.Join(dir, file))
	}
}

// What was missed, and what was not measured, is named, and nothing else.
func TestMissed(t *testing.T) {
	at := func(workload string) report.Target {
		return report.Target{Place: report.Place{Workload: workload, Name: "big", Side: "listwatch", Metric: "wall_s"}, Peer: "client-go"}
	}
	good := report.Verdict{Target: at("X"), Value: 0.4, Bound: 0.5}
	require.NoError(t, missed([]report.Verdict{good}))
	err := missed([]report.Verdict{good, {Target: at("Y"), Value: 0.6, Bound: 0.5}, {Target: at("Z"), Bound: 0.5, Missing: true}})
	require.EqualError(t, err, "Y big: wall_s of listwatch against client-go: 0.6, and must be ≤ 0.5\nZ big: wall_s of listwatch against client-go: not measured")
}

// The bar counts runs where somebody looks; elsewhere it writes nothing.
func TestBar(t *testing.T) {
	g := group{{Workload: "F", Name: "program"}, {Workload: "F", Name: "program"}}
	for looked, want := range map[bool]string{true: "(1/6)", false: ""} {
		var out bytes.Buffer
		bar := newBar([]group{g}, options{runs: 5}, &out, looked) // programs are built three times
		bar.Describe("what runs")
		require.NoError(t, bar.Add(1))
		require.NoError(t, bar.Clear())
		require.Contains(t, out.String(), want)
		require.Equal(t, looked, out.Len() > 0)
	}
}

func TestFlags(t *testing.T) {
	for line, want := range map[string]string{
		"--runs -1": "-1 runs", "extra": `unknown argument "extra"`, "--workload (": "missing closing", "--none": "not defined",
	} {
		_, err := parse(strings.Fields(line), &bytes.Buffer{})
		require.ErrorContains(t, err, want, line)
	}
	o, err := parse(nil, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, 5, o.runs)
	o.workload = regexp.MustCompile("nothing")
	require.ErrorContains(t, bench(t.Context(), o, &bytes.Buffer{}), "no workload")
}

// Every target has a case with its peer, and what a quick run enforces is part of it.
func TestTargetsHaveCases(t *testing.T) {
	type place struct{ workload, name, side string }
	all, quick := make(map[place]bool), make(map[place]bool)
	for _, c := range cases(server.Address{}, nil) {
		at := place{c.Workload, c.Name, c.Side}
		require.False(t, all[at], "%v twice", at)
		all[at], quick[at] = true, c.Quick
	}
	for _, g := range report.Targets() {
		both := []place{{g.Workload, g.Name, g.Side}}
		if g.Peer != "" {
			both = append(both, place{g.Workload, cmp.Or(g.PeerName, g.Name), g.Peer})
		}
		for _, at := range both {
			require.True(t, all[at], "%+v", g)
			require.True(t, quick[at] || math.IsNaN(g.Quick), "%+v", g)
		}
	}
}

func TestChildRefusesWhatItDoesNotKnow(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, child(t.Context(), nil, &out), "one argument")
	require.Error(t, child(t.Context(), []string{"{"}, &out))
	spec, err := json.Marshal(job{Workload: "S9"})
	require.NoError(t, err)
	require.ErrorContains(t, child(t.Context(), []string{string(spec)}, &out), "no case")
}
