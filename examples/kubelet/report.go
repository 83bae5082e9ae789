package kubelet

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/podstate"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// report tells the API how a pod is when it shows something else, and lets a deleted pod go when nothing of it runs.
func (k *Kubelet) report(ctx context.Context, r *record, v *podstate.View, plan podstate.Plan) (workqueue.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if left := k.settling(r, v, plan); left > 0 {
		return workqueue.Result{After: left}, nil
	}
	object := v.Pod
	status := podstate.Status(v, plan)
	r.mu.Lock()
	r.status = status
	static := r.static
	r.mu.Unlock()
	if static {
		var err error
		if object, err = k.mirror(ctx, v.Pod); object == nil {
			return workqueue.Result{}, err
		}
	}
	object, err := k.write(ctx, object, status)
	if err != nil {
		return workqueue.Result{}, kube.UnlessBehind(err)
	}
	if static || !v.Deleted || !plan.Over || r.deleted == object.ResourceVersion {
		return workqueue.Result{}, nil
	}
	o := metav1.NewUIDPreconditions(string(object.UID))
	err = k.pods.Delete(ctx, keyOf(object), metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: o})
	if err := kube.UnlessBehind(err); err != nil {
		return workqueue.Result{}, err
	}
	r.deleted = object.ResourceVersion // one step at a time has a pod
	k.o.Logger.Info("pod is gone", "pod", keyOf(object).String(), "node", k.o.Node)
	return workqueue.Result{}, nil
}

// write gives a pod in the API another status, and returns the pod as it is then.
func (k *Kubelet) write(ctx context.Context, object *corev1.Pod, status corev1.PodStatus) (*corev1.Pod, error) {
	if equality.Semantic.DeepEqual(status, object.Status) {
		return object, nil
	}
	body, err := difference(corev1.Pod{Status: object.Status}, corev1.Pod{Status: status}, object.UID)
	if err != nil {
		return nil, err
	}
	told, err := k.pods.Patch(ctx, keyOf(object), kube.Patch{Type: types.StrategicMergePatchType, Body: body, Subresource: "status"})
	if err != nil {
		return nil, err
	}
	k.source.own.Wrote(told)
	if status.Phase != object.Status.Phase {
		k.o.Logger.Info("pod is "+string(status.Phase), "pod", keyOf(object).String(), "node", k.o.Node)
	}
	return told, nil
}

// settling is how long the first status of a pod waits for its containers to start: see Options.Settle.
func (k *Kubelet) settling(r *record, v *podstate.View, plan podstate.Plan) time.Duration {
	if len(v.Busy)+len(plan.Start) == 0 || v.Deleted || v.Pod.Status.StartTime != nil {
		return 0
	}
	return r.since.Add(k.o.Settle).Sub(v.Now)
}

// difference is a strategic merge patch between two objects of one type, for the object with a UID alone.
func difference[T any](old, now T, uid types.UID) (map[string]any, error) {
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(now)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, old)
	if err != nil {
		return nil, err
	}
	body := map[string]any{}
	if err := json.Unmarshal(patch, &body); err != nil {
		return nil, err
	}
	body["metadata"] = map[string]any{"uid": uid}
	return body, nil
}
