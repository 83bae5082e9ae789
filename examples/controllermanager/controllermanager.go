package controllermanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/controllers/autoscaler"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/controllers/deployment"
	"github.com/seed3bce33ad/listwatch/examples/controllers/endpoints"
	"github.com/seed3bce33ad/listwatch/examples/controllers/endpointslice"
	"github.com/seed3bce33ad/listwatch/examples/controllers/garbage"
	"github.com/seed3bce33ad/listwatch/examples/controllers/job"
	"github.com/seed3bce33ad/listwatch/examples/controllers/namespace"
	"github.com/seed3bce33ad/listwatch/examples/controllers/nodelifecycle"
	"github.com/seed3bce33ad/listwatch/examples/controllers/quota"
	"github.com/seed3bce33ad/listwatch/examples/controllers/replicaset"
	"github.com/seed3bce33ad/listwatch/examples/controllers/service"
	"github.com/seed3bce33ad/listwatch/examples/controllers/serviceaccount"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/leader"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Options say which controllers run. Cluster must be set, and Identity unless Alone is.
type Options struct {
	// Cluster is where they read and write.
	Cluster *kube.Cluster
	// Controllers are those that run. Defaults to [Controllers] with Nodes.
	Controllers []control.Make
	// Nodes are the times by which the default controllers look after nodes. Defaults to the usual ones.
	Nodes nodelifecycle.Options
	// Identity tells this program from others like it: see [leader.Options].
	Identity string
	// Alone: there is no other, and nobody is asked for leave. Defaults to false.
	Alone bool
	// LeaseDuration is how long others wait for a leader who isn't heard of. Defaults to 15 s.
	LeaseDuration time.Duration
	// Caches gets the factory of each term. Defaults to nobody.
	Caches func(*informer.Factory)
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
	// Logger hears what the controllers do, a line a deed at level Info, and of failures. Defaults to slog.Default().
	Logger *slog.Logger
}

// Controllers returns all controllers.
func Controllers(nodes nodelifecycle.Options) []control.Make {
	return []control.Make{
		autoscaler.New, deployment.New, endpoints.New, endpointslice.New, garbage.New, job.New, namespace.New, nodes.New, quota.New, replicaset.New,
		replicaset.NewReplicationController, service.New, serviceaccount.New, serviceaccount.NewTokens,
	}
}

// Run runs the controllers while this program leads, until ctx is done. It returns an error when one of them has failed, or
// the options make no sense.
func Run(ctx context.Context, o Options) error {
	if o.Cluster == nil || o.Identity == "" && !o.Alone {
		return errors.New("controllermanager: Cluster must be set, and Identity unless Alone is")
	}
	o.Clock = timing.Or(o.Clock)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Controllers == nil {
		o.Controllers = Controllers(o.Nodes)
	}
	if o.Alone {
		return o.term(ctx)
	}
	return leader.Run(ctx, leader.Options{
		Cluster: o.Cluster, Namespace: metav1.NamespaceSystem, Name: "kube-controller-manager", Identity: o.Identity,
		LeaseDuration: o.LeaseDuration, Clock: o.Clock, Logger: o.Logger,
	}, o.term)
}

// term runs the controllers until ctx is done or one of them fails.
func (o Options) term(ctx context.Context) error {
	factory := &informer.Factory{Options: informer.Options{Clock: o.Clock, Logger: o.Logger}}
	env := control.Env{Cluster: o.Cluster, Factory: factory, Clock: o.Clock, Logger: o.Logger}
	var all []control.Controller
	for _, m := range o.Controllers {
		c, err := m(env)
		if err != nil {
			return fmt.Errorf("controllermanager: %w", err)
		}
		all = append(all, c)
	}
	if o.Caches != nil {
		o.Caches(factory)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	errs := make([]error, len(all)+1)
	run := func(i int, name string, f func(context.Context) error) {
		running.Go(func() {
			defer cancel()
			if err := f(ctx); ctx.Err() == nil {
				errs[i] = fmt.Errorf("controllermanager: %s has ended: %w", name, errors.Join(err, errEnded))
			}
		})
	}
	for i, c := range all {
		run(i, c.Name, c.Run)
	}
	run(len(all), "reading", factory.Run)
	running.Wait()
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}

// errEnded is what is wrong with a controller that has returned while it should act.
var errEnded = errors.New("it was to go on")
