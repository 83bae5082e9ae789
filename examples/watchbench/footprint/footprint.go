// Package footprint has workload F: what the smallest pod informer with a queue brings into a
// program, and what one more informer costs that has nothing to do.
//
// Each program is built with an empty build cache; testdata holds them. An idle informer
// has a source of its own in the same process, so that no connection is counted, and one handler.
package footprint

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// module is the one that the programs are in.
const module = "github.com/seed3bce33ad/listwatch/examples"

// Cases returns the cases. They need the go command, and the module in or below the working
// directory's workspace.
func Cases() []work.Case {
	var out []work.Case
	for _, side := range []string{"listwatch", "listwatch-corev1", "client-go", "client-go-clientset"} {
		out = append(out, work.Case{Workload: "F", Name: "program", Side: side, Run: func(ctx context.Context, _ bool) (work.Metrics, error) {
			return program(ctx, side, "")
		}})
	}
	add := func(side string, start starter) {
		out = append(out, work.Case{Workload: "F", Name: "idle informer", Side: side, Run: func(ctx context.Context, _ bool) (work.Metrics, error) {
			return idle(ctx, 1000, start)
		}})
	}
	add("listwatch", startOurs)
	add("client-go", startTheirs)
	return out
}

// program builds one program with a cache; "" is an empty one.
func program(ctx context.Context, name, cache string) (work.Metrics, error) {
	dir, err := os.MkdirTemp("", "watchbench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if cache == "" {
		cache = filepath.Join(dir, "cache")
	}
	where, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, fmt.Errorf("the module of the programs is not found: %w", err)
	}
	binary := filepath.Join(dir, name)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "./watchbench/footprint/testdata/"+name)
	build.Dir = strings.TrimSpace(string(where))
	build.Env = append(os.Environ(), "GOCACHE="+cache)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	file, err := os.Stat(binary)
	if err != nil {
		return nil, err
	}
	if len(info.Deps) == 0 {
		return nil, errors.New("the program names no module")
	}
	return work.Metrics{
		"modules": float64(len(info.Deps)), "stripped_mb": float64(file.Size()) / 1e6,
		"build_cpu_s": (build.ProcessState.UserTime() + build.ProcessState.SystemTime()).Seconds(),
	}, nil
}
