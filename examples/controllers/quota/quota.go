package quota

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// calm is how long a quota must have stood still before less is written: longer than a write takes from when it is charged
// until it is stored.
const calm = time.Second

type controller struct {
	env     control.Env
	quotas  *informer.Informer[*corev1.ResourceQuota]
	writer  kube.Client[*corev1.ResourceQuota]
	queue   *workqueue.Queue[listwatch.Key]
	counted *sources

	mu sync.Mutex
	// charged is when a quota was charged last. Guarded by mu.
	charged map[types.UID]charge
}

// charge is when the last charge of a quota was seen. What has led to the version own since is this controller's.
type charge struct {
	own string
	at  time.Time
}

// New makes the controller.
func New(env control.Env) (control.Controller, error) {
	quotas, err := kube.Follow[*corev1.ResourceQuota](env.Cluster, env.Factory, kube.Select{})
	if err != nil {
		return control.Controller{}, err
	}
	c := &controller{
		env: env, quotas: quotas, writer: kube.For[*corev1.ResourceQuota](env.Cluster), queue: control.NewQueue(env, "quota"),
		charged: map[types.UID]charge{},
	}
	c.counted = &sources{env: env, changed: c.changed, byGroup: map[string]source{}}
	loop := control.Loop(c.queue, c.step, control.Of(quotas, nil))
	return control.Controller{Name: loop.Name, Run: func(ctx context.Context) error {
		c.counted.ctx = ctx
		return loop.Run(ctx)
	}}, nil
}

// changed has the quotas of a namespace counted.
func (c *controller) changed(namespace string) {
	for _, q := range c.quotas.Indexer().Namespace(namespace) {
		c.queue.Add(listwatch.KeyOf(q))
	}
}

// step counts one quota.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	q, found := c.quotas.Indexer().Get(key)
	if !found || q.DeletionTimestamp != nil {
		c.forget()
		return workqueue.Result{}, nil
	}
	all, err := c.counted.of(ctx, slices.Sorted(maps.Keys(q.Spec.Hard)))
	if err != nil {
		return workqueue.Result{}, err
	}
	for _, s := range all {
		if !s.synced().Fired() {
			return workqueue.Result{Await: s.synced()}, nil
		}
	}
	next := q.DeepCopy()
	next.Status.Hard, next.Status.Used = q.Spec.Hard.DeepCopy(), corev1.ResourceList{}
	wait, err := c.fill(ctx, next, q.Status.Used, all)
	if err != nil {
		return workqueue.Result{}, err
	}
	if equality.Semantic.DeepEqual(q.Status, next.Status) {
		return wait, nil
	}
	written, err := c.writer.UpdateStatus(ctx, next)
	if err != nil {
		return workqueue.Result{}, kube.UnlessBehind(err)
	}
	c.wrote(q, written)
	c.env.Logger.Info("counted quota", "quota", key.String())
	if wait == (workqueue.Result{}) {
		wait.Await = c.quotas.Reached(written.ResourceVersion)
	}
	return wait, nil
}

// fill sets what is used by the counts of sources. It returns for what to wait when something stays higher for now.
func (c *controller) fill(ctx context.Context, q *corev1.ResourceQuota, was corev1.ResourceList, all []source) (wait workqueue.Result, err error) {
	rest := calm - c.env.Clock.Since(c.lastCharge(q))
	for _, s := range all {
		counted, less := s.count(q), false
		for name, used := range counted {
			before, known := was[name]
			less = less || known && used.Cmp(before) < 0
		}
		keep := less && rest > 0
		if keep {
			wait = workqueue.Result{After: rest}
		} else if less {
			caught, err := s.caught(ctx, q.Namespace)
			if err != nil {
				return wait, err
			}
			if keep = !caught.Fired(); keep {
				wait = workqueue.Result{Await: caught}
			} else {
				counted = s.count(q)
			}
		}
		for name, used := range counted {
			if before, known := was[name]; keep && known && used.Cmp(before) < 0 {
				used = before
			}
			q.Status.Used[name] = used
		}
	}
	return wait, nil
}

// lastCharge returns when a quota was charged last.
func (c *controller) lastCharge(q *corev1.ResourceQuota) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.charged[q.UID]
	if last.own != q.ResourceVersion {
		last = charge{q.ResourceVersion, c.env.Clock.Now()}
		c.charged[q.UID] = last
	}
	return last.at
}

// wrote notes that a version of a quota is only what this controller has written onto another.
func (c *controller) wrote(q, written *corev1.ResourceQuota) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.charged[q.UID]; last.own == q.ResourceVersion {
		last.own = written.ResourceVersion
		c.charged[q.UID] = last
	}
}

// forget drops what is known of quotas that are no more.
func (c *controller) forget() {
	there := map[types.UID]bool{}
	for _, q := range c.quotas.Indexer().All() {
		there[q.UID] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.charged, func(uid types.UID, _ charge) bool { return !there[uid] })
}
