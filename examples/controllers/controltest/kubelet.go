package controltest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// Ready lets a pod run and be ready, as from the world's time.
func Ready(w *World, p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	SetReady(w, p, corev1.ConditionTrue)
}

// SetReady makes a pod ready or not, as from the world's time.
func SetReady(w *World, p *corev1.Pod, is corev1.ConditionStatus) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: is, LastTransitionTime: metav1.NewTime(w.Clock.Now())}}
}

// Kubelet stands in for a scheduler and kubelets from now on: each new pod is put on a node and becomes what begin makes
// of its status, and one that is being deleted ends at once.
func (w *World) Kubelet(begin func(*World, *corev1.Pod)) {
	q := workqueue.New[listwatch.Key](workqueue.Options{Name: "kubelet"})
	pods := Watch[*corev1.Pod](w)
	pods.each(func(c informer.Change[*corev1.Pod]) { q.Add(c.Key) })
	w.run(func(ctx context.Context) error {
		defer q.Close()
		return workqueue.Process(ctx, q, 4, func(ctx context.Context, k listwatch.Key) (workqueue.Result, error) {
			p, ok := pods.informer.Indexer().Get(k)
			if !ok {
				return workqueue.Result{}, nil
			}
			err := w.live(ctx, p, begin)
			if ctx.Err() != nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				err = nil
			}
			return workqueue.Result{}, err
		})
	})
}

// live brings a pod one step on.
func (w *World) live(ctx context.Context, p *corev1.Pod, begin func(*World, *corev1.Pod)) error {
	client, key := kube.For[*corev1.Pod](w.Cluster), listwatch.KeyOf(p)
	switch {
	case p.DeletionTimestamp != nil:
		if ptr.Deref(p.DeletionGracePeriodSeconds, 0) == 0 && len(p.Finalizers) > 0 { // only they keep it
			return nil // without any, a delete was broken off
		}
		o := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(p.UID))}
		return client.Delete(ctx, key, o)
	case p.Spec.NodeName == "":
		return client.Post(ctx, key, "binding", &corev1.Binding{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"},
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"},
		}, nil)
	case p.Status.Phase == corev1.PodPending:
		p = p.DeepCopy()
		if begin(w, p); p.Status.Phase == corev1.PodPending {
			return nil
		}
		_, err := client.UpdateStatus(ctx, p)
		return err
	}
	return nil
}
