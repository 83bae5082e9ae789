package footprint

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The least program builds, and links few modules. With the build cache of this machine it is quick.
func TestProgram(t *testing.T) {
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	m, err := program(t.Context(), "listwatch", strings.TrimSpace(string(cache)))
	require.NoError(t, err)
	require.LessOrEqual(t, m["modules"], 5.0)
	require.Greater(t, m["stripped_mb"], 1.0)
	require.Contains(t, m, "build_cpu_s")
	_, err = program(t.Context(), "nothing", strings.TrimSpace(string(cache)))
	require.ErrorContains(t, err, "nothing")
}

func TestIdle(t *testing.T) {
	ours, err := idle(t.Context(), 20, startOurs)
	require.NoError(t, err)
	require.Positive(t, ours["goroutines"])
	require.LessOrEqual(t, ours["goroutines"], 3.0)
	theirs, err := idle(t.Context(), 20, startTheirs)
	require.NoError(t, err)
	require.Greater(t, theirs["goroutines"], ours["goroutines"])
}
