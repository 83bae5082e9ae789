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

// cases returns all cases. Those over HTTP ask the server at address.
func cases(address server.Address) []work.Case {
	overHTTP := overhttp.Bench{Address: address, Full: overhttp.Full, Quick: overhttp.Quick}
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
	for _, c := range cases(j.Address) {
		if c.Workload != j.Workload || c.Name != j.Name || c.Side != j.Side {
			continue
		}
		metrics, err := j.run(ctx, c)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(metrics)
	}
	return fmt.Errorf("no case %q", args[0])
}

func (j job) run(ctx context.Context, c work.Case) (m work.Metrics, err error) {
	if j.Profile != "" {
		file, err := os.Create(j.Profile)
		if err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		defer func() {
			pprof.StopCPUProfile()
			err = errors.Join(err, file.Close())
		}()
	}
	return c.Run(ctx, j.Quick)
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
