// Package usage says what objects take of the quotas of their namespace: to those who charge quotas, and to those who count
// anew.
//
// # Guarantees
//
//  1. It knows what the API's quotas know: counts of objects, and what containers ask for. (TestUsage in package admission)
//  2. Scopes choose pods. (TestScopes in package admission)
//
// # Concurrency
//
// The functions only read.
package usage

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"
)

// counted are the kinds whose objects have a name of their own in quotas, beside count/RESOURCE.GROUP that all have.
var counted = map[corev1.ResourceName]bool{
	corev1.ResourceServices: true, corev1.ResourceReplicationControllers: true, corev1.ResourceQuotas: true,
	corev1.ResourceSecrets: true, corev1.ResourceConfigMaps: true,
}

// Of returns what an object of a resource takes of the quotas of its namespace, by the names that quotas have for it. The
// numbers are never negative. Pods and services must be whole; of others nothing is looked at.
func Of(r schema.GroupResource, o any) corev1.ResourceList {
	used := corev1.ResourceList{corev1.ResourceName("count/" + r.String()): one()}
	if name := corev1.ResourceName(r.Resource); r.Group == "" && counted[name] {
		used[name] = one()
	}
	switch o := o.(type) {
	case *corev1.Pod:
		addPod(used, o)
	case *corev1.Service:
		addService(used, o)
	}
	return used
}

func one() resource.Quantity { return *resource.NewQuantity(1, resource.DecimalSI) }

// addPod adds what a pod uses beside the place for its object, until it has ended.
func addPod(used corev1.ResourceList, p *corev1.Pod) {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return
	}
	used[corev1.ResourcePods] = one()
	for name, q := range podresource.PodRequests(p, podresource.PodResourcesOptions{}) {
		used[corev1.DefaultResourceRequestsPrefix+name] = q
		if native(name) {
			used[name] = q
		}
	}
	for name, q := range podresource.PodLimits(p, podresource.PodResourcesOptions{}) {
		if native(name) {
			used["limits."+name] = q
		}
	}
}

// native reports whether a resource is one that every node has.
func native(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/")
}

// addService adds what a service takes outside of the cluster.
func addService(used corev1.ResourceList, s *corev1.Service) {
	ports := int64(0)
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
		ports = int64(len(s.Spec.Ports))
	case corev1.ServiceTypeLoadBalancer:
		used[corev1.ResourceServicesLoadBalancers] = one()
		for _, p := range s.Spec.Ports {
			if p.NodePort != 0 || ptr.Deref(s.Spec.AllocateLoadBalancerNodePorts, true) {
				ports++
			}
		}
	}
	if ports > 0 {
		used[corev1.ResourceServicesNodePorts] = *resource.NewQuantity(ports, resource.DecimalSI)
	}
}
