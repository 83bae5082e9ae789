package main

import (
	"bytes"
	"encoding/json"
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
		"--plot", dir, "--profile", dir, "--check",
	}, &bytes.Buffer{})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, bench(t.Context(), o, &out))
	require.Regexp(t, `(?m)^\| S3 typed \| bytes_per_object \| listwatch \| .* \| client-go \| .* \| 0\.\d+ \| ≤ 0\.95 \| ≤ 0\.8 \| (met|aim) \|$`, out.String())
	require.Contains(t, out.String(), "| S3 typed | client-go | process_peak_mib | ")
	for _, file := range []string{"out.json", "ratios.svg", "S3-typed-listwatch.pprof", "S3-typed-client-go.pprof"} {
		require.FileExists(t, filepath.Join(dir, file))
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

// A quick run has every workload but F and G, and every target has a case with its peer.
func TestTargetsHaveCases(t *testing.T) {
	type place struct{ workload, name, side string }
	all := make(map[place]bool)
	for _, c := range cases(server.Address{}) {
		at := place{c.Workload, c.Name, c.Side}
		require.False(t, all[at], "%v twice", at)
		all[at] = true
		require.Equal(t, c.Workload != "F" && c.Workload != "G", c.Quick, "%v", at)
	}
	for _, g := range report.Targets() {
		require.True(t, all[place{g.Workload, g.Name, g.Side}], "%+v", g)
		if g.Peer != "" {
			name := g.Name
			if g.PeerName != "" {
				name = g.PeerName
			}
			require.True(t, all[place{g.Workload, name, g.Peer}], "%+v", g)
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
