package project_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNobodyLinksTheDebugPage checks that a program that does not show the debug page has neither
// the page nor what runs templates in it. What a binary holds shows by names of functions.
func TestNobodyLinksTheDebugPage(t *testing.T) {
	t.Parallel()
	parts := []string{
		"html/template.(*Template).Execute", "text/template.(*state).walk", "text/template/parse.(*Tree).parse",
		"informer.DebugHandler", "Between reading and storing",
	}
	for program, want := range map[string]bool{"plain": false, "debug": true} {
		binary := filepath.Join(t.TempDir(), program)
		c := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./internal/project/testdata/"+program)
		c.Dir = root
		c.Env = append(os.Environ(), "GOWORK=off")
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
		content, err := os.ReadFile(binary)
		require.NoError(t, err)
		require.True(t, bytes.Contains(content, []byte("github.com/seed3bce33ad/listwatch/informer")))
		for _, part := range parts {
			require.Equal(t, want, bytes.Contains(content, []byte(part)), "%s has %q: %v", program, part, !want)
		}
	}
}
