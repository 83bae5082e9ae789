package reflector_test

import (
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goroutines returns how many goroutines are in the bubble of the caller. Those of tests that
// came before are still ending now and then; they are in other bubbles.
func goroutines(t *testing.T) int {
	stack := make([]byte, 1<<10)
	stack = stack[:runtime.Stack(stack, false)]
	bubble := regexp.MustCompile(`synctest bubble \d+\]`).Find(stack)
	require.NotEmpty(t, bubble, "not in a bubble: %s", stack)
	all := make([]byte, 4<<20)
	return strings.Count(string(all[:runtime.Stack(all, true)]), string(bubble))
}
