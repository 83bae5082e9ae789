package kinds

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// HasClusterIP reports whether a service has an address of the cluster: headless ones and names of something outside
// have none.
func HasClusterIP(s *corev1.Service) bool {
	return s.Spec.Type != corev1.ServiceTypeExternalName && s.Spec.ClusterIP != corev1.ClusterIPNone
}

// HasNodePorts reports whether a service has a port of all nodes for each of its own.
func HasNodePorts(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort ||
		s.Spec.Type == corev1.ServiceTypeLoadBalancer && ptr.Deref(s.Spec.AllocateLoadBalancerNodePorts, true)
}

// The beginnings of what services claim.
const (
	// ClaimedIPs is before an address.
	ClaimedIPs = "serviceips/"
	// ClaimedPorts is before a port of the nodes.
	ClaimedPorts = "servicenodeports/"
)

// serviceClaims are the addresses and the ports of the nodes that a service has.
func serviceClaims(s *corev1.Service) []string {
	claims := sets.New[string]()
	if HasClusterIP(s) {
		for _, ip := range s.Spec.ClusterIPs {
			claims.Insert(ClaimedIPs + ip)
		}
	}
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 {
			claims.Insert(ClaimedPorts + strconv.Itoa(int(p.NodePort)))
		}
	}
	return sets.List(claims)
}

// prepareService brings the two fields for the address together, and gives an update what it leaves out and has not
// been told to give up. What is still missing is for who has the addresses.
func prepareService(s, old *corev1.Service) {
	n := &s.Spec
	if old != nil {
		o := &old.Spec
		if n.Type == corev1.ServiceTypeExternalName && o.Type != n.Type && n.ClusterIP == o.ClusterIP {
			n.ClusterIP, n.ClusterIPs, n.IPFamilies, n.IPFamilyPolicy = "", nil, nil, nil
		}
		if HasClusterIP(s) && HasClusterIP(old) && n.ClusterIP == "" && len(n.ClusterIPs) == 0 {
			n.ClusterIP, n.ClusterIPs = o.ClusterIP, slices.Clone(o.ClusterIPs)
		}
		if n.ClusterIP != o.ClusterIP && slices.Equal(n.ClusterIPs, o.ClusterIPs) {
			n.ClusterIPs = nil
		}
		keepNodePorts(s, old)
	}
	switch {
	case n.Type == corev1.ServiceTypeExternalName:
	case n.ClusterIP != "" && len(n.ClusterIPs) == 0:
		n.ClusterIPs = []string{n.ClusterIP}
	case n.ClusterIP == "" && len(n.ClusterIPs) > 0:
		n.ClusterIP = n.ClusterIPs[0]
	}
}

// keepNodePorts gives ports that say nothing the port of the nodes that they had, and takes it from a service that
// has none any more.
func keepNodePorts(s, old *corev1.Service) {
	type key struct {
		protocol corev1.Protocol
		port     int32
	}
	had := map[key]int32{}
	for _, p := range old.Spec.Ports {
		had[key{p.Protocol, p.Port}] = p.NodePort
	}
	used := sets.New[int32]()
	for _, p := range s.Spec.Ports {
		used.Insert(p.NodePort)
	}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		before := had[key{p.Protocol, p.Port}]
		switch {
		case HasNodePorts(s) && p.NodePort == 0 && !used.Has(before):
			p.NodePort = before
		case !HasNodePorts(s) && HasNodePorts(old) && p.NodePort == before:
			p.NodePort = 0
		}
	}
}

// checkAddresses checks what a service says of its addresses and ports of the nodes.
func checkAddresses(s *corev1.Service) field.ErrorList {
	var errs field.ErrorList
	ips := spec("clusterIPs")
	switch {
	case s.Spec.Type == corev1.ServiceTypeExternalName && len(s.Spec.ClusterIPs) > 0:
		errs = append(errs, field.Forbidden(ips, "may not be set when `type` is 'ExternalName'"))
	case s.Spec.Type == corev1.ServiceTypeExternalName && s.Spec.ClusterIP != "":
		errs = append(errs, field.Forbidden(spec("clusterIP"), "may not be set when `type` is 'ExternalName'"))
	case s.Spec.ClusterIP == corev1.ClusterIPNone && s.Spec.Type != corev1.ServiceTypeClusterIP && s.Spec.Type != corev1.ServiceTypeExternalName:
		errs = append(errs, field.Invalid(ips.Index(0), s.Spec.ClusterIP, fmt.Sprintf("may not be set to 'None' for %s services", s.Spec.Type)))
	case len(s.Spec.ClusterIPs) > 0 && s.Spec.ClusterIPs[0] != s.Spec.ClusterIP:
		errs = append(errs, field.Invalid(ips, s.Spec.ClusterIPs, "first value must match `clusterIP`"))
	}
	type key struct {
		protocol corev1.Protocol
		port     int32
	}
	seen := sets.New[key]()
	for i, p := range s.Spec.Ports {
		at := spec("ports").Index(i).Child("nodePort")
		switch {
		case p.NodePort == 0:
		case !HasNodePorts(s) && s.Spec.Type != corev1.ServiceTypeLoadBalancer:
			errs = append(errs, field.Forbidden(at, fmt.Sprintf("may not be used when `type` is '%s'", s.Spec.Type)))
		case seen.Has(key{p.Protocol, p.NodePort}):
			errs = append(errs, field.Duplicate(at, p.NodePort))
		}
		seen.Insert(key{p.Protocol, p.NodePort})
	}
	return errs
}

func changeService(next, old *corev1.Service) field.ErrorList {
	if old.Spec.Type == corev1.ServiceTypeExternalName || next.Spec.Type == corev1.ServiceTypeExternalName ||
		next.Spec.ClusterIP == old.Spec.ClusterIP {
		return nil
	}
	return field.ErrorList{field.Invalid(spec("clusterIPs").Index(0), next.Spec.ClusterIPs, "may not change once set")}
}
