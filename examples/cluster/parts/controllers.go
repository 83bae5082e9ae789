package parts

import (
	"context"

	"github.com/seed3bce33ad/listwatch/examples/controllermanager"
	"github.com/seed3bce33ad/listwatch/examples/controllers/nodelifecycle"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

// identity is who the controller manager is to others. It is started anew only when it has ended: so it leads on at once.
const identity = "cluster"

func (s Settings) runControllers(ctx context.Context, cluster *kube.Cluster, o Observer) error {
	return controllermanager.Run(ctx, controllermanager.Options{
		Cluster: cluster, Identity: identity, Nodes: nodelifecycle.Options{Grace: s.Heartbeat}, Caches: o.Caches, Logger: o.Logger,
	})
}
