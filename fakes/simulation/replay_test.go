package simulation_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/fakes/simulation"
)

var replays = flag.Int("sim.replays", 3, "how often each script of testdata is run")

// TestReplays runs scripts that have failed once, and the shapes of bugs of long ago.
func TestReplays(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			script, err := os.ReadFile(file)
			require.NoError(t, err)
			for n := 0; n < *replays && !t.Failed(); n++ {
				simulation.Replay(t, newLibrary, string(script))
			}
		})
	}
}
