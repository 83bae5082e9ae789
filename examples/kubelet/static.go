package kubelet

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/manifest"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/podstate"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// readManifests reads the manifests now and then, until ctx is done.
func (k *Kubelet) readManifests(ctx context.Context) error {
	for timing.Sleep(ctx, k.o.Clock, k.o.ManifestPeriod) == nil {
		k.readOnce()
	}
	return nil
}

func (k *Kubelet) readOnce() {
	before := k.manifests.Pods()
	if k.manifests.Read() {
		for _, p := range before {
			k.queue.Add(p.UID)
		}
		k.lookAtAll()
	}
}

// statics are the pods that files say.
func (k *Kubelet) statics() []*corev1.Pod {
	if k.manifests == nil {
		return nil
	}
	return k.manifests.Pods()
}

// static returns the static pod with a UID, or nil.
func (k *Kubelet) static(uid types.UID) *corev1.Pod {
	if k.manifests == nil {
		return nil
	}
	return k.manifests.Pod(uid)
}

// staticNamed returns the static pod of a name, or nil.
func (k *Kubelet) staticNamed(key listwatch.Key) *corev1.Pod {
	if k.manifests == nil {
		return nil
	}
	return k.manifests.Named(key)
}

// staticGone reports whether it is certain that no file says a pod.
func (k *Kubelet) staticGone(uid types.UID) bool {
	return k.manifests == nil || k.manifests.Gone(uid)
}

// replaced reports whether a file says another pod with the name of one that has a sandbox.
func (k *Kubelet) replaced(uid types.UID, boxes []runtime.Sandbox) bool {
	if len(boxes) == 0 {
		return false
	}
	p := k.staticNamed(listwatch.Key{Namespace: boxes[0].Config.Namespace, Name: boxes[0].Config.Name})
	return p != nil && p.UID != uid
}

// changed has a pod looked at, and a static one that has its name; nil is the node, which owns what shows static pods.
func (k *Kubelet) changed(p *corev1.Pod) {
	if p != nil {
		k.queue.Add(p.UID)
		if s := k.staticNamed(keyOf(p)); s != nil {
			k.queue.Add(s.UID)
		}
		return
	}
	k.queue.Add("")
	for _, s := range k.statics() {
		k.queue.Add(s.UID)
	}
}

func isMirror(p *corev1.Pod) bool {
	_, is := manifest.Mirrors(p)
	return is
}

// ofFile reports whether a sandbox is a static pod's.
func ofFile(b *runtime.Sandbox) bool { return b.Config.Annotations[manifest.AnnotationSource] != "" }

// claim takes the name of a static pod for it, and reports whether it has it: not while anything of another is left.
func (k *Kubelet) claim(ctx context.Context, p *corev1.Pod) (bool, error) {
	boxes, err := k.o.Runtime.ListPodSandboxes(ctx)
	if err != nil {
		return false, err
	}
	for i := range boxes {
		if c := boxes[i].Config; ofFile(&boxes[i]) && c.Namespace == p.Namespace && c.Name == p.Name && c.UID != string(p.UID) {
			return false, nil
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names[keyOf(p)] == "" {
		k.names[keyOf(p)] = p.UID
	}
	return k.names[keyOf(p)] == p.UID, nil
}

// release gives back the name of a static pod of which nothing is left, and has looked at who waits for that: the next one,
// or what shows it in the API.
func (k *Kubelet) release(p *corev1.Pod) {
	key := keyOf(p)
	k.mu.Lock()
	if k.names[key] == p.UID {
		delete(k.names, key)
	}
	k.mu.Unlock()
	if next := k.staticNamed(key); next != nil {
		k.queue.Add(next.UID)
	}
	if m, ok := k.source.own.Get(key); ok {
		k.queue.Add(m.UID)
	}
}

// shown is what shows a static pod in the API, or nil.
func (k *Kubelet) shown(p *corev1.Pod) *corev1.Pod {
	m, ok := k.source.own.Get(keyOf(p))
	if !ok {
		return nil
	}
	if uid, _ := manifest.Mirrors(m); uid != p.UID {
		return nil
	}
	return m
}

// asKnown is a static pod with its status as it was worked out last, by an earlier run too if the API shows it, and with
// conditions that others have set.
func (k *Kubelet) asKnown(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.Generation = 1 // as that of what shows it
	if r := k.known(p.UID); r != nil {
		r.mu.Lock()
		p.Status = *r.status.DeepCopy()
		r.mu.Unlock()
	}
	m := k.shown(p)
	if m == nil {
		return p
	}
	if p.Status.Phase == "" {
		p.Status = *m.Status.DeepCopy()
	}
	for _, c := range m.Status.Conditions {
		if !slices.ContainsFunc(p.Status.Conditions, func(own corev1.PodCondition) bool { return own.Type == c.Type }) {
			p.Status.Conditions = append(p.Status.Conditions, c)
		}
	}
	return p
}

// mirror returns what shows a static pod in the API, which is made anew when it is another, or nil when there is none yet.
func (k *Kubelet) mirror(ctx context.Context, p *corev1.Pod) (*corev1.Pod, error) {
	node := k.source.node(k.o.Node)
	if node == nil || !k.source.pods.Synced().Fired() {
		return nil, nil // that they come brings the pod back
	}
	m, ok := k.source.own.Get(keyOf(p))
	if ok && manifest.Shows(m, p, node) {
		return m, nil
	}
	if ok {
		return nil, k.removeMirror(ctx, m) // that it goes brings the pod back
	}
	made, err := k.pods.Create(ctx, manifest.Mirror(p, node))
	if apierrors.IsAlreadyExists(err) {
		return nil, nil // that it comes, or goes, brings the pod back; a namespace that is not there would not
	}
	if err != nil {
		return nil, fmt.Errorf("show %s in the API: %w", keyOf(p), err)
	}
	k.source.own.Wrote(made)
	k.o.Logger.Info("shown in the API", "pod", keyOf(p).String(), "node", k.o.Node)
	return made, nil
}

// showEnd tells the API how a static pod is while it ends, if it is shown there.
func (k *Kubelet) showEnd(ctx context.Context, r *record, v *podstate.View, plan podstate.Plan) error {
	m := k.shown(v.Pod)
	if m == nil || !r.isStatic() || len(v.Pod.Spec.Containers) == 0 { // of an earlier run the names of containers are not known
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := k.write(ctx, m, podstate.Status(v, plan))
	return kube.UnlessBehind(err)
}

// removeMirror deletes what shows a static pod, and no other pod.
func (k *Kubelet) removeMirror(ctx context.Context, m *corev1.Pod) error {
	if !isMirror(m) {
		return nil // one of the API has the name
	}
	o := metav1.NewUIDPreconditions(string(m.UID))
	return kube.UnlessBehind(k.pods.Delete(ctx, keyOf(m), metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: o}))
}

// mirrorStep sees that what shows static pods in the API shows one.
func (k *Kubelet) mirrorStep(ctx context.Context, m *corev1.Pod) (workqueue.Result, error) {
	uid, _ := manifest.Mirrors(m)
	if p := k.staticNamed(keyOf(m)); p != nil {
		k.queue.Add(p.UID)
		return workqueue.Result{}, nil
	}
	s, err := k.observe(ctx, uid)
	if err != nil || len(s.boxes) > 0 || k.known(uid) != nil || !k.staticGone(uid) {
		return workqueue.Result{}, err // what is left of the pod is shown until it has gone
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return workqueue.Result{}, k.removeMirror(ctx, m)
}
