package podstate

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// Refuse says why a node that has some resources can't hold a pod beside others, or returns nil when it can. What the node
// does not say of itself is not asked of it, but for CPU, memory and the number of pods.
func Refuse(p *corev1.Pod, others []*corev1.Pod, has corev1.ResourceList) *Held {
	if int64(len(others)+1) > has.Pods().Value() {
		return outOf(corev1.ResourcePods, 1, int64(len(others)), has.Pods().Value())
	}
	asks := resource.PodRequests(p, resource.PodResourcesOptions{})
	used := corev1.ResourceList{}
	for _, o := range others {
		for name, q := range resource.PodRequests(o, resource.PodResourcesOptions{}) {
			sum := used[name]
			sum.Add(q)
			used[name] = sum
		}
	}
	for _, name := range inOrder(asks) {
		if _, known := has[name]; !known && name != corev1.ResourceCPU && name != corev1.ResourceMemory {
			continue
		}
		if a, u, h := amount(name, asks), amount(name, used), amount(name, has); a > 0 && a+u > h {
			return outOf(name, a, u, h)
		}
	}
	for _, o := range others {
		if portsMeet(p, o) {
			return &Held{Reason: "NodePorts", Message: "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"}
		}
	}
	return nil
}

func outOf(name corev1.ResourceName, asks, used, has int64) *Held {
	return &Held{Reason: "OutOf" + string(name), Message: fmt.Sprintf(
		"Pod was rejected: Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, asks, used, has)}
}

// inOrder names resources, CPU and memory first.
func inOrder(list corev1.ResourceList) []corev1.ResourceName {
	var names []corev1.ResourceName
	for name := range list {
		names = append(names, name)
	}
	rank := func(n corev1.ResourceName) int {
		return slices.Index([]corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceCPU}, n)
	}
	slices.SortFunc(names, func(a, b corev1.ResourceName) int { return cmp.Or(rank(b)-rank(a), cmp.Compare(a, b)) })
	return names
}

// amount is how much there is of a resource: of CPU, thousandths.
func amount(name corev1.ResourceName, of corev1.ResourceList) int64 {
	q := of[name]
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// portsMeet reports whether two pods ask for the same port of their node.
func portsMeet(a, b *corev1.Pod) bool {
	const everywhere = "0.0.0.0"
	for _, p := range hostPorts(a) {
		for _, q := range hostPorts(b) {
			pIP, qIP := cmp.Or(p.HostIP, everywhere), cmp.Or(q.HostIP, everywhere)
			if p.HostPort == q.HostPort && cmp.Or(p.Protocol, corev1.ProtocolTCP) == cmp.Or(q.Protocol, corev1.ProtocolTCP) &&
				(pIP == qIP || pIP == everywhere || qIP == everywhere) {
				return true
			}
		}
	}
	return false
}

func hostPorts(p *corev1.Pod) (all []corev1.ContainerPort) {
	for _, of := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range of {
			if c := &of[i]; isMain(&p.Spec, c.Name) || Sidecar(c) {
				all = append(all, c.Ports...)
			}
		}
	}
	return slices.DeleteFunc(all, func(c corev1.ContainerPort) bool { return c.HostPort == 0 })
}
