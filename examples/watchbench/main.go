// Command watchbench runs the same workloads with this library and with client-go, in turn and
// each in a process of its own, and compares what they cost. README.md says what is measured how.
//
//	go run ./examples/watchbench                    # everything
//	go run ./examples/watchbench --quick --check    # under a minute, fails when a target is missed
//	go run ./examples/watchbench --workload '^W'    # some workloads
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/report"
)

// The first argument of a process that is started by this program.
const (
	childMode  = "child"
	serverMode = "serve"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "watchbench:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case childMode:
			return child(ctx, args[1:], os.Stdout)
		case serverMode:
			return serve(os.Stdin, os.Stdout)
		}
	}
	o, err := parse(args, os.Stderr)
	if err != nil {
		return err
	}
	return bench(ctx, o, os.Stdout)
}

// options are those of the command line.
type options struct {
	quick, check, all bool
	workload          *regexp.Regexp
	json, plot        string
	with              []string
	runs              int
	profile           string
}

func parse(args []string, usage io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("watchbench", flag.ContinueOnError)
	set.SetOutput(usage)
	set.BoolVar(&o.quick, "quick", false, "small sizes, three runs, looser targets; without F and G")
	set.BoolVar(&o.check, "check", false, "fail when a target is missed")
	set.BoolVar(&o.all, "all", false, "also print all that was measured")
	pattern := set.String("workload", "", "run the workloads whose name and form match, such as '^S1 list$'")
	set.StringVar(&o.json, "json", "", "write all runs and ratios to this `file`")
	set.Func("with", "also count the runs in this `file`, which --json wrote on this machine, of workloads that do not run now; may be given several times", func(file string) error {
		o.with = append(o.with, file)
		return nil
	})
	set.StringVar(&o.plot, "plot", "", "write pictures to this `directory`")
	set.IntVar(&o.runs, "runs", 0, "how often each side runs each workload (default 5, quick 3)")
	set.StringVar(&o.profile, "profile", "", "write a CPU profile of the first run of each case to this `directory`, and what is in it")
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if set.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", set.Arg(0))
	}
	if o.runs == 0 {
		o.runs = 5
		if o.quick {
			o.runs = 3
		}
	}
	if o.runs < 0 {
		return o, fmt.Errorf("%d runs", o.runs)
	}
	var err error
	o.workload, err = regexp.Compile(*pattern)
	return o, err
}

// bench runs everything that is asked for, and tells the results.
func bench(ctx context.Context, o options, out io.Writer) error {
	if o.profile != "" {
		if err := os.MkdirAll(o.profile, 0o755); err != nil {
			return err
		}
	}
	var runs []report.Run
	for _, file := range o.with {
		var err error
		if runs, err = report.AddJSON(runs, file); err != nil {
			return err
		}
	}
	now, err := runAll(ctx, o)
	if err == nil {
		runs, err = report.Join(runs, now)
	}
	if err != nil {
		return err
	}
	summary := report.NewSummary(runs)
	verdicts := report.Judge(summary, report.Targets(), o.quick)
	if err := report.WriteTable(out, verdicts); err != nil {
		return err
	}
	if o.all {
		if err := report.WriteAll(out, summary); err != nil {
			return err
		}
	}
	if o.profile != "" {
		if err := writeProfiles(out, o.profile, runs); err != nil {
			return err
		}
	}
	if o.json != "" {
		if err := report.WriteJSON(o.json, runs, verdicts); err != nil {
			return err
		}
	}
	if o.plot != "" {
		if err := report.Plot(o.plot, summary, verdicts); err != nil {
			return err
		}
	}
	if o.check {
		return missed(verdicts)
	}
	return nil
}

// missed returns an error that names the targets that were missed, or nil.
func missed(verdicts []report.Verdict) error {
	var all []error
	for _, v := range verdicts {
		if !v.Met() {
			all = append(all, errors.New(v.String()))
		}
	}
	return errors.Join(all...)
}
