// Package steps tells from a CPU profile which packages took how much.
package steps

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Step is what was spent in one package, or in one concern of the runtime.
type Step struct {
	// Name is the package's path, that of this library's without its module; or one of the names below.
	Name string
	// CPU is the time that was sampled.
	CPU time.Duration
}

// The steps that are no package.
const (
	Collection  = "garbage collection"
	SystemCalls = "system calls"
	Scheduling  = "runtime: scheduling and the like"
)

// own is the module whose packages are named without it.
const own = "github.com/seed3bce33ad/listwatch/"

// Read returns the steps of a CPU profile, the dearest first.
//
// A sample belongs to the innermost package on its stack that is not of the standard library: what
// a decoder allocates and copies is the decoder's. Where there is none it belongs to the outermost one.
// System calls and garbage collection stand for themselves, the help that allocations give included.
func Read(r io.Reader) ([]Step, error) {
	p, err := profile.Parse(r)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" && t.Unit == "nanoseconds" })
	if at < 0 {
		return nil, fmt.Errorf("no CPU profile: %v", p.SampleType)
	}
	spent := make(map[string]time.Duration)
	for _, s := range p.Sample {
		spent[step(functions(s))] += time.Duration(s.Value[at])
	}
	var out []Step
	for name, d := range spent {
		out = append(out, Step{name, d})
	}
	slices.SortFunc(out, func(a, b Step) int { return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Name, b.Name)) })
	return out, nil
}

// functions returns the names of the functions on a stack, from the innermost on.
func functions(s *profile.Sample) (names []string) {
	for _, location := range s.Location {
		for _, line := range location.Line {
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
	}
	return names
}

// step returns the step of a stack.
func step(stack []string) string {
	if len(stack) == 0 {
		return Scheduling
	}
	if slices.ContainsFunc(stack, collects) {
		return Collection
	}
	if p := packageOf(stack[0]); p == "syscall" || strings.HasSuffix(p, "runtime/syscall") {
		return SystemCalls
	}
	for _, f := range stack {
		if p := packageOf(f); !standard(p) {
			return strings.TrimPrefix(p, own)
		}
	}
	outermost := packageOf(stack[len(stack)-1])
	if outermost == "runtime" || strings.HasPrefix(outermost, "internal/runtime/") {
		return Scheduling
	}
	return outermost
}

// collects reports whether a function is one of the garbage collector's entrances.
func collects(function string) bool {
	switch function {
	case "runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.gcStart", "runtime.bgsweep", "runtime.bgscavenge",
		"runtime.(*mspan).sweep", "runtime.gcMarkDone":
		return true
	}
	return false
}

// packageOf returns the path of a function's package: what stands before the first dot of the last
// element.
func packageOf(function string) string {
	function, _, _ = strings.Cut(function, "[") // type arguments have paths of their own
	from := strings.LastIndexByte(function, '/') + 1
	element, _, _ := strings.Cut(function[from:], ".")
	return function[:from] + element
}

// standard reports whether a package is of the standard library: its path does not begin with the name
// of a host. What the compiler makes for types counts as such.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.HasPrefix(first, "type:") || !strings.Contains(first, ".") && first != "main"
}
