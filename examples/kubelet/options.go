package kubelet

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/benbjohnson/clock"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Options say how to run a [Kubelet]. Cluster, Node, Runtime and Images must be set.
type Options struct {
	// Cluster is where it reads its pods and writes how they are, by the user system:node:NODE or one who may do more.
	Cluster *kube.Cluster
	// Factory is where it gets its informers from; whoever gives one runs it. Defaults to one of its own.
	Factory *informer.Factory
	// Shared is what it reads in place of informers of its own, together with other kubelets of this program. Defaults to none.
	Shared *Shared
	// Runtime runs the containers, and Images has what they are made from. They live longer than the kubelet.
	Runtime runtime.Service
	Images  runtime.Images

	// Node is the node's name.
	Node string
	// Labels and Annotations are given to the node besides those that every node has. Taints are those that it is created with.
	Labels, Annotations map[string]string
	Taints              []corev1.Taint
	// Capacity is what the node has. What is missing of CPU, memory and pods defaults to the machine's, and 110 pods.
	Capacity corev1.ResourceList
	// PodCIDR is where the addresses of its pods come from, for others to know. Defaults to none.
	PodCIDR netip.Prefix
	// Addresses are the node's. Defaults to 127.0.0.1, and Node as the host name.
	Addresses []corev1.NodeAddress
	// Serve answers others, at Port. Run calls it in a goroutine of its own with a context that ends with Run's. Defaults to
	// nobody.
	Serve func(context.Context, Host) error
	// Port is where Serve listens, for others to know. Defaults to 0: nowhere.
	Port int32
	// RuntimeName is what the runtime is called in the ids of containers. Defaults to "process".
	RuntimeName string

	// Dir is where volumes and logs are kept. Defaults to none: nothing is written, and containers get neither volumes nor
	// what config maps and secrets say, which is for runtimes that only pretend.
	Dir string

	// ManifestDir is a directory with a file for each pod that the node runs by itself, as package manifest reads them. The
	// API shows them. Defaults to none.
	ManifestDir string
	// ManifestPeriod is the time between two looks at it. Defaults to 20 s.
	ManifestPeriod time.Duration

	// LeaseDuration is how long others believe in the node without hearing of it. It tells of itself four times in that
	// time. Defaults to 40 s.
	LeaseDuration time.Duration
	// StatusPeriod is the time after which it writes the node's status though nothing has changed. Defaults to 5 min.
	StatusPeriod time.Duration
	// Settle is how long a new pod's containers may take to start before its status is told: with one that starts faster the
	// first status that others see is that it runs, which spares a write. Defaults to 0: its status is told at once.
	Settle time.Duration
	// Workers is how many pods are looked at at a time. Defaults to 8.
	Workers int
	// Quiet keeps it from writing Events. Defaults to false.
	Quiet bool
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
	// Logger hears what it does, a line a deed at level Info, and of failures. Defaults to slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Addresses == nil {
		o.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: o.Node}}
	}
	if o.RuntimeName == "" {
		o.RuntimeName = "process"
	}
	if o.LeaseDuration == 0 {
		o.LeaseDuration = 40 * time.Second
	}
	if o.StatusPeriod == 0 {
		o.StatusPeriod = 5 * time.Minute
	}
	if o.ManifestPeriod == 0 {
		o.ManifestPeriod = 20 * time.Second
	}
	if o.Workers == 0 {
		o.Workers = 8
	}
	o.Clock = timing.Or(o.Clock)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.Cluster == nil || o.Node == "" || o.Runtime == nil || o.Images == nil {
		errs = append(errs, errors.New("kubelet: Cluster, Node, Runtime and Images must be set"))
	}
	if o.LeaseDuration < 4*time.Second || o.StatusPeriod < 0 || o.ManifestPeriod < 0 || o.Settle < 0 || o.Workers < 0 {
		errs = append(errs, errors.New("kubelet: LeaseDuration must be 4 s at least, other durations and Workers not negative"))
	}
	return errors.Join(errs...)
}
