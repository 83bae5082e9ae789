// Package kubectltest builds kubectl for tests, from the module beside it.
//
// # Concurrency
//
// Several programs may build at once: what was broken off is never taken for whole.
package kubectltest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is that of kubectl, in a package of this module.
const module = "github.com/seed3bce33ad/listwatch/examples/apiserver"

// Build returns the path of kubectl: what $KUBECTL names, or else what it builds in the user's cache, once for each version.
// It blocks for up to some minutes the first time, and needs the go command.
func Build(ctx context.Context) (string, error) {
	if program := os.Getenv("KUBECTL"); program != "" {
		return program, nil
	}
	dir, err := run(ctx, ".", "list", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "kubectl")
	version, err := run(ctx, dir, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubectl")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	program := filepath.Join(cache, "listwatch-apiserver", "kubectl-"+version)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	made := fmt.Sprintf("%s.%d", program, os.Getpid())
	if _, err := run(ctx, dir, "build", "-ldflags", "-s -w -X k8s.io/component-base/version.gitVersion="+version, "-o", made, "."); err != nil {
		return "", err
	}
	return program, os.Rename(made, program)
}

// run runs the go command in a directory. The module of kubectl is no part of a workspace.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	if dir != "." {
		c.Env = append(os.Environ(), "GOWORK=off")
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, &errs)
	}
	return strings.TrimSpace(string(out)), nil
}
