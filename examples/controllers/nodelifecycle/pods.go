package nodelifecycle

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// movePods says of the pods of a node that is not ready that they aren't either, and takes away those whose time is
// over. It returns when that of the next one is; 0: never.
func (c *controller) movePods(ctx context.Context, node *corev1.Node) (next time.Duration, err error) {
	if isReady(node) == corev1.ConditionTrue {
		return 0, nil
	}
	for key, pod := range c.byNode.All(node.Name) {
		if isReady(node) != "" && podReady(pod) == corev1.ConditionTrue {
			err = errors.Join(err, c.unready(ctx, key, pod))
		}
		left, goes := c.left(node, pod)
		switch {
		case !goes || pod.DeletionTimestamp != nil:
		case left <= 0:
			err = errors.Join(err, c.evict(ctx, key, pod, node))
		case next == 0 || left < next:
			next = left
		}
	}
	return next, err
}

func podReady(pod *corev1.Pod) corev1.ConditionStatus {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status
		}
	}
	return ""
}

// unready writes that a pod is not ready. Its kubelet will say otherwise when it is back.
func (c *controller) unready(ctx context.Context, key listwatch.Key, pod *corev1.Pod) error {
	_, err := kube.For[*corev1.Pod](c.env.Cluster).Patch(ctx, key, kube.Patch{
		Type: types.StrategicMergePatchType, Subresource: "status",
		Body: map[string]any{
			"metadata": map[string]any{"uid": pod.UID},
			"status": map[string]any{"conditions": []corev1.PodCondition{{
				Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NodeNotReady", LastTransitionTime: metav1.NewTime(c.env.Clock.Now()),
			}}},
		},
	})
	return kube.UnlessBehind(err)
}

// left returns how long a pod may still stay for the taints of its node, and whether it has to go at all.
func (c *controller) left(node *corev1.Node, pod *corev1.Pod) (left time.Duration, goes bool) {
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectNoExecute || !isOurs(taint) || taint.TimeAdded == nil {
			continue
		}
		stays, forEver := c.tolerates(pod, taint)
		if forEver {
			continue
		}
		this := stays - c.env.Clock.Since(taint.TimeAdded.Time)
		if !goes || this < left {
			left = this
		}
		goes = true
	}
	return left, goes
}

// tolerates returns how long a pod stays where there is a taint.
func (c *controller) tolerates(pod *corev1.Pod, taint corev1.Taint) (stays time.Duration, forEver bool) {
	var tolerated []time.Duration
	for _, t := range pod.Spec.Tolerations {
		fits := (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == taint.Key || t.Key == "" && t.Operator == corev1.TolerationOpExists)
		switch {
		case !fits:
		case t.TolerationSeconds == nil:
			return 0, true
		default:
			tolerated = append(tolerated, max(0, time.Duration(*t.TolerationSeconds)*time.Second))
		}
	}
	if tolerated == nil {
		return c.o.Tolerated, false
	}
	return slices.Min(tolerated), false
}

func (c *controller) evict(ctx context.Context, key listwatch.Key, pod *corev1.Pod, node *corev1.Node) error {
	err := kube.For[*corev1.Pod](c.env.Cluster).Delete(ctx, key, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	if err == nil {
		c.env.Logger.Info("evicted pod", "pod", key.String(), "node", node.Name)
	}
	return kube.UnlessBehind(err)
}

// orphaned deletes what is bound to a node that is no more. It waits for the grace, as the node may come again, and asks
// the server, as the cache of nodes may be behind that of pods.
func (c *controller) orphaned(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	if c.byNode.Len(key.Name) == 0 {
		c.forget(key.Name)
		return workqueue.Result{}, nil
	}
	since := c.lastHeard(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: key.Name}})
	if left := c.o.Grace - c.env.Clock.Since(since); left > 0 {
		return workqueue.Result{After: left}, nil
	}
	if _, err := c.writer.Get(ctx, key); !apierrors.IsNotFound(err) {
		return workqueue.Result{After: c.o.Grace}, err
	}
	var errs []error
	for at, pod := range c.byNode.All(key.Name) {
		err := kube.For[*corev1.Pod](c.env.Cluster).Delete(ctx, at, metav1.DeleteOptions{
			Preconditions: metav1.NewUIDPreconditions(string(pod.UID)), GracePeriodSeconds: ptr.To[int64](0),
		})
		if err == nil {
			c.env.Logger.Info("deleted pod of a node that is no more", "pod", at.String(), "node", key.Name)
		}
		errs = append(errs, kube.UnlessBehind(err))
	}
	return workqueue.Result{}, errors.Join(errs...)
}
