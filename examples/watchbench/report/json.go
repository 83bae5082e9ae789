package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
)

// document is what WriteJSON writes.
type document struct {
	Machine  machine
	Runs     []Run
	Verdicts []plain
}

// machine is what it was measured on.
type machine struct {
	OS, Arch, Go, Processor string
	Cores                   int
	// Peers are the versions of the modules that are compared with.
	Peers map[string]string
}

// plain is a verdict with null for what there is not.
type plain struct {
	Place
	Peer, PeerName, Direction string
	Own, Other                Stat
	Value, Bound, Aim         *float64
	Met                       bool
}

// WriteJSON writes all runs, and what became of them, to a file.
func WriteJSON(file string, runs []Run, verdicts []Verdict) error {
	d := document{Machine: thisMachine(), Runs: runs}
	for _, v := range verdicts {
		d.Verdicts = append(d.Verdicts, plain{
			v.Place, v.Peer, v.PeerName, v.Direction.String(), v.Own, v.Other, optional(v.Value), optional(v.Bound), optional(v.Aim), v.Met(),
		})
	}
	text, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// AddJSON adds the runs in a file that [WriteJSON] wrote. They must be of this machine, with the same Go and peers, and
// of workloads that have no runs yet.
func AddJSON(runs []Run, file string) ([]Run, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if here := thisMachine(); !reflect.DeepEqual(d.Machine, here) {
		return nil, fmt.Errorf("%s was measured elsewhere: on %+v, and this is %+v", file, d.Machine, here)
	}
	return Join(runs, d.Runs)
}

// Join returns the runs of both, which must be of different workloads or forms.
func Join(a, b []Run) ([]Run, error) {
	type form struct{ workload, name string }
	known := make(map[form]bool)
	for _, r := range a {
		known[form{r.Workload, r.Name}] = true
	}
	for _, r := range b {
		if known[form{r.Workload, r.Name}] {
			return nil, fmt.Errorf("%s %s has runs already", r.Workload, r.Name)
		}
	}
	return append(a, b...), nil
}

func optional(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func thisMachine() machine {
	m := machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(), Cores: runtime.NumCPU(), Processor: processor(),
		Peers: make(map[string]string),
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, d := range b.Deps {
			if strings.HasPrefix(d.Path, "k8s.io/client-go") || strings.HasPrefix(d.Path, "sigs.k8s.io/controller-runtime") {
				m.Peers[d.Path] = d.Version
			}
		}
	}
	return m
}

// processor returns its name as Linux tells it, or "".
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
