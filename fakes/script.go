package fakes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Step is a fault with the time at which it happens.
type Step struct {
	// At is the time since the script's start.
	At time.Duration
	// Fault is what happens.
	Fault Fault
}

// String returns the step as one line, such as "at 1m30s fail watch 429".
func (s Step) String() string { return fmt.Sprintf("at %s %s", s.At, s.Fault) }

// Script is faults in the order of their times. The zero value is empty.
type Script []Step

// String returns the script as text that [ParseScript] reads, one step a line.
func (s Script) String() string {
	var b strings.Builder
	for _, step := range s {
		b.WriteString(step.String() + "\n")
	}
	return b.String()
}

// ParseScript reads a script: one step a line, in the order of their times. Empty lines and what
// is behind a "#" are not looked at. All lines that are wrong are reported at once.
func ParseScript(text string) (Script, error) {
	var s Script
	var wrong []error
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		step, err := parseStep(line)
		if err == nil && len(s) > 0 && step.At < s[len(s)-1].At {
			err = fmt.Errorf("%s is before the step above", step.At)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", i+1, err))
		}
		s = append(s, step)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return s, nil
}

func parseStep(line string) (Step, error) {
	rest, ok := strings.CutPrefix(line, "at ")
	when, fault, found := strings.Cut(strings.TrimSpace(rest), " ")
	if !ok || !found {
		return Step{}, fmt.Errorf("%q is not \"at <time> <fault>\"", line)
	}
	at, err := time.ParseDuration(when)
	if err != nil || at < 0 {
		return Step{}, fmt.Errorf("bad time %q", when)
	}
	f, err := ParseFault(strings.TrimSpace(fault))
	return Step{At: at, Fault: f}, err
}

// RandomScript returns n random faults within d, of the kinds given or of any that a [Source]
// can do; see [RandomFault]. One seed always makes one script.
func RandomScript(seed uint64, n int, d time.Duration, kinds ...FaultKind) Script {
	rng := rand.New(rand.NewPCG(seed, 0x5c21b7))
	s := make(Script, n)
	for i := range s {
		s[i] = Step{At: time.Duration(rng.Int64N(max(int64(d), 1))).Truncate(time.Millisecond), Fault: RandomFault(rng, kinds...)}
	}
	slices.SortStableFunc(s, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return s
}

// Play blocks while it injects each fault at its time into all of the targets that can do it;
// one that none can do ends it with an error that wraps [listwatch.ErrUnsupported]. Time is that
// of c; nil is the real clock. It returns when the last fault is injected, without healing
// anything, or with ctx's cause when that is done.
func (s Script) Play(ctx context.Context, c clock.Clock, targets ...Faulty) error {
	c = timing.Or(c)
	passed := time.Duration(0)
	for _, step := range s {
		if err := timing.Sleep(ctx, c, step.At-passed); err != nil {
			return err
		}
		passed = max(passed, step.At)
		if err := inject(step.Fault, targets); err != nil {
			return fmt.Errorf("at %s: %w", step.At, err)
		}
	}
	return nil
}

// inject injects f into all targets that can do it.
func inject(f Fault, targets []Faulty) error {
	done := false
	for _, target := range targets {
		switch err := target.Inject(f); {
		case err == nil:
			done = true
		case !errors.Is(err, listwatch.ErrUnsupported):
			return err
		}
	}
	if !done {
		return fmt.Errorf("%w: nothing can do fault %q", listwatch.ErrUnsupported, f)
	}
	return nil
}
