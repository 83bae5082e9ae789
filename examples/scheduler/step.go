package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/scheduler/placement"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// step places and binds the pod under a key.
func (s *scheduler) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	pod, found := s.pods.Indexer().Get(key)
	if !found || !s.waits(pod) {
		return workqueue.Result{}, nil
	}
	node, err := s.nodes.Place(pod)
	if fit := (*placement.FitError)(nil); errors.As(err, &fit) {
		s.sayWhyNot(ctx, pod, fit)
		// Whatever has happened since the attempt began has fired the signal. The error has the key wait all the same.
		return workqueue.Result{Await: fit.Changed, After: s.options.ParkTimeout}, err
	}
	if err != nil {
		return workqueue.Result{}, err
	}
	return workqueue.Result{}, s.bind(ctx, key, pod, node)
}

// bind binds a pod to the node that was chosen. When nobody knows whether it is bound now, it keeps its place, and the
// next attempt asks for the same.
func (s *scheduler) bind(ctx context.Context, key listwatch.Key, pod *corev1.Pod, node string) error {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	err := s.client.Post(ctx, key, "binding", binding, nil)
	switch {
	case err == nil:
		s.options.Logger.Info("bound pod", "pod", key.String(), "node", node)
		if e := s.recorder.Event(ctx, pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned "+key.String()+" to "+node); e != nil {
			s.options.Logger.Debug("told nobody", "pod", key.String(), "error", e)
		}
		return nil
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return s.lookAgain(ctx, key, pod)
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		s.nodes.Forget(pod.UID)
	}
	return err
}

// lookAgain asks the server where a pod is that could not be bound.
func (s *scheduler) lookAgain(ctx context.Context, key listwatch.Key, pod *corev1.Pod) error {
	now, err := s.client.Get(ctx, key)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return err // the place is kept
	case err == nil && now.UID == pod.UID && now.Spec.NodeName != "":
		s.nodes.SetPod(now) // bound by an earlier attempt, or by another
		return nil
	case err == nil && now.UID == pod.UID && now.DeletionTimestamp == nil:
		s.nodes.Forget(pod.UID)
		return errors.New("the server refuses to bind the pod, which is on no node")
	}
	s.nodes.Forget(pod.UID)
	return nil // it goes, or is another one: the cache will tell
}

// sayWhyNot tells users, when it is news, why a pod can't be placed.
func (s *scheduler) sayWhyNot(ctx context.Context, pod *corev1.Pod, why error) {
	c := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why.Error(),
		LastTransitionTime: metav1.NewTime(s.options.Clock.Now()),
	}
	i := slices.IndexFunc(pod.Status.Conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type })
	if i >= 0 {
		if o := pod.Status.Conditions[i]; o.Status == c.Status {
			if o.Reason == c.Reason && o.Message == c.Message {
				return
			}
			c.LastTransitionTime = o.LastTransitionTime
		}
	}
	s.options.Logger.Info("no node for pod", "pod", listwatch.KeyOf(pod).String(), "why", why.Error())
	_, err := s.client.Patch(ctx, listwatch.KeyOf(pod), kube.Patch{
		Type: types.StrategicMergePatchType, Subresource: "status",
		Body: map[string]any{
			"metadata": map[string]any{"uid": pod.UID}, // not on one that has come since under the same name
			"status":   map[string]any{"conditions": []corev1.PodCondition{c}},
		},
	})
	if kube.UnlessBehind(err) == nil {
		err = s.recorder.Event(ctx, pod, corev1.EventTypeWarning, "FailedScheduling", why.Error())
	}
	if err != nil {
		s.options.Logger.Debug("told nobody", "pod", listwatch.KeyOf(pod).String(), "error", err)
	}
}

// wants is all of a pod that decides where it may go, in a form that can be compared.
func wants(p *corev1.Pod) string {
	text, _ := json.Marshal([]any{p.Labels, p.Spec}) // it came as JSON
	return string(text)
}
