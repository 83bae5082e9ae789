package simulation_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine is left but those that tests leave on purpose.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/seed3bce33ad/listwatch/fakes/simulation_test.waitForEver"),
		goleak.IgnoreAnyFunction("testing/synctest.testingSynctestTest"))
}

// waitForEver never returns.
func waitForEver() { select {} }
