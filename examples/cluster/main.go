// Command cluster runs a whole cluster on this machine: etcd, API server, controller manager, scheduler, kubelets and proxy,
// in one process or in one each.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/seed3bce33ad/listwatch/examples/cluster/crew"
	"github.com/seed3bce33ad/listwatch/examples/cluster/narrate"
	"github.com/seed3bce33ad/listwatch/examples/cluster/parts"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
	"github.com/seed3bce33ad/listwatch/informer"
)

func main() {
	process.Reexec()
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // a library tells of each connection that a client has closed
	crew.Reexec()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// flags are what the command line says.
type flags struct {
	settings                 parts.Settings
	processes, demo, verbose bool
}

func parse(args []string, out io.Writer) (f flags, err error) {
	set := flag.NewFlagSet("cluster", flag.ContinueOnError)
	set.SetOutput(out)
	set.StringVar(&f.settings.Dir, "dir", "", "`directory` for etcd's data, keys, and what nodes have, to go on with later (default a temporary one)")
	set.StringVar(&f.settings.Listen, "listen", "", "`address` of the API server (default 127.0.0.1:6443, and with --demo any free port)")
	set.IntVar(&f.settings.Nodes, "nodes", 2, "`number` of nodes that run pods as processes of this machine")
	set.IntVar(&f.settings.Hollow, "hollow", 0, "`number` of further nodes, which only pretend to run pods")
	set.BoolVar(&f.settings.Plain, "plain", false, "leave out what needs root: networks and other namespaces of pods, and cgroups")
	set.DurationVar(&f.settings.Heartbeat, "heartbeat", 0, "how long a node is believed in that is not heard of (default 40s, and with --demo 4s)")
	set.BoolVar(&f.processes, "processes", false, "run each part in a process of its own, and start it again when it ends")
	set.BoolVar(&f.demo, "demo", false, "play a story, tell what each part does, compare all caches with etcd, and end")
	set.BoolVar(&f.verbose, "verbose", false, "tell what each part does")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("%q is not understood", set.Args())
	}
	if f.demo {
		f.settings.Heartbeat = cmp.Or(f.settings.Heartbeat, 4*time.Second)
	} else if f.settings.Listen == "" {
		f.settings.Listen = "127.0.0.1:6443"
	}
	return f, nil
}

// run runs the cluster until ctx is done, or the story is over.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.settings.Dir == "" {
		if f.settings.Dir, err = os.MkdirTemp("", "cluster-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(f.settings.Dir)) }()
	}
	s, err := parts.Prepare(f.settings)
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if f.demo || f.verbose {
		level = slog.LevelInfo
	}
	defer func() { err = errors.Join(err, parts.Clean(s)) }()
	c := &cluster{flags: f, settings: s, n: narrate.New(out, level), factories: map[string]*informer.Factory{}}
	if f.demo {
		return c.play(ctx)
	}
	return c.serve(ctx)
}
