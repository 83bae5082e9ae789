package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"
	"slices"

	"k8s.io/klog/v2"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/footprint"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/growth"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/overhttp"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/pipeline"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/queues"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/server"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/stores"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// cases returns all cases. Those over HTTP ask the server at address, and write a CPU profile unless
// profile is nil.
func cases(address server.Address, profile io.Writer) []work.Case {
	overHTTP := overhttp.Bench{Address: address, Full: overhttp.Full, Quick: overhttp.Quick, Profile: profile}
	return slices.Concat(overHTTP.Cases(), pipeline.Cases(), stores.Cases(), queues.Cases(), footprint.Cases(), growth.Cases())
}

// job is what a child is to do.
type job struct {
	Workload, Name, Side string
	Quick                bool
	Address              server.Address
	Profile              string // where to write a CPU profile; "" for none
}

// child runs one case, and writes what it measured to out.
func child(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("a child takes one argument")
	}
	var j job
	if err := json.Unmarshal([]byte(args[0]), &j); err != nil {
		return err
	}
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // client-go tells of each turn
	if j.Profile == "" {
		return j.run(ctx, nil, out)
	}
	profile, err := os.Create(j.Profile)
	if err != nil {
		return err
	}
	return errors.Join(j.run(ctx, profile, out), profile.Close())
}

// run runs the case; profile may be nil.
func (j job) run(ctx context.Context, profile io.Writer, out io.Writer) error {
	all := cases(j.Address, profile)
	at := slices.IndexFunc(all, func(c work.Case) bool { return c.Workload == j.Workload && c.Name == j.Name && c.Side == j.Side })
	if at < 0 {
		return fmt.Errorf("no case %q of %q", group{{Workload: j.Workload, Name: j.Name}}, j.Side)
	}
	if profile != nil && !all[at].Profiles {
		if err := pprof.StartCPUProfile(profile); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	metrics, err := all[at].Run(ctx, j.Quick)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(metrics)
}

// serve runs the server until in ends, which it does at the latest when the parent is gone.
func serve(in io.Reader, out io.Writer) error {
	s, err := server.Start()
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(s.Address); err != nil {
		return errors.Join(err, s.Close())
	}
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, s.Close())
}
