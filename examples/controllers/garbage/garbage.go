package garbage

import (
	"context"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// discover is the time between two looks at what the server serves.
const discover = 30 * time.Second

// maxAbsent is how many owners are remembered that are no more.
const maxAbsent = 4096

// object is the metadata of one.
type object = metav1.PartialObjectMetadata

// id is an object, of which there is never another.
type id struct {
	resource schema.GroupResource
	key      listwatch.Key
	uid      types.UID
}

// monitor follows the objects of a resource.
type monitor struct {
	kube.Resource
	objects *informer.Informer[*object]
	byOwner *indexer.Index[*object, types.UID]
}

type controller struct {
	env    control.Env
	queue  *workqueue.Queue[id]
	absent *lru.Cache[id, struct{}]
	events *kube.Recorder

	mu sync.RWMutex
	// monitors are those of all resources. Guarded by mu.
	monitors map[schema.GroupResource]*monitor
}

// ignored are resources whose objects own nothing and are owned by nobody, and of which there are many.
var ignored = map[string]bool{"events": true, "events.events.k8s.io": true}

// New makes the controller.
func New(env control.Env) (control.Controller, error) {
	absent, err := lru.New[id, struct{}](maxAbsent)
	if err != nil {
		return control.Controller{}, err
	}
	c := &controller{
		env: env, absent: absent, events: kube.NewRecorder(env.Cluster, "garbage-collector", env.Clock),
		queue:    workqueue.New[id](workqueue.Options{Name: "garbage", Clock: env.Clock, Logger: env.Logger}),
		monitors: map[schema.GroupResource]*monitor{},
	}
	return control.Controller{Name: "garbage", Run: c.run}, nil
}

// run looks at what the server serves now and then, and works the queue off.
func (c *controller) run(ctx context.Context) error {
	defer c.queue.Close()
	var discovering sync.WaitGroup
	defer discovering.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	discovering.Go(func() {
		for ctx.Err() == nil {
			if err := c.discover(ctx); err != nil && ctx.Err() == nil {
				c.env.Logger.Warn("not all resources are known", "error", err)
			}
			_ = timing.Sleep(ctx, c.env.Clock, discover) // it ends with ctx, as the loop does
		}
	})
	return workqueue.Process(ctx, c.queue, control.Workers, c.step)
}

// discover follows resources that are new, and no more those that are gone. While some can't be asked for, none is given up.
func (c *controller) discover(ctx context.Context) error {
	served, err := c.env.Cluster.Resources(ctx)
	there := map[schema.GroupResource]bool{}
	for _, r := range served {
		gr := r.GroupResource()
		there[gr] = true
		if c.monitor(gr) != nil || ignored[gr.String()] || !r.Can("list", "watch", "get", "patch", "delete") {
			continue
		}
		if err := c.follow(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", gr, err)
		}
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	var gone []*monitor
	for gr, m := range c.monitors {
		if !there[gr] {
			delete(c.monitors, gr)
			gone = append(gone, m)
		}
	}
	c.mu.Unlock()
	for _, m := range gone {
		_, _ = c.env.Factory.Stop(m.objects.Name()) // whatever it was ended by
	}
	return nil
}

func (c *controller) monitor(r schema.GroupResource) *monitor {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.monitors[r]
}

// follow begins to follow a resource.
func (c *controller) follow(ctx context.Context, r kube.Resource) error {
	i, err := kube.FollowMetadata(c.env.Cluster, c.env.Factory, r.GroupVersionResource)
	if err != nil {
		return err
	}
	m := &monitor{Resource: r, objects: i}
	if m.byOwner, err = indexer.AddIndex(i.Indexer(), "garbage: owners", ownersOf); err != nil {
		return err
	}
	c.mu.Lock()
	c.monitors[r.GroupResource()] = m
	c.mu.Unlock()
	_, err = i.AddHandler(ctx, func(_ context.Context, change informer.Change[*object]) { c.changed(m, change) }, informer.HandlerOptions{Name: "garbage"})
	return err
}

func ownersOf(o *object) []types.UID {
	var all []types.UID
	for _, ref := range o.OwnerReferences {
		all = append(all, ref.UID)
	}
	return all
}

// changed has those looked at who are concerned by a change.
func (c *controller) changed(m *monitor, change informer.Change[*object]) {
	if old := change.Old; old != nil {
		c.lookAtOwners(old) // it may be the last that held them back
		if old.UID != change.Object.UID {
			c.lookAtDependents(old.UID)
		}
	}
	if change.Type == informer.Delete {
		c.lookAtOwners(change.Object)
		c.lookAtDependents(change.Object.UID)
		return
	}
	if len(change.Object.OwnerReferences) > 0 || change.Object.DeletionTimestamp != nil {
		c.queue.Add(idOf(m, change.Object))
	}
}

func idOf(m *monitor, o *object) id { return id{m.GroupResource(), listwatch.KeyOf(o), o.UID} }

// lookAtDependents has all looked at that name a UID as owner.
func (c *controller) lookAtDependents(uid types.UID) {
	for _, d := range c.dependents(uid) {
		c.queue.Add(idOf(d.monitor, d.object))
	}
}

// lookAtOwners has those owners of an object looked at that are to go after their dependents.
func (c *controller) lookAtOwners(o *object) {
	for _, ref := range o.OwnerReferences {
		m := c.monitorOf(ref)
		if m == nil {
			continue
		}
		if owner, found := m.objects.Indexer().Get(m.keyOf(o, ref)); found && owner.UID == ref.UID && owner.DeletionTimestamp != nil {
			c.queue.Add(idOf(m, owner))
		}
	}
}

// dependent is an object, and who follows it.
type dependent struct {
	*monitor
	*object
}

// dependents returns what names a UID as owner.
func (c *controller) dependents(uid types.UID) []dependent {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var all []dependent
	for _, m := range c.monitors {
		for _, o := range m.byOwner.Get(uid) {
			all = append(all, dependent{m, o})
		}
	}
	return all
}

// monitorOf returns who follows the kind of an owner, or nil.
func (c *controller) monitorOf(ref metav1.OwnerReference) *monitor {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, m := range c.monitors {
		if m.Group == gv.Group && m.Kind == ref.Kind {
			return m
		}
	}
	return nil
}

// keyOf is where a reference points to: an owner in a namespace is in that of its dependent.
func (m *monitor) keyOf(o *object, ref metav1.OwnerReference) listwatch.Key {
	if m.Namespaced {
		return listwatch.Key{Namespace: o.Namespace, Name: ref.Name}
	}
	return listwatch.Key{Name: ref.Name}
}
