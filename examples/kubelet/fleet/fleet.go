// Package fleet runs the kubelets of hollow nodes, thousands of them in one program: they pretend to run pods.
//
// # Usage
//
//	err := fleet.Run(ctx, fleet.Options{Cluster: cluster, Nodes: 1000})
//
// All of them read by one watch of pods and one of nodes, so Cluster must be of who may do that, and writes for all nodes: an
// administrator. Apart from that and from their runtime they are kubelets as any other: they register their nodes, renew their
// leases, and say how their pods are.
//
// # Guarantees
//
//  1. Pods that are given to the nodes are Running soon, each with an address of its own, and go when they are deleted. (TestFleet)
//  2. All nodes together have one watch of pods and one of nodes; a pod is told of once on its way to Running, and there are no
//     Events. (TestMass)
//
// # Concurrency
//
// Run blocks and leaves no goroutine.
//
// # Testing
//
// TestMass has a cluster in one process and tells how long it took; -nodes and -pods make it larger.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet"
	"github.com/seed3bce33ad/listwatch/examples/runtime/hollow"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// maxNodes is how many nodes have addresses for their pods.
const maxNodes = 1 << 15

// settle is how long a container may take to start before others are told that it waits.
const settle = 10 * time.Second

// Options say how many nodes there are. Cluster and Nodes must be set.
type Options struct {
	// Cluster is where the nodes register.
	Cluster *kube.Cluster
	// Factory is what the informers are made of; Run runs it. Defaults to one of its own.
	Factory *informer.Factory
	// Nodes is how many there are, up to 32768.
	Nodes int
	// Prefix is what their names begin with; a number follows. Defaults to "hollow-".
	Prefix string
	// Capacity is what each of them says that it has. What is missing defaults to 32 CPUs, 256 GiB and 110 pods.
	Capacity corev1.ResourceList
	// LeaseDuration is how long others believe in a node without hearing of it. Defaults to 40 s.
	LeaseDuration time.Duration
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
	// Logger hears of failures. Defaults to nobody.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = "hollow-"
	}
	o.Clock = timing.Or(o.Clock)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Factory == nil {
		o.Factory = &informer.Factory{Options: informer.Options{Clock: o.Clock, Logger: o.Logger}}
	}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	for name, q := range o.Capacity {
		capacity[name] = q
	}
	o.Capacity = capacity
	return o
}

// Run runs the kubelets until ctx is done. It returns an error when one of them has failed, or the options make no sense.
func Run(ctx context.Context, o Options) error {
	if o.Cluster == nil || o.Nodes <= 0 || o.Nodes > maxNodes {
		return fmt.Errorf("fleet: Cluster must be set, and Nodes from 1 to %d", maxNodes)
	}
	o = o.withDefaults()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shared, err := kubelet.Share(ctx, o.Cluster, o.Factory)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var errs error
	run := func(f func(context.Context) error) {
		running.Go(func() {
			defer cancel()
			if err := f(ctx); err != nil && ctx.Err() == nil {
				mu.Lock()
				defer mu.Unlock()
				errs = errors.Join(errs, err)
			}
		})
	}
	run(o.Factory.Run)
	for i := range o.Nodes {
		run(func(ctx context.Context) error { return o.node(ctx, i, shared) })
	}
	running.Wait()
	return errs
}

// node runs one kubelet.
func (o Options) node(ctx context.Context, i int, shared *kubelet.Shared) error {
	pods := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 128 + byte(i>>8), byte(i), 0}), 24)
	r, err := hollow.New(hollow.Options{CIDR: pods, Clock: o.Clock})
	if err != nil {
		return err
	}
	defer r.Close()
	return kubelet.Run(ctx, kubelet.Options{
		Cluster: o.Cluster, Shared: shared, Runtime: r, Images: r, RuntimeName: "hollow", Node: fmt.Sprint(o.Prefix, i+1), Capacity: o.Capacity,
		PodCIDR: pods, LeaseDuration: o.LeaseDuration, Settle: settle,
		Workers: 1, Quiet: true, Clock: o.Clock, Logger: slog.New(warnings{o.Logger.Handler()}),
	})
}

// warnings is a handler that leaves out deeds: there are too many.
type warnings struct{ slog.Handler }

// Enabled tells whether a level is that of a warning at least.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
