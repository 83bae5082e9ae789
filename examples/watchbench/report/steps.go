package report

import (
	"io"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/steps"
)

// WriteSteps writes as a table where the CPU time of a run went. A step of less than a hundredth is not
// shown by itself. Per is what n counts, such as "event"; n may be 0.
func WriteSteps(w io.Writer, r Run, all []steps.Step, per string, n float64) error {
	var sum, rest time.Duration
	for _, s := range all {
		sum += s.CPU
	}
	out := &printer{w: w}
	out.line("\n| %s %s: CPU time of %s | share | µs per %s |\n|---|---|---|", r.Workload, r.Name, r.Side, per)
	row := func(name string, d time.Duration) {
		each := "–"
		if n > 0 {
			each = number(float64(d.Nanoseconds()) / 1000 / n)
		}
		out.line("| %s | %.1f %% | %s |", name, 100*d.Seconds()/max(sum.Seconds(), 1e-9), each)
	}
	for _, s := range all {
		if s.CPU*100 < sum {
			rest += s.CPU
			continue
		}
		row(s.Name, s.CPU)
	}
	if rest > 0 {
		row("others", rest)
	}
	row("all", sum)
	return out.err
}
