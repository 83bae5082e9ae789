//lint:file-ignore SA1019 what is deprecated is what this package is for

package endpoints

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/controllers/backends"
)

// maxAddresses is how many addresses Endpoints hold.
const maxAddresses = 1000

// endpointsOf are the Endpoints of a service with these pods. What is equal is in the same order.
func endpointsOf(s *corev1.Service, pods []*corev1.Pod) *corev1.Endpoints {
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: maps.Clone(s.Labels)}}
	if e.Labels == nil {
		e.Labels = map[string]string{}
	}
	e.Labels[managedBy] = manager
	if s.Spec.ClusterIP == corev1.ClusterIPNone {
		e.Labels[corev1.IsHeadlessService] = ""
	}
	pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	ready := func(p *corev1.Pod) bool { return backends.Ready(p) || s.Spec.PublishNotReadyAddresses }
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { // the ready ones first: they are kept when there are too many
		if ready(a) != ready(b) {
			if ready(a) {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	if len(pods) > maxAddresses {
		pods = pods[:maxAddresses]
		e.Annotations = map[string]string{corev1.EndpointsOverCapacity: "truncated"}
	}
	subsets := map[string]*corev1.EndpointSubset{}
	for _, p := range pods {
		ports := portsOf(s, p)
		if len(ports) == 0 && len(s.Spec.Ports) > 0 {
			continue // it has none of the ports
		}
		id, _ := json.Marshal(ports) // these can be
		subset := subsets[string(id)]
		if subset == nil {
			subset = &corev1.EndpointSubset{Ports: ports}
			subsets[string(id)] = subset
		}
		if a := addressOf(s, p); ready(p) {
			subset.Addresses = append(subset.Addresses, a)
		} else {
			subset.NotReadyAddresses = append(subset.NotReadyAddresses, a)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(subsets)) {
		e.Subsets = append(e.Subsets, *subsets[id])
	}
	return e
}

func portsOf(s *corev1.Service, p *corev1.Pod) []corev1.EndpointPort {
	var all []corev1.EndpointPort
	for _, at := range backends.Ports(s, p) {
		all = append(all, corev1.EndpointPort{Name: at.Name, Port: at.Port, Protocol: at.Protocol, AppProtocol: at.App})
	}
	return all
}

func addressOf(s *corev1.Service, p *corev1.Pod) corev1.EndpointAddress {
	a := corev1.EndpointAddress{IP: p.Status.PodIP, Hostname: backends.Hostname(s, p),
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}}
	if p.Spec.NodeName != "" {
		a.NodeName = &p.Spec.NodeName
	}
	return a
}
