package admission

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// counted are the kinds whose objects have a name of their own in quotas, beside count/RESOURCE.GROUP that all have.
var counted = map[corev1.ResourceName]bool{
	corev1.ResourceServices: true, corev1.ResourceReplicationControllers: true, corev1.ResourceQuotas: true,
	corev1.ResourceSecrets: true, corev1.ResourceConfigMaps: true,
}

// Usage returns what an object takes of the quotas of its namespace, by the names that quotas have for it. The numbers
// are never negative.
func Usage(k *kinds.Kind, o kinds.Object) corev1.ResourceList {
	count := corev1.ResourceName("count/" + k.GroupResource().String())
	used := corev1.ResourceList{count: one()}
	if name := corev1.ResourceName(k.Resource); k.Group == "" && counted[name] {
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
