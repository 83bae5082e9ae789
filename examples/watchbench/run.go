package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/report"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/server"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// group are the cases of one workload in one form: the sides that are compared.
type group []work.Case

func (g group) String() string { return g[0].Workload + " " + g[0].Name }

// groups returns the cases that are asked for, by workload and form.
func groups(cases []work.Case, o options) []group {
	var out []group
	at := make(map[string]int)
	for _, c := range cases {
		name := group{c}.String()
		if o.quick && !c.Quick || !o.workload.MatchString(name) {
			continue
		}
		if _, ok := at[name]; !ok {
			at[name] = len(out)
			out = append(out, nil)
		}
		out[at[name]] = append(out[at[name]], c)
	}
	return out
}

// times is how often the cases of a group are run.
func (g group) times(o options) int {
	if g.String() == "F program" {
		return min(o.runs, 3) // it takes minutes, and its sizes are always the same
	}
	return o.runs
}

// runAll runs all cases in processes of their own, the sides of each group in turn.
func runAll(ctx context.Context, o options) ([]report.Run, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	todo := groups(cases(server.Address{}, nil), o)
	switch {
	case len(todo) == 0 && o.with != nil:
		return nil, nil
	case len(todo) == 0:
		return nil, errors.New("no workload has such a name")
	}
	p := &parent{self: self, options: o, bar: newBar(todo, o, os.Stderr, term.IsTerminal(int(os.Stderr.Fd())))}
	stop, err := p.startServer(ctx)
	if err != nil {
		return nil, err
	}
	var out []report.Run
	for _, g := range todo {
		for n := range g.times(o) {
			for m := range g {
				c := g[(n+m)%len(g)] // another side begins each time
				p.bar.Describe(g.String() + ": " + c.Side)
				metrics, err := p.run(ctx, c, n)
				if err != nil {
					return nil, errors.Join(fmt.Errorf("%s of %s: %w", g, c.Side, err), p.bar.Clear(), stop())
				}
				out = append(out, report.Run{Workload: c.Workload, Name: c.Name, Side: c.Side, Metrics: metrics})
				_ = p.bar.Add(1)
			}
		}
	}
	return out, errors.Join(p.bar.Clear(), stop())
}

// newBar returns a progress bar on w, which writes nothing when nobody looks.
func newBar(todo []group, o options, w io.Writer, looked bool) *progressbar.ProgressBar {
	runs := 0
	for _, g := range todo {
		runs += len(g) * g.times(o)
	}
	return progressbar.NewOptions(runs,
		progressbar.OptionSetWriter(w), progressbar.OptionSetVisibility(looked), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(true), progressbar.OptionFullWidth())
}

// parent starts processes.
type parent struct {
	self    string
	options options
	bar     *progressbar.ProgressBar
	address []byte
}

// startServer returns a function that ends the server.
func (p *parent) startServer(ctx context.Context) (func() error, error) {
	c := exec.CommandContext(ctx, p.self, serverMode)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	stop := func() error { return errors.Join(in.Close(), c.Wait()) }
	var address json.RawMessage
	if err := json.NewDecoder(out).Decode(&address); err != nil {
		return nil, errors.Join(err, stop())
	}
	p.address = address
	return stop, nil
}

// run runs a case, and adds what the process as a whole has cost: "process_cpu_s" and
// "process_peak_mib".
func (p *parent) run(ctx context.Context, c work.Case, n int) (work.Metrics, error) {
	limit := 10 * time.Minute
	if p.options.quick {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	j := job{Workload: c.Workload, Name: c.Name, Side: c.Side, Quick: p.options.quick}
	if p.options.profile != "" && n == 0 {
		j.Profile = profileFile(p.options.profile, c.Workload, c.Name, c.Side)
	}
	if err := json.Unmarshal(p.address, &j.Address); err != nil {
		return nil, err
	}
	spec, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	child := exec.CommandContext(ctx, p.self, childMode, string(spec))
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	child.WaitDelay = 10 * time.Second
	var faults bytes.Buffer
	child.Stderr = &faults
	began := time.Now()
	out, err := child.Output()
	took := time.Since(began)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, faults.Bytes())
	}
	var metrics work.Metrics
	if err := json.Unmarshal(out, &metrics); err != nil {
		return nil, err
	}
	usage := child.ProcessState.SysUsage().(*syscall.Rusage)
	metrics["process_wall_s"] = took.Seconds()
	metrics["process_cpu_s"] = (child.ProcessState.UserTime() + child.ProcessState.SystemTime()).Seconds()
	metrics["process_peak_mib"] = float64(usage.Maxrss) / 1024
	return metrics, nil
}
