package simulation

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// Run runs scenarios, each in a bubble of virtual time that setup fills, several at once. When
// a promise is broken it shortens the script that broke it, fails the test and prints what
// [Finding.String] returns; each promise is told once. It returns the figures of the run, and
// logs them. Invalid options panic.
func Run(t *testing.T, setup func(*World), o Options) Report {
	t.Helper()
	r := newRunner(t, setup, o)
	r.run()
	for _, f := range r.findings {
		t.Errorf("%s", f)
	}
	t.Log(r.report)
	return r.report
}

// Find is Run, but it stops at the first broken promise, and returns it without failing the
// test; nil when none was broken.
func Find(t *testing.T, setup func(*World), o Options) *Finding {
	t.Helper()
	r := newRunner(t, setup, o)
	r.first = true
	r.run()
	if len(r.findings) == 0 {
		return nil
	}
	return r.findings[0]
}

// Replay runs one script, such as a [Finding] has, and fails the test when a promise is broken
// by it. In what order goroutines run is not part of a script, so one that does not fail may
// still do so another time.
func Replay(t *testing.T, setup func(*World), script string) {
	t.Helper()
	if v := scenario(t, setup, Options{}.withDefaults(), 0, &script).violation; v != nil {
		t.Errorf("broken: %s: %s", v.promise, v.text)
	}
}

// runner runs scenarios.
type runner struct {
	t     *testing.T
	setup func(*World)
	o     Options
	// first: the first finding ends the run.
	first bool

	mu sync.Mutex
	// All below is guarded by mu.
	next     uint64
	report   Report
	findings []*Finding
}

func newRunner(t *testing.T, setup func(*World), o Options) *runner {
	if err := o.validate(); err != nil {
		panic(fmt.Sprintf("simulation: %v", err))
	}
	o = o.withDefaults()
	return &runner{t: t, setup: setup, o: o, report: Report{Seed: o.Seed, Faults: make(map[string]int)}}
}

func (r *runner) run() {
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	if r.o.For > 0 {
		ctx, cancel = context.WithTimeout(ctx, r.o.For)
		defer cancel()
	}
	var workers worker.Group
	for range r.o.Parallel {
		workers.Go(func() {
			for r.one(ctx) {
			}
		})
	}
	workers.Wait()
}

// one runs the next scenario, and reports whether there may be more.
func (r *runner) one(ctx context.Context) bool {
	r.mu.Lock()
	if ctx.Err() != nil || r.o.Scenarios > 0 && r.next >= uint64(r.o.Scenarios) || r.first && len(r.findings) > 0 {
		r.mu.Unlock()
		return false
	}
	seed := r.o.Seed + r.next
	r.next++
	r.mu.Unlock()
	stop := timing.AfterFunc(timing.Or(nil), slow, func() { r.t.Logf("simulation: the scenario of seed %d takes more than %s", seed, slow) })
	out := scenario(r.t, r.setup, r.o, seed, nil)
	stop()
	if r.count(out) {
		f := &Finding{Promise: out.violation.promise, Text: out.violation.text, Seed: seed, Script: out.script}
		r.shrink(f)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.findings = append(r.findings, f)
	}
	return true
}

// count adds up, and reports whether the scenario broke a promise that has not been told of.
func (r *runner) count(out outcome) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Scenarios++
	r.report.Operations += out.operations
	r.report.Simulated += out.simulated
	for kind, n := range out.faults {
		r.report.Faults[kind] += n
	}
	if out.violation == nil {
		return false
	}
	r.report.Violations++
	for _, p := range r.report.Promises {
		if p == out.violation.promise {
			return false
		}
	}
	r.report.Promises = append(r.report.Promises, out.violation.promise)
	return true
}

// shrink makes a finding's script shorter as long as the same promise breaks.
func (r *runner) shrink(f *Finding) {
	if r.o.Shrink < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), r.o.Shrink)
	defer cancel()
	breaks := func(script string) bool {
		for range tries {
			v := scenario(r.t, r.setup, r.o, 0, &script).violation
			if v != nil && v.promise == f.Promise {
				f.Text = v.text
				return true
			}
			if ctx.Err() != nil {
				return false
			}
		}
		return false
	}
	f.Script = shorten(ctx, f.Script, breaks)
}

// slow is how long a scenario may take before its seed is told, in case it never ends.
const slow = time.Minute

// tries is how often a script is run to see whether it breaks a promise: goroutines don't run in
// the same order every time.
const tries = 3

// Report is the figures of a run.
type Report struct {
	// Seed is that of the first scenario.
	Seed uint64
	// Scenarios and Operations are how many were run.
	Scenarios, Operations int
	// Faults counts the faults that were injected, by kind.
	Faults map[string]int
	// Simulated is the virtual time of all scenarios together.
	Simulated time.Duration
	// Violations counts the scenarios in which a promise was broken, Promises names the promises.
	Violations int
	Promises   []string
}
