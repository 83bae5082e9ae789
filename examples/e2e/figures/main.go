// Command figures measures the reference API server beside a real kube-apiserver, on the same etcd.
//
// # Usage
//
//	cd examples/e2e && GOWORK=off go run ./figures -json figures.json
//
// It starts one etcd and, in turn, each of the two servers as a process of its own, with keys of its own. The clients are
// in this process and send the same requests to both. Every figure is the median of the rounds; what a round leaves in
// etcd stays there. What was measured before and stands in the file of -json is kept if it is not measured again.
//
// # Concurrency
//
// It has the machine to itself, or its figures mean little.
//
// # Testing
//
// A round with -scale 0.01 takes seconds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/seed3bce33ad/listwatch/examples/e2e/cluster"
)

// options are what the flags say.
type options struct {
	rounds int
	scale  float64
	only   *regexp.Regexp
	json   string
}

func main() {
	o := options{}
	flag.IntVar(&o.rounds, "rounds", 3, "how often each figure is measured")
	flag.Float64Var(&o.scale, "scale", 1, "factor of all numbers of objects")
	only := flag.String("only", "", "regular expression of what to measure: writes, fan-out, list-small, list-large")
	flag.StringVar(&o.json, "json", "", "file to keep the figures in")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if o.only, err = regexp.Compile(*only); err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	servers, stop, err := start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r, err := load(o.json)
	if err != nil {
		return err
	}
	for _, j := range jobs(o.scale) {
		if !o.only.MatchString(j.name) {
			continue
		}
		for _, s := range servers {
			if err := j.prepare(ctx, s); err != nil {
				return fmt.Errorf("%s: %s: %w", s.name, j.name, err)
			}
		}
		for round := range o.rounds {
			for i := range servers {
				s := servers[(i+round)%len(servers)] // none is always the first
				if err := s.measured(ctx, j, round, r); err != nil {
					return fmt.Errorf("%s: %s: %w", s.name, j.name, err)
				}
			}
		}
	}
	if err := r.save(o.json); err != nil {
		return err
	}
	fmt.Print(r.markdown())
	return nil
}

// programs builds what is not there: both servers and etcd. The reference server is built each time.
func programs(ctx context.Context, dir string) (cluster.Binaries, string, error) {
	bin := os.Getenv("E2E_BIN")
	if bin == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return cluster.Binaries{}, "", err
		}
		bin = filepath.Join(cache, "listwatch-e2e")
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return cluster.Binaries{}, "", err
	}
	b, err := cluster.Build(ctx, ".", bin, os.Stderr)
	if err != nil {
		return b, "", err
	}
	reference := filepath.Join(dir, "apiserver")
	c := exec.CommandContext(ctx, "go", "build", "-o", reference, "./apiserver/cmd/apiserver")
	c.Dir, c.Stderr, c.Env = "..", os.Stderr, append(os.Environ(), "GOWORK=off")
	return b, reference, c.Run()
}
