package parts

import (
	"context"
	"errors"
	"sync"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/controllers/deployment"
	"github.com/seed3bce33ad/listwatch/examples/controllers/endpointslice"
	"github.com/seed3bce33ad/listwatch/examples/controllers/garbage"
	"github.com/seed3bce33ad/listwatch/examples/controllers/job"
	"github.com/seed3bce33ad/listwatch/examples/controllers/namespace"
	"github.com/seed3bce33ad/listwatch/examples/controllers/nodelifecycle"
	"github.com/seed3bce33ad/listwatch/examples/controllers/quota"
	"github.com/seed3bce33ad/listwatch/examples/controllers/replicaset"
	"github.com/seed3bce33ad/listwatch/examples/controllers/serviceaccount"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

func (s Settings) runControllers(ctx context.Context, cluster *kube.Cluster, factory *informer.Factory, o Observer) error {
	env := control.Env{Cluster: cluster, Factory: factory, Clock: clock.New(), Logger: o.Logger}
	var running sync.WaitGroup
	for _, m := range []control.Make{deployment.New, endpointslice.New, garbage.New, job.New, namespace.New, quota.New, nodelifecycle.Options{Grace: s.Heartbeat}.New, replicaset.New, serviceaccount.New} {
		c, err := m(env)
		if err != nil {
			return err
		}
		running.Go(func() { _ = c.Run(ctx) })
	}
	err := factory.Run(ctx)
	running.Wait()
	return err
}

func (s Settings) runHollow(ctx context.Context, cluster *kube.Cluster, factory *informer.Factory, o Observer) error {
	return errors.New("TODO")
}
