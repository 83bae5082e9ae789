package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/cluster/caches"
	"github.com/seed3bce33ad/listwatch/examples/cluster/crew"
	"github.com/seed3bce33ad/listwatch/examples/cluster/narrate"
	"github.com/seed3bce33ad/listwatch/examples/cluster/parts"
	"github.com/seed3bce33ad/listwatch/examples/cluster/story"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// playTime is how long the story may take.
const playTime = 3 * time.Minute

// startTime is how long nodes may take to become ready.
const startTime = time.Minute

// cluster is a run of the command.
type cluster struct {
	flags
	settings parts.Settings
	n        *narrate.Narrator

	mu        sync.Mutex
	etcd      *clientv3.Client             // guarded by mu; nil when the API server is in another process
	factories map[string]*informer.Factory // guarded by mu: those of the parts in this process
}

// start starts all parts.
func (c *cluster) start(ctx context.Context) (*crew.Crew, error) {
	launch := crew.Apart(c.settings, c.n.Logger)
	if !c.processes {
		launch = crew.Here(c.settings, c.observe)
	}
	all := crew.New(crew.Options{Names: c.settings.Names(), Launch: launch, Logger: c.n.Logger})
	if err := all.StartAll(ctx); err != nil {
		all.Close()
		return nil, err
	}
	return all, nil
}

// observe is who watches a part in this process.
func (c *cluster) observe(part string) parts.Observer {
	return parts.Observer{
		Logger: c.n.Logger(part),
		Etcd: func(client *clientv3.Client) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.etcd = client
		},
		Caches: func(f *informer.Factory) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.factories[part] = f
		},
	}
}

// serve runs the cluster until ctx is done.
func (c *cluster) serve(ctx context.Context) error {
	all, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer all.Close()
	if err := c.ready(ctx); err != nil {
		return err
	}
	c.n.Say("The cluster runs: %s. Use it with", strings.Join(c.settings.Names(), ", "))
	c.n.Say("\n    export KUBECONFIG=%s\n    kubectl get nodes", c.settings.Kubeconfig("admin"))
	c.n.Say("    kubectl create deployment web --image builtin/web --replicas 3\n    kubectl expose deployment web --port 80 --target-port 8080\n")
	for _, missing := range c.settings.Missing {
		c.n.Say("It goes without: %s", missing)
	}
	c.n.Say("It ends with Ctrl-C.")
	<-ctx.Done()
	return nil
}

// ready waits until the nodes are ready, and pods can be made in the namespace "default".
func (c *cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("the nodes did not become ready"))
	defer cancel()
	admin, err := kube.Load(c.settings.Kubeconfig("admin"))
	if err != nil {
		return err
	}
	defer admin.Close()
	nodes, accounts := kube.For[*corev1.Node](admin), kube.For[*corev1.ServiceAccount](admin)
	for waiting := c.settings.NodeNames(); ; {
		waiting = slices.DeleteFunc(waiting, func(name string) bool {
			n, err := nodes.Get(ctx, listwatch.Key{Name: name})
			return err == nil && len(n.Spec.Taints) == 0
		})
		if _, err := accounts.Get(ctx, listwatch.Key{Namespace: metav1.NamespaceDefault, Name: "default"}); err == nil && len(waiting) == 0 {
			return nil
		}
		if timing.Sleep(ctx, clock.New(), 50*time.Millisecond) != nil {
			return context.Cause(ctx)
		}
	}
}

// play plays the story, and compares all caches with etcd.
func (c *cluster) play(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, playTime, errors.New("the story took too long"))
	defer cancel()
	for _, missing := range c.settings.Missing {
		c.n.Say("It goes without: %s", missing)
	}
	all, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer all.Close()
	admin, err := kube.Load(c.settings.Kubeconfig("admin"))
	if err != nil {
		return err
	}
	defer admin.Close()
	factory := &informer.Factory{Options: informer.Options{Logger: c.n.Logger("story")}}
	reading, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { err = errors.Join(err, factory.Run(reading)) })
	defer running.Wait()
	defer stop()
	if err := story.Play(ctx, story.Options{Cluster: admin, Factory: factory, Crew: all, Narrator: c.n}); err != nil {
		return err
	}
	return c.compare(ctx, factory)
}

// compare compares the caches in this process with etcd.
func (c *cluster) compare(ctx context.Context, own *informer.Factory) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.etcd == nil {
		c.n.Say("\nThe parts are processes of their own: their caches can't be compared from here.")
		return nil
	}
	c.factories["story"] = own
	report, err := caches.Compare(ctx, c.etcd, c.factories, 10*time.Second)
	if err != nil {
		return err
	}
	c.n.Say("\nThe caches of all parts hold what etcd holds: %d caches with %d objects.", report.Caches, report.Objects)
	return nil
}
