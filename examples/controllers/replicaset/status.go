package replicaset

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/owned"
	"github.com/seed3bce33ad/listwatch/informer"
)

// status returns how the pods of a set are, and after which time that will be something else without anybody's doing; 0:
// never. problem is what has gone wrong in making and deleting them.
func (c *controller[T]) status(set T, v view, pods []*corev1.Pod, problem error) (appsv1.ReplicaSetStatus, time.Duration) {
	s := appsv1.ReplicaSetStatus{Replicas: int32(len(pods)), ObservedGeneration: set.GetGeneration()}
	labelled := labels.SelectorFromSet(v.template.Labels)
	again := time.Duration(0)
	for _, p := range pods {
		if labelled.Matches(labels.Set(p.Labels)) {
			s.FullyLabeledReplicas++
		}
		since, ready := owned.ReadySince(p)
		if !ready {
			continue
		}
		s.ReadyReplicas++
		left := since.Add(time.Duration(v.minReadySeconds) * time.Second).Sub(c.clock.Now())
		switch {
		case v.minReadySeconds == 0 || left <= 0:
			s.AvailableReplicas++
		case again == 0 || left < again:
			again = left
		}
	}
	s.Conditions = c.conditions(v, int32(len(pods)), problem)
	return s, again
}

// conditions returns the conditions with the one about failures as it is now.
func (c *controller[T]) conditions(v view, pods int32, problem error) []appsv1.ReplicaSetCondition {
	failing := func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure }
	at := slices.IndexFunc(v.status.Conditions, failing)
	switch {
	case problem == nil:
		return slices.DeleteFunc(slices.Clone(v.status.Conditions), failing)
	case at >= 0:
		return v.status.Conditions
	}
	reason := "FailedCreate"
	if pods > v.replicas {
		reason = "FailedDelete"
	}
	return append(slices.Clone(v.status.Conditions), appsv1.ReplicaSetCondition{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: reason, Message: problem.Error(),
		LastTransitionTime: metav1.NewTime(c.clock.Now()),
	})
}

// matching returns the keys of the sets in a pod's namespace whose selector matches it.
func (k kind[T]) matching(sets *informer.Informer[T], p *corev1.Pod) (keys []listwatch.Key) {
	for key, set := range sets.Indexer().All() {
		if key.Namespace != p.Namespace {
			continue
		}
		if v, err := k.view(set); err == nil && !v.selector.Empty() && v.selector.Matches(labels.Set(p.Labels)) {
			keys = append(keys, key)
		}
	}
	return keys
}
