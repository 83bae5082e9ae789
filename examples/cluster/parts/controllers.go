package parts

import (
	"context"
	"errors"

	"github.com/seed3bce33ad/listwatch/examples/controllermanager"
	"github.com/seed3bce33ad/listwatch/examples/controllers/nodelifecycle"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

// identity is who the controller manager is to others. It is started anew only when it has ended: so it leads on at once.
const identity = "cluster"

func (s Settings) runControllers(ctx context.Context, cluster *kube.Cluster, o Observer) error {
	return controllermanager.Run(ctx, controllermanager.Options{
		Cluster: cluster, Identity: identity, Nodes: nodelifecycle.Options{Grace: s.Heartbeat}, Caches: o.Caches, Logger: o.Logger,
	})
}

func (s Settings) runHollow(ctx context.Context, cluster *kube.Cluster, factory *informer.Factory, o Observer) error {
	return errors.New("TODO")
}
