package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// Options change how a [Runner] works. The zero value is ready to use.
type Options struct {
	// Root is the top of the repository. Defaults to the working directory.
	Root string
	// Workers is how many mutants are tried at a time. Defaults to 2.
	Workers int
	// Build is how long building one command may take. Defaults to 10 minutes.
	Build time.Duration
}

func (o Options) withDefaults() Options {
	if root, err := filepath.Abs(o.Root); err == nil {
		o.Root = root
	}
	if o.Workers == 0 {
		o.Workers = 2
	}
	if o.Build == 0 {
		o.Build = 10 * time.Minute
	}
	return o
}

func (o Options) validate() error {
	if o.Workers < 0 || o.Build < 0 {
		return errors.New("mutants: negative Workers or Build")
	}
	return nil
}

// Runner tries mutants. It is safe for concurrent use; make it with [New].
type Runner struct{ o Options }

// New returns a runner. It panics when an option makes no sense.
func New(o Options) *Runner {
	if err := o.validate(); err != nil {
		panic(err)
	}
	return &Runner{o: o.withDefaults()}
}

// Verdict says how a mutant fared.
type Verdict string

// The verdicts.
const (
	// Killed: each of its commands noticed.
	Killed Verdict = "killed"
	// Survived: one of its commands did not.
	Survived Verdict = "survived"
	// Invalid: it does not fit the source, or does not compile.
	Invalid Verdict = "invalid"
)

// Result is what came of a mutant.
type Result struct {
	// Mutant is what was tried.
	Mutant Mutant
	// Verdict says how it fared.
	Verdict Verdict
	// Detail says which command decided and how it ended.
	Detail string
	// Output is that of the command.
	Output string
	// Took is the time for all of it, building included.
	Took time.Duration
}

// Sound runs the commands of all mutants on the library as it is: a test that fails by itself
// notices nothing. It returns what fails.
func (r *Runner) Sound(ctx context.Context, mutants []Mutant) error {
	byCommand := make(map[string]Test)
	for _, m := range mutants {
		for _, t := range m.Tests {
			id := t.Folder + " " + strings.Join(t.Flags, " ")
			all := byCommand[id]
			all.Folder, all.Flags = t.Folder, t.Flags
			for _, name := range t.Names {
				name, _, _ = strings.Cut(name, "/")
				if !slices.Contains(all.Names, name) {
					all.Names = append(all.Names, name)
				}
			}
			byCommand[id] = all
		}
	}
	var faults []error
	for _, t := range byCommand {
		if output, err := r.command(ctx, t.args(10*time.Minute)); err != nil {
			faults = append(faults, fmt.Errorf("go test %s: %w\n%s", t, err, output))
		}
	}
	return errors.Join(faults...)
}

// Run tries the mutants, several at a time, and calls each, from one goroutine at a time, with
// what came of one. The results are in the order of the mutants.
func (r *Runner) Run(ctx context.Context, mutants []Mutant, each func(Result)) []Result {
	results := make([]Result, len(mutants))
	next := make(chan int)
	var mu sync.Mutex // guards each
	var group worker.Group
	for range r.o.Workers {
		group.Go(func() {
			for i := range next {
				began := time.Now()
				results[i] = r.try(ctx, mutants[i])
				results[i].Took = time.Since(began)
				mu.Lock()
				each(results[i])
				mu.Unlock()
			}
		})
	}
	for i := range mutants {
		next <- i
	}
	close(next)
	group.Wait()
	return results
}

// try builds and runs one mutant.
func (r *Runner) try(ctx context.Context, m Mutant) Result {
	result := Result{Mutant: m, Verdict: Invalid}
	folder, err := os.MkdirTemp("", "mutant")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }()
		err = r.overlay(m, folder)
	}
	if err != nil {
		result.Detail = err.Error()
		return result
	}
	for _, t := range m.Tests {
		args := t.args(m.Timeout)
		args = slices.Insert(args, 1, "-overlay="+filepath.Join(folder, "overlay.json"))
		output, err := r.command(ctx, args)
		result.Verdict, result.Detail = judge(m, output, err)
		result.Detail = t.String() + ": " + result.Detail
		result.Output = output
		if result.Verdict != Killed {
			break
		}
	}
	return result
}

// overlay writes the changed files and the file that tells the go command of them.
func (r *Runner) overlay(m Mutant, folder string) error {
	files, err := m.Apply(r.o.Root)
	if err != nil {
		return err
	}
	replace := make(map[string]string)
	for path, text := range files {
		changed := filepath.Join(folder, fmt.Sprintf("%d.go", len(replace)))
		replace[filepath.Join(r.o.Root, path)] = changed
		err = errors.Join(err, os.WriteFile(changed, text, 0o600))
	}
	list, encodeErr := json.Marshal(map[string]any{"Replace": replace})
	return errors.Join(err, encodeErr, os.WriteFile(filepath.Join(folder, "overlay.json"), list, 0o600))
}

func (r *Runner) command(ctx context.Context, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Build)
	defer cancel()
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = r.o.Root
	c.WaitDelay = time.Second
	output, err := c.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return string(output), err
}

var (
	notBuilt = regexp.MustCompile(`(?m)^FAIL\s.*\[(build|setup) failed\]$`)
	noTests  = regexp.MustCompile(`(?m)\[no tests to run\]$|^testing: warning: no tests to run$`)
	failed   = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
)

// judge says what the end of a command means.
func judge(m Mutant, output string, err error) (Verdict, string) {
	var exit *exec.ExitError
	switch {
	case noTests.MatchString(output):
		return Invalid, "there is no such test"
	case err == nil:
		return Survived, "not noticed"
	case !errors.As(err, &exit) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return Invalid, err.Error()
	case notBuilt.MatchString(output):
		return Invalid, "it does not compile"
	case m.Expect != nil && !m.Expect.MatchString(output):
		return Survived, "noticed, but not as expected"
	case strings.Contains(output, "panic: test timed out"):
		return Killed, "hangs"
	case strings.Contains(output, "WARNING: DATA RACE"):
		return Killed, "data race"
	}
	if names := failed.FindAllStringSubmatch(output, -1); len(names) > 0 {
		return Killed, names[len(names)-1][1]
	}
	return Killed, "panics"
}
