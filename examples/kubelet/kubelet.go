package kubelet

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/manifest"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// requestTimeout bounds a request to the API server, so that one that hangs holds nothing up for long.
const requestTimeout = 10 * time.Second

// Kubelet runs the pods of a node. Make one with [New]; it is a [Host].
type Kubelet struct {
	o       Options
	started time.Time
	source  *source
	// queue holds the pods to look at, by UID; the empty one is the node itself.
	queue  *workqueue.Queue[types.UID]
	pods   kube.Client[*corev1.Pod]
	nodes  kube.Client[*corev1.Node]
	inputs objects
	events chan event
	// manifests has the static pods; nil: there are none.
	manifests *manifest.Dir
	tasks     sync.WaitGroup

	// admission is held by who decides whether a pod has a place on the node.
	admission sync.Mutex

	mu            sync.Mutex
	records       map[types.UID]*record       // what is known of pods beside API and runtime; guarded by mu, as are those below
	nodeUID       types.UID                   // of the node that was registered
	statusWritten time.Time                   // when the node's status was written last
	used          map[string]usage            // what containers had used when they were looked at last
	names         map[listwatch.Key]types.UID // which static pod has a name
}

// Run is [New] and [Kubelet.Run].
func Run(ctx context.Context, o Options) error {
	k, err := New(o)
	if err != nil {
		return err
	}
	return k.Run(ctx)
}

// New returns a kubelet that does nothing before its Run. It returns an error when the options make no sense.
func New(o Options) (*Kubelet, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	k := &Kubelet{
		o: o, pods: kube.For[*corev1.Pod](o.Cluster), nodes: kube.For[*corev1.Node](o.Cluster),
		records: map[types.UID]*record{}, inputs: newObjects(o.Cluster), used: map[string]usage{}, names: map[listwatch.Key]types.UID{},
		queue: workqueue.New(workqueue.Options{Name: "kubelet " + o.Node, Clock: o.Clock, Logger: o.Logger},
			workqueue.Policy[types.UID]{Limiter: &workqueue.Exponential[types.UID]{Base: 100 * time.Millisecond, Max: 30 * time.Second}}),
	}
	if o.ManifestDir != "" {
		k.manifests = manifest.New(manifest.Options{Path: o.ManifestDir, Node: o.Node, Logger: o.Logger})
	}
	if !o.Quiet {
		k.events = make(chan event, 1024)
	}
	return k, nil
}

// Run runs the node's pods and tells the API of them until ctx is done; it blocks until nothing of the kubelet is left.
// Containers go on running: the next kubelet finds them. It is called once.
func (k *Kubelet) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer k.queue.Close()
	var running sync.WaitGroup
	var mu sync.Mutex
	var errs error
	in := func(f func(context.Context) error) {
		running.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				mu.Lock()
				defer mu.Unlock()
				errs = errors.Join(errs, err)
				cancel()
			}
		})
	}
	k.started = k.o.Clock.Now()
	if err := k.follow(ctx, in); err != nil {
		return err
	}
	k.queue.Add("")
	in(k.keepLease)
	in(k.hear)
	if k.events != nil {
		in(k.record)
	}
	if k.manifests != nil {
		k.readOnce() // before pods of the API are given their places
		in(k.readManifests)
	}
	if k.o.Serve != nil {
		in(func(ctx context.Context) error { return k.o.Serve(ctx, k) })
	}
	k.source.pods.Synced().AfterFunc(k.lookAtAll)
	err := workqueue.Process(ctx, k.queue, k.o.Workers, k.step)
	cancel()
	running.Wait()
	k.tasks.Wait()
	return errors.Join(err, errs)
}

// follow gets the informers, and runs those that are the kubelet's own.
func (k *Kubelet) follow(ctx context.Context, in func(func(context.Context) error)) (err error) {
	factory := k.o.Factory
	if factory == nil {
		factory = &informer.Factory{Options: informer.Options{Clock: k.o.Clock, Logger: k.o.Logger}}
		defer func() {
			if err == nil {
				in(factory.Run)
			}
		}()
	}
	k.source, err = follow(ctx, k.o, factory, k.changed)
	return err
}

// step brings the node, or one pod, to where it should be.
func (k *Kubelet) step(ctx context.Context, uid types.UID) (workqueue.Result, error) {
	if uid == "" {
		return k.nodeStep(ctx)
	}
	return k.podStep(ctx, uid)
}

// hear looks at a pod whenever something has happened to its containers.
func (k *Kubelet) hear(ctx context.Context) error {
	for ctx.Err() == nil {
		err := k.o.Runtime.ContainerEvents(ctx, func(e runtime.Event) {
			if e == (runtime.Event{}) {
				k.lookAtAll()
				return
			}
			k.queue.Add(types.UID(e.PodUID))
		})
		if ctx.Err() == nil {
			k.o.Logger.Warn("no events of the runtime", "node", k.o.Node, "error", err)
		}
		_ = timing.Sleep(ctx, k.o.Clock, time.Second) // it ends with ctx, as the loop does
	}
	return nil
}

// lookAtAll has every pod looked at that is wanted or that something is left of.
func (k *Kubelet) lookAtAll() {
	for _, p := range append(k.source.own.List(), k.statics()...) {
		k.queue.Add(p.UID)
	}
	k.mu.Lock()
	for uid := range k.records {
		k.queue.Add(uid)
	}
	k.mu.Unlock()
	boxes, err := k.o.Runtime.ListPodSandboxes(context.Background())
	if err != nil {
		k.o.Logger.Warn("no list of sandboxes", "node", k.o.Node, "error", err)
	}
	for _, b := range boxes {
		k.queue.Add(types.UID(b.Config.UID))
	}
	for _, uid := range k.dirs() {
		k.queue.Add(uid)
	}
}

// task runs f, which may block, beside the steps, and has the pod looked at when it has returned.
func (k *Kubelet) task(uid types.UID, f func()) {
	k.tasks.Go(func() {
		f()
		k.queue.Add(uid)
	})
}

// host is the address of the node that pods are told.
func (k *Kubelet) host() string {
	for _, a := range k.o.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

// keyOf is where a pod is in the API.
func keyOf(p *corev1.Pod) listwatch.Key { return listwatch.Key{Namespace: p.Namespace, Name: p.Name} }

// event is something to tell users about a pod.
type event struct {
	pod                   *corev1.Pod
	kind, reason, message string
}

// tell tells users of a pod, and drops it when too much is to be told already.
func (k *Kubelet) tell(p *corev1.Pod, kind, reason, message string) {
	if k.events == nil || p == nil {
		return
	}
	select {
	case k.events <- event{p, kind, reason, message}:
	default:
	}
}

// record writes Events.
func (k *Kubelet) record(ctx context.Context) error {
	recorder := kube.NewRecorder(k.o.Cluster, "kubelet", k.o.Clock)
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-k.events:
			within, cancel := context.WithTimeout(ctx, requestTimeout)
			if err := recorder.Event(within, e.pod, e.kind, e.reason, e.message); err != nil && ctx.Err() == nil {
				k.o.Logger.Debug("event not written", "pod", keyOf(e.pod).String(), "reason", e.reason, "error", err)
			}
			cancel()
		}
	}
}
