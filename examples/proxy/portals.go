package proxy

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// address is what a portal listens on. Two services can't have one.
type address struct {
	protocol corev1.Protocol
	netip.AddrPort
}

func (a address) String() string { return fmt.Sprintf("%s/%s", a.AddrPort, a.protocol) }

// LogValue has a log show the protocol, too.
func (a address) LogValue() slog.Value { return slog.StringValue(a.String()) }

// target is what a portal leads to.
type target struct {
	// service is the UID of the service: another one under its name is another target.
	service types.UID
	// sticky is how long a client stays with its endpoint, 0: not at all.
	sticky time.Duration
	// endpoints are sorted, and at least one.
	endpoints []netip.AddrPort
}

// portals returns what there is to listen on for a service, given its endpoint slices. A port without endpoints is not
// among it, so connections to it are refused.
func portals(s *corev1.Service, slices []*discoveryv1.EndpointSlice, nodes []netip.Addr) map[address]target {
	all := map[address]target{}
	if _, other := s.Labels["service.kubernetes.io/service-proxy-name"]; other || s.Spec.Type == corev1.ServiceTypeExternalName {
		return all
	}
	t := target{service: s.UID}
	if s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		t.sticky = time.Duration(corev1.DefaultClientIPServiceAffinitySeconds) * time.Second
		if c := s.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
			t.sticky = time.Duration(*c.ClientIP.TimeoutSeconds) * time.Second
		}
	}
	cluster := addresses(s)
	if cluster == nil {
		return all // headless
	}
	for _, port := range s.Spec.Ports {
		protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
		listen := func(at []netip.Addr, number int32) {
			for _, a := range at {
				if t.endpoints = endpoints(s, slices, port.Name, a.Is4()); number != 0 && len(t.endpoints) > 0 {
					all[address{protocol, netip.AddrPortFrom(a, uint16(number))}] = t
				}
			}
		}
		listen(cluster, port.Port)
		listen(nodes, port.NodePort)
	}
	return all
}

// addresses are a service's own.
func addresses(s *corev1.Service) []netip.Addr {
	all := s.Spec.ClusterIPs
	if len(all) == 0 {
		all = []string{s.Spec.ClusterIP}
	}
	var parsed []netip.Addr
	for _, text := range all {
		if a, err := netip.ParseAddr(text); err == nil {
			parsed = append(parsed, a)
		}
	}
	return parsed
}

// endpoints are where connections to a port of a service go: to what is ready, and when nothing is, to what still serves
// on its way out. Slices of an earlier service under the name don't count.
func endpoints(s *corev1.Service, all []*discoveryv1.EndpointSlice, port string, is4 bool) []netip.AddrPort {
	var ready, ending []netip.AddrPort
	for _, slice := range all {
		if owner := metav1.GetControllerOf(slice); owner != nil && owner.UID != s.UID {
			continue
		}
		at := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return p.Port != nil && value(p.Name, "") == port })
		if at < 0 {
			continue
		}
		for _, e := range slice.Endpoints {
			a, err := netip.ParseAddr(first(e.Addresses))
			if err != nil || a.Is4() != is4 {
				continue
			}
			to := netip.AddrPortFrom(a, uint16(*slice.Ports[at].Port))
			if value(e.Conditions.Ready, true) {
				ready = append(ready, to)
			} else if value(e.Conditions.Serving, false) && value(e.Conditions.Terminating, false) {
				ending = append(ending, to)
			}
		}
	}
	if len(ready) == 0 {
		ready = ending
	}
	slices.SortFunc(ready, netip.AddrPort.Compare)
	return slices.Compact(ready)
}

// value is what p points to, or what nil stands for.
func value[T any](p *T, none T) T {
	if p == nil {
		return none
	}
	return *p
}

// first of the addresses of an endpoint: consumers use no other.
func first(addresses []string) string {
	if len(addresses) == 0 {
		return ""
	}
	return addresses[0]
}
