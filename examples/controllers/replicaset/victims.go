package replicaset

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/controllers/owned"
)

// costAnnotation says how dear a pod is: a cheaper one goes first.
const costAnnotation = "controller.kubernetes.io/pod-deletion-cost"

// spare orders pods by what is lost with them, least first: those that run nowhere, those that aren't up, those that
// aren't ready, those that were said to be cheap, those that are ready for a shorter time, those that were restarted more
// often, and the newer ones.
func (c *controller[T]) spare(a, b *corev1.Pod) int {
	sinceA, readyA := owned.ReadySince(a)
	sinceB, readyB := owned.ReadySince(b)
	order := cmp.Or(
		first(a.Spec.NodeName == "", b.Spec.NodeName == ""),
		cmp.Compare(up(a), up(b)),
		first(!readyA, !readyB),
		cmp.Compare(cost(a), cost(b)),
	)
	if order == 0 && readyA && readyB {
		order = sinceB.Compare(sinceA)
	}
	return cmp.Or(order,
		cmp.Compare(restarts(b), restarts(a)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// first puts what is so before what isn't.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// up says how far a pod has come.
func up(p *corev1.Pod) int {
	switch p.Status.Phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	}
	return 0
}

func cost(p *corev1.Pod) int32 {
	cost, _ := strconv.ParseInt(p.Annotations[costAnnotation], 10, 32)
	return int32(cost)
}

func restarts(p *corev1.Pod) (most int32) {
	for _, s := range p.Status.ContainerStatuses {
		most = max(most, s.RestartCount)
	}
	return most
}
