// Package runtimetest tests container runtimes, and prepares programs that test with real ones.
package runtimetest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
)

// Main runs the tests of a package whose tests use package process; TestMain calls it, before anything else. As root the
// tests get a network namespace of their own, with nothing in it but the loopback. It does not return, and fails when a
// goroutine is left behind.
func Main(m *testing.M) {
	process.Reexec()
	if err := isolate(); err != nil {
		fmt.Fprintln(os.Stderr, "runtimetest: a network namespace for the tests:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
