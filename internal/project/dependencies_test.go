package project_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLibraryDependencies checks what a user of the library links: nothing but these modules.
func TestLibraryDependencies(t *testing.T) {
	t.Parallel()
	c := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./...")
	c.Dir = root
	c.Env = append(os.Environ(), "GOWORK=off")
	out, err := c.Output()
	require.NoError(t, err)
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	for _, m := range slices.Compact(modules) {
		require.Contains(t, []string{
			"github.com/seed3bce33ad/listwatch",
			"github.com/benbjohnson/clock",
			"github.com/hashicorp/golang-lru/v2",
			"golang.org/x/time",
		}, m)
	}
}

// TestNoExpirableCache checks that the package is not linked whose caches leave a goroutine behind.
func TestNoExpirableCache(t *testing.T) {
	t.Parallel()
	c := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}}", "./...")
	c.Dir = root
	c.Env = append(os.Environ(), "GOWORK=off")
	out, err := c.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "github.com/hashicorp/golang-lru/v2/simplelru\n")
	require.NotContains(t, string(out), "github.com/hashicorp/golang-lru/v2/expirable\n")
}
