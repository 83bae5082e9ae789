package kubelet

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

// source is what a kubelet knows of the API: its pods and its node.
type source struct {
	pods  *informer.Informer[*corev1.Pod]
	nodes *informer.Informer[*corev1.Node]
	own   *informer.Overlay[*corev1.Pod]
	byUID *indexer.Index[*corev1.Pod, types.UID]
}

// follow follows the pods of a node, and the node, until ctx is done. Changed hears which pod has changed; nil is
// the node.
func follow(ctx context.Context, o Options, f *informer.Factory, changed func(*corev1.Pod)) (*source, error) {
	s := &source{}
	var err, errs error
	s.pods, err = kube.Follow[*corev1.Pod](o.Cluster, f, kube.Select{Fields: "spec.nodeName=" + o.Node})
	errs = errors.Join(errs, err)
	s.nodes, err = kube.Follow[*corev1.Node](o.Cluster, f, kube.Select{Fields: "metadata.name=" + o.Node})
	if errs = errors.Join(errs, err); errs != nil {
		return nil, errs
	}
	s.own = informer.NewOverlay(s.pods, informer.OverlayOptions{})
	s.byUID, err = indexer.AddIndex(s.pods.Indexer(), "kubelet: uid", indexer.One(func(p *corev1.Pod) types.UID { return p.UID }))
	errs = errors.Join(errs, err)
	_, err = s.pods.AddHandler(ctx, func(_ context.Context, c informer.Change[*corev1.Pod]) {
		if c.Old != nil && c.Old.UID != c.Object.UID {
			changed(c.Old)
		}
		changed(c.Object)
	}, informer.HandlerOptions{Name: "kubelet"})
	errs = errors.Join(errs, err)
	_, err = s.nodes.AddHandler(ctx, func(context.Context, informer.Change[*corev1.Node]) { changed(nil) }, informer.HandlerOptions{Name: "kubelet"})
	return s, errors.Join(errs, err)
}

// pod returns the pod with a UID, with own writes, or nil.
func (s *source) pod(uid types.UID) *corev1.Pod {
	for _, p := range informer.Look(s.own, s.byUID, uid) {
		return p
	}
	return nil
}

// node returns the node of that name, or nil.
func (s *source) node(name string) *corev1.Node {
	n, _ := s.nodes.Indexer().Get(listwatch.Key{Name: name})
	return n
}
