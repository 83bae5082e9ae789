package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// sample is one round of one figure on one server.
type sample struct {
	Figure float64 // in the row's unit
	Peak   float64 // the largest size of the process meanwhile, in MB
	CPU    float64 // that the process used, in seconds
}

// row is a figure of both servers.
type row struct {
	Name, Unit string
	Slow       bool
	Samples    map[string][]sample
}

// report is all figures. It is for one goroutine.
type report struct{ Rows []*row }

// load reads what was kept in a file that may be missing.
func load(file string) (*report, error) {
	r := &report{}
	if file == "" {
		return r, nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	return r, json.Unmarshal(data, r)
}

func (r *report) save(file string) error {
	if file == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// add notes a sample; the first round takes the place of what was there.
func (r *report) add(round int, p part, server string, s sample) {
	i := slices.IndexFunc(r.Rows, func(x *row) bool { return x.Name == p.name })
	if i < 0 {
		r.Rows = append(r.Rows, &row{Name: p.name, Unit: p.unit, Slow: p.slow, Samples: map[string][]sample{}})
		i = len(r.Rows) - 1
	}
	x := r.Rows[i]
	if round == 0 {
		x.Samples[server] = nil
	}
	x.Samples[server] = append(x.Samples[server], s)
}

// markdown returns the table for the README: medians of the reference server, of the real one, and how they compare.
func (r *report) markdown() string {
	var out strings.Builder
	out.WriteString("| | | apiserver | kube-apiserver | speed | peak memory, MB | | CPU of the server, s | |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, x := range r.Rows {
		var ours, theirs sample
		for name, samples := range x.Samples {
			m := middle(samples)
			if name == "apiserver" {
				ours = m
			} else {
				theirs = m
			}
		}
		speed := ours.Figure / theirs.Figure
		if x.Slow {
			speed = 1 / speed
		}
		fmt.Fprintf(&out, "| %s | %s | %.0f | %.0f | %.2f× | %.0f | %.0f | %.2f | %.2f |\n", x.Name, x.Unit, ours.Figure, theirs.Figure, speed,
			ours.Peak, theirs.Peak, ours.CPU, theirs.CPU)
	}
	return out.String()
}

// middle returns the medians of samples.
func middle(samples []sample) sample {
	of := func(f func(sample) float64) float64 {
		var values []float64
		for _, s := range samples {
			values = append(values, f(s))
		}
		return median(values)
	}
	return sample{
		Figure: of(func(s sample) float64 { return s.Figure }), Peak: of(func(s sample) float64 { return s.Peak }),
		CPU: of(func(s sample) float64 { return s.CPU }),
	}
}
