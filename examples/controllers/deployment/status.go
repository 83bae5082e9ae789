package deployment

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// status returns how the deployment is, and after which time its deadline is over; 0: there is none to wait for.
func (c *controller) status(r *rollout, collisions *int32) (appsv1.DeploymentStatus, time.Duration) {
	old := r.d.Status
	s := appsv1.DeploymentStatus{
		ObservedGeneration: r.d.Generation, CollisionCount: collisions, Conditions: slices.Clone(old.Conditions),
	}
	wanted := size(r.now)
	add := func(set *appsv1.ReplicaSet) {
		s.Replicas += set.Status.Replicas
		s.ReadyReplicas += set.Status.ReadyReplicas
		s.AvailableReplicas += set.Status.AvailableReplicas
	}
	for _, set := range r.old {
		add(set)
		wanted += size(set)
	}
	if r.now != nil {
		add(r.now)
		s.UpdatedReplicas = r.now.Status.Replicas
	}
	s.UnavailableReplicas = max(wanted-s.AvailableReplicas, 0)
	available := condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable",
		"Deployment has minimum availability.")
	if s.AvailableReplicas < r.replicas-r.missing {
		available = condition(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable",
			"Deployment does not have minimum availability.")
	}
	c.put(&s, available, false)
	return s, c.progress(r, &s)
}

func condition(t appsv1.DeploymentConditionType, is corev1.ConditionStatus, reason, message string) appsv1.DeploymentCondition {
	return appsv1.DeploymentCondition{Type: t, Status: is, Reason: reason, Message: message}
}

// find returns a condition; the zero value when there is none.
func find(s *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}

// put puts a condition into a status. Its times stay when it says what it said before, unless there was progress.
func (c *controller) put(s *appsv1.DeploymentStatus, n appsv1.DeploymentCondition, moved bool) {
	now, before := metav1.NewTime(c.clock.Now().Truncate(time.Second)), find(s, n.Type)
	n.LastTransitionTime, n.LastUpdateTime = now, now
	if before.Status == n.Status && !before.LastTransitionTime.IsZero() {
		n.LastTransitionTime = before.LastTransitionTime
		if before.Reason == n.Reason && !moved {
			n.LastUpdateTime = before.LastUpdateTime
		}
	}
	at := slices.IndexFunc(s.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == n.Type })
	if at < 0 {
		s.Conditions = append(s.Conditions, n)
		return
	}
	s.Conditions[at] = n
}

// progress writes into a status how far the rollout has come, and returns how long it may still go without moving.
func (c *controller) progress(r *rollout, s *appsv1.DeploymentStatus) time.Duration {
	deadline := ptr.Deref(r.d.Spec.ProgressDeadlineSeconds, 600)
	old, before := &r.d.Status, find(s, appsv1.DeploymentProgressing)
	say := func(is corev1.ConditionStatus, moved bool, reason, format string) {
		about := fmt.Sprintf("Deployment %q", r.d.Name)
		if r.now != nil {
			about = fmt.Sprintf("ReplicaSet %q", r.now.Name)
		}
		c.put(s, condition(appsv1.DeploymentProgressing, is, reason, fmt.Sprintf(format, about)), moved)
	}
	complete := r.now != nil && s.UpdatedReplicas == r.replicas && s.Replicas == r.replicas && s.AvailableReplicas == r.replicas
	moved := s.UpdatedReplicas > old.UpdatedReplicas || s.Replicas-s.UpdatedReplicas < old.Replicas-old.UpdatedReplicas ||
		s.ReadyReplicas > old.ReadyReplicas || s.AvailableReplicas > old.AvailableReplicas
	switch {
	case r.d.Spec.Paused:
		if before.Reason != "DeploymentPaused" {
			c.put(s, condition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentPaused", "Deployment is paused"), true)
		}
		return 0
	case complete:
		say(corev1.ConditionTrue, false, "NewReplicaSetAvailable", "%s has successfully progressed.")
		return 0
	case before.Reason == "DeploymentPaused":
		c.put(s, condition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed"), true)
	case before.Reason == "":
		say(corev1.ConditionTrue, true, "NewReplicaSetCreated", "%s is progressing.")
	case before.Reason == "NewReplicaSetAvailable" && r.now != nil && old.ObservedGeneration == r.d.Generation:
		return 0 // it was complete once: pods that fail later are no failure of the rollout
	case moved, before.Reason == "NewReplicaSetAvailable":
		say(corev1.ConditionTrue, true, "ReplicaSetUpdated", "%s is progressing.")
	}
	left := find(s, appsv1.DeploymentProgressing).LastUpdateTime.Add(time.Duration(deadline) * time.Second).Sub(c.clock.Now())
	if left > 0 {
		return left
	}
	say(corev1.ConditionFalse, false, "ProgressDeadlineExceeded", "%s has timed out progressing.")
	return 0
}
