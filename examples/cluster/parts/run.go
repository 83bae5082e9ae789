package parts

import (
	"context"
	"fmt"
	"log/slog"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/fleet"
	"github.com/seed3bce33ad/listwatch/examples/proxy"
	"github.com/seed3bce33ad/listwatch/examples/scheduler"
	"github.com/seed3bce33ad/listwatch/informer"
)

// Observer hears of a part. Logger must be set.
type Observer struct {
	// Logger hears what it does, a line a deed at level Info, and of failures.
	Logger *slog.Logger
	// Ready is called when the API server answers. Defaults to nobody.
	Ready func()
	// Etcd gets a client of the API server's etcd, which ends with the part. Defaults to nobody.
	Etcd func(*clientv3.Client)
	// Caches gets the factory of a part's informers. Defaults to nobody.
	Caches func(*informer.Factory)
}

// Run runs a part until ctx is done, and blocks until nothing of it is left but the pods of a node. An error means that it
// has ended by itself.
func Run(ctx context.Context, s Settings, name string, o Observer) error {
	if name == APIServer {
		return s.runAPIServer(ctx, o)
	}
	cluster, err := kube.Load(s.Kubeconfig(name))
	if err != nil {
		return err
	}
	defer cluster.Close()
	if name == ControllerManager {
		return s.runControllers(ctx, cluster, o)
	}
	factory := &informer.Factory{Options: informer.Options{Logger: o.Logger}}
	if o.Caches != nil {
		o.Caches(factory)
	}
	switch name {
	case Scheduler:
		return scheduler.Run(ctx, scheduler.Options{Cluster: cluster, Factory: factory, Logger: o.Logger})
	case Proxy:
		p := proxy.Options{Cluster: cluster, Factory: factory, Logger: o.Logger}
		if !s.ServiceIPs.Addr().IsLoopback() {
			p.ServiceIPs = s.ServiceIPs
		}
		return proxy.Run(ctx, p)
	case Hollow:
		return fleet.Run(ctx, fleet.Options{Cluster: cluster, Factory: factory, Nodes: s.Hollow, LeaseDuration: s.Heartbeat, Logger: o.Logger})
	}
	node := s.number(name)
	if node == 0 {
		return fmt.Errorf("there is no part %q", name)
	}
	return s.runKubelet(ctx, node, cluster, factory, o)
}
