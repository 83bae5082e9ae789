package endpointslice

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/controllers/backends"
)

// maxEndpoints is how many endpoints a slice holds.
const maxEndpoints = 100

// plan returns the slices that have to be written so that they hold the endpoints of a service: changed ones, new ones, which
// have no name, and such to be deleted, which have no endpoints.
func plan(s *corev1.Service, pods []*corev1.Pod, own []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	wanted := map[string]*group{}
	for _, p := range pods {
		ports := portsOf(s, p)
		id := portsID(ports)
		if wanted[id] == nil {
			wanted[id] = &group{ports: ports, endpoints: map[types.UID]discoveryv1.Endpoint{}}
		}
		wanted[id].endpoints[p.UID] = endpoint(s, p)
	}
	var writes []*discoveryv1.EndpointSlice
	for _, slice := range own {
		id := portsID(slice.Ports)
		if wanted[id] == nil {
			wanted[id] = &group{ports: slice.Ports}
		}
		wanted[id].existing = append(wanted[id].existing, slice)
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		writes = append(writes, wanted[id].plan(s)...)
	}
	// Deletes come last: when ports change there is no time without endpoints.
	slices.SortStableFunc(writes, func(a, b *discoveryv1.EndpointSlice) int {
		return min(len(b.Endpoints), 1) - min(len(a.Endpoints), 1)
	})
	return writes
}

// group is the endpoints with the same ports.
type group struct {
	ports     []discoveryv1.EndpointPort
	endpoints map[types.UID]discoveryv1.Endpoint
	existing  []*discoveryv1.EndpointSlice
}

// plan leaves endpoints where they are, and puts new ones where there is room: first in slices that are written anyway.
func (g *group) plan(s *corev1.Service) []*discoveryv1.EndpointSlice {
	var changed, same []*discoveryv1.EndpointSlice
	for _, old := range g.existing {
		next := old.DeepCopy()
		next.Labels, next.Endpoints = labelsOf(s), nil
		for _, e := range old.Endpoints {
			uid := podOf(e)
			if now, found := g.endpoints[uid]; found {
				next.Endpoints = append(next.Endpoints, now)
				delete(g.endpoints, uid)
			}
		}
		if equality.Semantic.DeepEqual(old.Endpoints, next.Endpoints) && maps.Equal(old.Labels, next.Labels) {
			same = append(same, next)
		} else {
			changed = append(changed, next)
		}
	}
	left := slices.SortedFunc(maps.Values(g.endpoints), func(a, b discoveryv1.Endpoint) int {
		return strings.Compare(a.TargetRef.Name, b.TargetRef.Name)
	})
	for _, room := range changed {
		left = fill(room, left)
	}
	// The fullest first: fewer slices in the long run.
	slices.SortFunc(same, func(a, b *discoveryv1.EndpointSlice) int { return len(b.Endpoints) - len(a.Endpoints) })
	for _, room := range same {
		if len(left) > 0 && len(room.Endpoints) < maxEndpoints {
			left = fill(room, left)
			changed = append(changed, room)
		}
	}
	for len(left) > 0 {
		made := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.Namespace, GenerateName: s.Name + "-", Labels: labelsOf(s),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, corev1.SchemeGroupVersion.WithKind("Service"))},
			},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: g.ports,
		}
		left = fill(made, left)
		changed = append(changed, made)
	}
	return changed
}

// fill moves endpoints into a slice until it is full, and returns the others.
func fill(s *discoveryv1.EndpointSlice, left []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	n := min(len(left), max(maxEndpoints-len(s.Endpoints), 0))
	s.Endpoints = append(s.Endpoints, left[:n]...)
	return left[n:]
}

// podOf is the pod of an endpoint.
func podOf(e discoveryv1.Endpoint) types.UID {
	if e.TargetRef == nil {
		return ""
	}
	return e.TargetRef.UID
}

// labelsOf are those of the slices of a service: the service's own, and what tells whose they are.
func labelsOf(s *corev1.Service) map[string]string {
	all := maps.Clone(s.Labels)
	if all == nil {
		all = map[string]string{}
	}
	all[discoveryv1.LabelServiceName], all[discoveryv1.LabelManagedBy] = s.Name, manager
	if s.Spec.ClusterIP == corev1.ClusterIPNone {
		all[corev1.IsHeadlessService] = ""
	}
	return all
}

// portsOf are the ports of a service in a pod.
func portsOf(s *corev1.Service, p *corev1.Pod) []discoveryv1.EndpointPort {
	var all []discoveryv1.EndpointPort
	for _, at := range backends.Ports(s, p) {
		all = append(all, discoveryv1.EndpointPort{Name: &at.Name, Protocol: &at.Protocol, Port: &at.Port, AppProtocol: at.App})
	}
	return all
}

// portsID is the same for the same ports.
func portsID(ports []discoveryv1.EndpointPort) string {
	if len(ports) == 0 {
		return ""
	}
	text, _ := json.Marshal(ports) // these can be
	return string(text)
}

// endpoint is what a slice says of a pod.
func endpoint(s *corev1.Service, p *corev1.Pod) discoveryv1.Endpoint {
	serving, going := backends.Ready(p), p.DeletionTimestamp != nil
	e := discoveryv1.Endpoint{
		Addresses: []string{p.Status.PodIP},
		Conditions: discoveryv1.EndpointConditions{
			Ready: ptr.To(s.Spec.PublishNotReadyAddresses || serving && !going), Serving: &serving, Terminating: &going,
		},
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
	}
	if p.Spec.NodeName != "" {
		e.NodeName = &p.Spec.NodeName
	}
	if name := backends.Hostname(s, p); name != "" {
		e.Hostname = &name
	}
	return e
}
