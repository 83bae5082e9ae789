package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
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

// TestComponentDependencies checks that the parts of the reference system read the cluster through this library alone.
func TestComponentDependencies(t *testing.T) {
	t.Parallel()
	c := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}}", "./scheduler", "./controllermanager",
		"./kubelet", "./kubelet/server", "./proxy", "./leader")
	c.Dir = filepath.Join(root, "examples")
	c.Env = append(os.Environ(), "GOWORK=off")
	out, err := c.Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Contains(t, packages, "github.com/seed3bce33ad/listwatch/informer")
	controllers, err := filepath.Glob(filepath.Join(root, "examples", "controllers", "*"))
	require.NoError(t, err)
	for _, folder := range controllers {
		info, err := os.Stat(folder)
		require.NoError(t, err)
		if name := filepath.Base(folder); info.IsDir() && name != "controltest" { // what tests share brings the API server
			require.Contains(t, packages, "github.com/seed3bce33ad/listwatch/examples/controllers/"+name)
		}
	}
	for _, p := range packages {
		for _, none := range []string{"go.etcd.io", "k8s.io/client-go/tools/cache", "k8s.io/client-go/informers", "k8s.io/client-go/kubernetes"} {
			require.False(t, p == none || strings.HasPrefix(p, none+"/"), p)
		}
	}
}
