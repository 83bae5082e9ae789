package simulation_test

import (
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
)

// alone guards the standard output.
var alone sync.Mutex

// inTest runs f as a test that prints nothing, since an example has no test of its own. It runs it
// once, whatever -count says, and whatever -run and -skip are for.
func inTest(f func(t *testing.T)) {
	alone.Lock()
	defer alone.Unlock()
	ran := false
	out, null := os.Stdout, openNull()
	defer func() { _ = null.Close() }()
	skipped := flag.Lookup("test.skip").Value.String()
	match := func(pattern, _ string) (bool, error) { return !strings.Contains(skipped, pattern), nil }
	os.Stdout = null
	testing.RunTests(match, []testing.InternalTest{{Name: "Example", F: func(t *testing.T) {
		if ran {
			return
		}
		ran = true
		os.Stdout = out
		defer func() { os.Stdout = null }()
		f(t)
	}}})
	os.Stdout = out
}

func openNull() *os.File {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	return null
}
