package mutants

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Mutant is one way to break the library. [Parse] reads them; the zero value breaks nothing.
type Mutant struct {
	// Name is unique.
	Name string
	// Why says in one line what breaks.
	Why string
	// Scenarios are the numbers in CONTRIBUTING.md that the mutant stands for.
	Scenarios []int
	// Guarantees are those of the packages' doc.go that it stands for.
	Guarantees []Guarantee
	// Tests are the commands that must notice, each of them.
	Tests []Test
	// Hunks are the changes that make it.
	Hunks []Hunk
	// Timeout is how long one command may run without the time to build it.
	Timeout time.Duration
	// Expect is what the output of each command must match; nil: anything will do.
	Expect *regexp.Regexp
	// Survives explains why no test notices; "": one must.
	Survives string
}

// Guarantee is one promise of a package's doc.go.
type Guarantee struct {
	// Folder is that of the package, "." for the root.
	Folder string
	// Number is the one in the list.
	Number int
}

// Test is one command.
type Test struct {
	// Folder is that of the package, "." for the root.
	Folder string
	// Names are the test functions; a single one may go on with /subtest.
	Names []string
	// Flags are passed to go test.
	Flags []string
}

// String returns the command as it is written in a file of mutants.
func (t Test) String() string {
	return strings.Join(append(append([]string{t.Folder}, t.Names...), t.Flags...), " ")
}

// args returns the arguments of the go command.
func (t Test) args(timeout time.Duration) []string {
	name, sub, deeper := strings.Cut(strings.Join(t.Names, "|"), "/")
	run := "^(" + name + ")$"
	if deeper {
		run += "/^" + regexp.QuoteMeta(sub) + "$"
	}
	args := []string{"test", "-count=1", "-vet=off", "-ldflags=-s -w", "-timeout=" + timeout.String(), "-run=" + run}
	return append(append(args, "./"+t.Folder), t.Flags...) // flags of the test itself come last
}

// Hunk is one change of one file.
type Hunk struct {
	// File is the path from the top of the repository.
	File string
	// Old are whole lines that stand in the file exactly once, New what takes their place.
	Old, New string
}

// Apply returns the changed files by their paths from root. It changes nothing. All hunks that do
// not fit are reported.
func (m Mutant) Apply(root string) (map[string][]byte, error) {
	files := make(map[string][]byte)
	var faults []error
	for _, h := range m.Hunks {
		text, read := files[h.File]
		if !read {
			var err error
			if text, err = os.ReadFile(filepath.Join(root, h.File)); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", m.Name, err))
				continue
			}
		}
		lines, old := append([]byte("\n"), text...), []byte("\n"+h.Old)
		at := bytes.Index(lines, old)
		if at < 0 || bytes.Contains(lines[at+1:], old) {
			faults = append(faults, fmt.Errorf("%s: this does not stand in %s exactly once:\n%s", m.Name, h.File, h.Old))
			continue
		}
		files[h.File] = bytes.Replace(lines, old, []byte("\n"+h.New), 1)[1:]
	}
	return files, errors.Join(faults...)
}
