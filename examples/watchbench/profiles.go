package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/report"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/steps"
)

// profileFile returns where the profile of a case goes.
func profileFile(dir, workload, name, side string) string {
	file := strings.NewReplacer(" ", "-", "/", "-").Replace(workload + " " + name + " " + side)
	return filepath.Join(dir, file+".pprof")
}

// writeProfiles writes what is in the profile of the first run of each case: for each event or object
// where that was counted.
func writeProfiles(out io.Writer, dir string, runs []report.Run) error {
	seen := make(map[string]bool)
	for _, r := range runs {
		file := profileFile(dir, r.Workload, r.Name, r.Side)
		if seen[file] {
			continue
		}
		seen[file] = true
		all, err := readSteps(file)
		if err != nil {
			return err
		}
		per, n := "event", r.Metrics["events"]
		if n == 0 {
			per, n = "object", r.Metrics["objects"]
		}
		if err := report.WriteSteps(out, r, all, per, n); err != nil {
			return err
		}
	}
	return nil
}

func readSteps(file string) ([]steps.Step, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return steps.Read(f)
}
