// Package overhttp has the workloads between a server and a handler: S1, S2, S3 and S4 (the first
// read), W and L (a watch), and R (a list after the watch has expired).
//
// Both sides have one index, by namespace, and one handler, which is told every event. The
// server is a process of its own, and what it takes of the machine is told as "server_cpu_share".
package overhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/meter"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/server"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// Sizes are how much is done: of the full benchmark, of a quick one, of a test.
type Sizes struct {
	Sync, Retained, Compact, Watched, Relisted int // pods
	Events, Paced, Warm                        int // events
}

// The sizes of the benchmark.
var (
	Full  = Sizes{Sync: 100_000, Retained: 20_000, Compact: 100_000, Watched: 10_000, Relisted: 100_000, Events: 50_000, Paced: 20_000, Warm: 2_000}
	Quick = Sizes{Sync: 1_600, Retained: 600, Compact: 3_000, Watched: 500, Relisted: 1_000, Events: 1_200, Paced: 400, Warm: 200}
)

// Bench makes the cases against one server.
type Bench struct {
	// Address is the server's.
	Address server.Address
	// Full and Quick are the sizes.
	Full, Quick Sizes
	// Profile, if not nil, gets a CPU profile of what is measured, without what goes before.
	Profile io.Writer
}

func (b Bench) sizes(quick bool) Sizes {
	if quick {
		return b.Quick
	}
	return b.Full
}

// Cases returns them all.
func (b Bench) Cases() []work.Case {
	var out []work.Case
	add := func(workload, name string, run func(context.Context, *rig) error, o setup, sides ...string) {
		for _, side := range sides {
			c := work.Case{Workload: workload, Name: name, Side: side, Quick: !o.slow, Profiles: true}
			c.Run = func(ctx context.Context, quick bool) (work.Metrics, error) { return b.run(ctx, side, o, quick, run) }
			out = append(out, c)
		}
	}
	add("S1", "list", sync1, setup{}, ours, theirs, theirsProtobuf)
	add("S1", "list in pages", sync1, setup{paged: true, slow: true}, ours, theirs)
	add("S2", "streaming list", sync1, setup{stream: true}, ours, theirs, theirsProtobuf)
	add("S3", "typed", retained, setup{}, ours, theirs)
	add("S3", "typed without managedFields", retained, setup{unmanaged: true}, ours, theirs)
	add("S3", "untyped", retained, setup{untyped: true}, ours, theirs)
	add("S4", "compact", retained, setup{compact: true}, ours, theirs)
	add("W", "HTTP/1.1", watch, setup{}, ours, theirs, theirsProtobuf)
	add("W", "HTTP/2 and TLS", watch, setup{tls: true, slow: true}, ours, theirs)
	add("L", "paced", latency, setup{}, ours, theirs)
	add("R", "after a list", relist, setup{}, ours, theirs)
	add("R", "after a streaming list", relist, setup{stream: true, slow: true}, ours, theirs)
	return out
}

// rig is one run of one case.
type rig struct {
	side    string
	setup   setup
	size    Sizes
	metrics work.Metrics

	session *server.Session
	handler *handler
	running *running
	profile io.Writer
	server  float64 // CPU time of the server at the beginning
}

func (b Bench) run(ctx context.Context, side string, o setup, quick bool, do func(context.Context, *rig) error) (m work.Metrics, err error) {
	r := &rig{side: side, setup: o, size: b.sizes(quick), metrics: make(work.Metrics), profile: b.Profile}
	r.setup.address = b.Address
	defer func() {
		if r.running != nil {
			err = errors.Join(err, r.running.stop())
		}
		if r.session != nil {
			err = errors.Join(err, r.session.Close(context.WithoutCancel(ctx)))
		}
	}()
	return r.metrics, do(ctx, r)
}

// open has the server make the pods.
func (r *rig) open(ctx context.Context, objects int) (err error) {
	r.metrics["objects"] = float64(objects)
	r.handler = newHandler(objects)
	if r.session, err = r.setup.address.Open(ctx, server.Spec{Objects: objects, Stream: r.setup.stream}); err != nil {
		return err
	}
	r.setup.path = r.session.Path
	r.server, err = r.session.CPU(ctx)
	return err
}

// sync starts the informer, and waits until the handler has been told every pod.
func (r *rig) sync(ctx context.Context) (err error) {
	if r.running, err = start(ctx, r.side, r.setup, r.handler); err != nil {
		return err
	}
	return r.handler.await(ctx, "sync", r.handler.synced.done)
}

// measure begins what is measured.
func (r *rig) measure() (*meter.Phase, error) {
	if r.profile != nil {
		if err := pprof.StartCPUProfile(r.profile); err != nil {
			return nil, err
		}
	}
	return meter.Start()
}

// note takes over what a phase has cost, and what it has cost the server.
func (r *rig) note(ctx context.Context, p *meter.Phase) error {
	cost, err := p.Stop()
	if r.profile != nil {
		pprof.StopCPUProfile()
	}
	if err != nil {
		return err
	}
	for name, value := range cost {
		r.metrics[name] = value
	}
	now, err := r.session.CPU(ctx)
	r.metrics["server_cpu_share"] = (now - r.server) / cost["wall_s"]
	return err
}

// sync1 is a first read.
func sync1(ctx context.Context, r *rig) error {
	objects := r.size.Sync
	if err := r.open(ctx, objects); err != nil {
		return err
	}
	phase, err := r.measure()
	if err != nil {
		return err
	}
	if err := r.sync(ctx); err != nil {
		return err
	}
	return r.note(ctx, phase)
}

// retained is what the informer holds after a first read, without what is left over from it.
func retained(ctx context.Context, r *rig) error {
	objects := r.size.Retained
	if r.setup.compact {
		objects = r.size.Compact
		r.setup.recent = max(1, objects/100)
	}
	if err := r.open(ctx, objects); err != nil {
		return err
	}
	before := meter.Heap()
	phase, err := r.measure()
	if err != nil {
		return err
	}
	if err := r.sync(ctx); err != nil {
		return err
	}
	if err := r.note(ctx, phase); err != nil {
		return err
	}
	r.metrics["bytes_per_object"] = (meter.Heap() - before) / float64(objects)
	if n := r.handler.adds.Load(); n != int64(objects) {
		return fmt.Errorf("%d objects were added, not %d", n, objects)
	}
	return nil
}
