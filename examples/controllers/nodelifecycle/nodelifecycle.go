package nodelifecycle

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// Options are the times that the controller goes by. The zero value has the usual ones.
type Options struct {
	// Grace is how long a kubelet may be silent. Defaults to 50 s.
	Grace time.Duration
	// Tolerated is how long a pod stays on a node that is not ready, when it does not say. Defaults to 5 min.
	Tolerated time.Duration
}

type controller struct {
	env    control.Env
	o      Options
	nodes  *informer.Informer[*corev1.Node]
	leases *informer.Informer[*coordinationv1.Lease]
	pods   *informer.Informer[*corev1.Pod]
	byNode *indexer.Index[*corev1.Pod, string]
	writer kube.Client[*corev1.Node]
	mu     sync.Mutex
	// heard is what was last heard of each node, and when. Guarded by mu.
	heard map[string]heard
}

// heard is a sign of life.
type heard struct {
	sign string
	at   time.Time
}

// New makes the controller with the usual times.
func New(env control.Env) (control.Controller, error) { return Options{}.New(env) }

// New makes the controller.
func (o Options) New(env control.Env) (control.Controller, error) {
	if o.Grace == 0 {
		o.Grace = 50 * time.Second
	}
	if o.Tolerated == 0 {
		o.Tolerated = 5 * time.Minute
	}
	c := &controller{env: env, o: o, writer: kube.For[*corev1.Node](env.Cluster), heard: map[string]heard{}}
	var err1, err2, err3, err4 error
	c.nodes, err1 = kube.Follow[*corev1.Node](env.Cluster, env.Factory, kube.Select{})
	c.leases, err2 = kube.Follow[*coordinationv1.Lease](env.Cluster, env.Factory, kube.Select{Namespace: corev1.NamespaceNodeLease})
	c.pods, err3 = kube.Follow[*corev1.Pod](env.Cluster, env.Factory, kube.Select{})
	if err := errors.Join(err1, err2, err3); err != nil {
		return control.Controller{}, err
	}
	c.byNode, err4 = indexer.AddIndex(c.pods.Indexer(), "nodelifecycle: node", func(p *corev1.Pod) []string {
		if p.Spec.NodeName == "" {
			return nil
		}
		return []string{p.Spec.NodeName}
	})
	if err4 != nil {
		return control.Controller{}, err4
	}
	return control.Loop(control.NewQueue(env, "nodelifecycle"), c.step, control.Of(c.nodes, nil),
		control.Of(c.leases, func(l *coordinationv1.Lease) []listwatch.Key { return []listwatch.Key{{Name: l.Name}} }),
		control.Of(c.pods, func(p *corev1.Pod) []listwatch.Key {
			if p.Spec.NodeName == "" {
				return nil
			}
			return []listwatch.Key{{Name: p.Spec.NodeName}}
		})), nil
}

// step looks after one node: first its state, then its taints, then its pods; what is written in one comes back for the
// next.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	node, found := c.nodes.Indexer().Get(key)
	if !found {
		return c.orphaned(ctx, key)
	}
	left := c.o.Grace - c.env.Clock.Since(c.lastHeard(node))
	if left <= 0 && isReady(node) != corev1.ConditionUnknown {
		return c.lost(ctx, node)
	}
	if wanted := taintsFor(node); !hasTaints(node, wanted) {
		return c.taint(ctx, node, wanted)
	}
	next, err := c.movePods(ctx, node)
	if left > 0 && (next == 0 || left < next) {
		next = left
	}
	return workqueue.Result{After: next}, err
}

// lastHeard returns when there was a sign of life of a node: its lease, its own report, or that it has come.
func (c *controller) lastHeard(node *corev1.Node) time.Time {
	sign := string(node.UID)
	if lease, found := c.leases.Indexer().Get(listwatch.Key{Namespace: corev1.NamespaceNodeLease, Name: node.Name}); found {
		sign += " " + string(lease.UID)
		if lease.Spec.RenewTime != nil {
			sign += lease.Spec.RenewTime.String()
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			sign += " " + condition.LastHeartbeatTime.String()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.heard[node.Name]
	if last.sign != sign {
		last = heard{sign, c.env.Clock.Now()}
		c.heard[node.Name] = last
	}
	return last.at
}

func (c *controller) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.heard, name)
}

// isReady returns what a node says of itself; "" when it has said nothing yet.
func isReady(node *corev1.Node) corev1.ConditionStatus {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status
		}
	}
	return ""
}
