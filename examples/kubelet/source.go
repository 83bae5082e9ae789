package kubelet

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

// Shared is what many kubelets of one program know of the API by one watch of pods and one of nodes. Make one with [Share].
type Shared struct {
	pods   *informer.Informer[*corev1.Pod]
	nodes  *informer.Informer[*corev1.Node]
	own    *informer.Overlay[*corev1.Pod]
	byUID  *indexer.Index[*corev1.Pod, types.UID]
	byNode *indexer.Index[*corev1.Pod, string]

	mu sync.RWMutex
	// hearers hear of changes by the name of their node. Guarded by mu.
	hearers map[string]func(*corev1.Pod)
}

// Share returns what kubelets share that are run by who may read all pods and nodes, such as an administrator. It follows them
// until ctx is done, by informers of the factory, which somebody else runs.
func Share(ctx context.Context, c *kube.Cluster, f *informer.Factory) (*Shared, error) {
	return share(ctx, c, f, "spec.nodeName!=", "")
}

// share follows the pods and nodes that the field selectors select.
func share(ctx context.Context, c *kube.Cluster, f *informer.Factory, pods, nodes string) (*Shared, error) {
	s := &Shared{hearers: map[string]func(*corev1.Pod){}}
	var err1, err2 error
	s.pods, err1 = kube.Follow[*corev1.Pod](c, f, kube.Select{Fields: pods})
	s.nodes, err2 = kube.Follow[*corev1.Node](c, f, kube.Select{Fields: nodes})
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	s.own = informer.NewOverlay(s.pods, informer.OverlayOptions{})
	s.byUID, err1 = indexer.AddIndex(s.pods.Indexer(), "kubelet: uid", indexer.One(func(p *corev1.Pod) types.UID { return p.UID }))
	s.byNode, err2 = indexer.AddIndex(s.pods.Indexer(), "kubelet: node", indexer.One(func(p *corev1.Pod) string { return p.Spec.NodeName }))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	_, err1 = s.pods.AddHandler(ctx, func(_ context.Context, c informer.Change[*corev1.Pod]) {
		if c.Old != nil && c.Old.UID != c.Object.UID {
			s.tell(c.Old.Spec.NodeName, c.Old)
		}
		s.tell(c.Object.Spec.NodeName, c.Object)
	}, informer.HandlerOptions{Name: "kubelet"})
	_, err2 = s.nodes.AddHandler(ctx, func(_ context.Context, c informer.Change[*corev1.Node]) { s.tell(c.Key.Name, nil) },
		informer.HandlerOptions{Name: "kubelet"})
	return s, errors.Join(err1, err2)
}

// tell tells the kubelet of a node that a pod of it has changed, or with nil the node.
func (s *Shared) tell(node string, p *corev1.Pod) {
	s.mu.RLock()
	changed := s.hearers[node]
	s.mu.RUnlock()
	if changed != nil {
		changed(p)
	}
}

// source is what a kubelet knows of the API: its pods and its node.
type source struct {
	*Shared
	name string
}

// of returns the part of a node, whose kubelet hears of changes by a function until forget is called.
func (s *Shared) of(node string, changed func(*corev1.Pod)) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hearers[node] = changed
	return &source{s, node}
}

// forget ends what of has begun.
func (s *source) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hearers, s.name)
}

// all returns the pods of the node, with own writes.
func (s *source) all() []*corev1.Pod { return informer.Look(s.own, s.byNode, s.name) }

// get returns the pod of the node of that name, with own writes.
func (s *source) get(k listwatch.Key) (*corev1.Pod, bool) {
	p, ok := s.own.Get(k)
	if !ok || p.Spec.NodeName != s.name {
		return nil, false
	}
	return p, true
}

// pod returns the pod of the node with a UID, with own writes, or nil.
func (s *source) pod(uid types.UID) *corev1.Pod {
	for _, p := range informer.Look(s.own, s.byUID, uid) {
		if p.Spec.NodeName == s.name {
			return p
		}
	}
	return nil
}

// node returns the node, or nil.
func (s *source) node() *corev1.Node {
	n, _ := s.nodes.Indexer().Get(listwatch.Key{Name: s.name})
	return n
}
