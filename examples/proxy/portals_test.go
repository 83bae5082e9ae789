package proxy

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// endpoint is one in a condition, written as letters: r ready, n not ready, s serving, t terminating.
func endpoint(address, conditions string) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{Addresses: []string{address}}
	for _, c := range conditions {
		yes, no := true, false
		switch c {
		case 'r':
			e.Conditions.Ready = &yes
		case 'n':
			e.Conditions.Ready = &no
		case 's':
			e.Conditions.Serving = &yes
		case 't':
			e.Conditions.Terminating = &yes
		}
	}
	return e
}

// slice has endpoints with a port by the name "http".
func slice(port int32, all ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	http := "http"
	return &discoveryv1.EndpointSlice{Endpoints: all, Ports: []discoveryv1.EndpointPort{{Name: &http, Port: &port}}}
}

func ofOwner(s *discoveryv1.EndpointSlice, owner *corev1.Service) *discoveryv1.EndpointSlice {
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("Service"))}
	return s
}

func web(change func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1"}}
	s.Spec.ClusterIP, s.Spec.Ports = "10.0.0.1", []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 30080}}
	change(s)
	return s
}

func TestPortals(t *testing.T) {
	as := func(change func(*corev1.Service)) *corev1.Service { return web(change) }
	plain := as(func(*corev1.Service) {})
	ready := []*discoveryv1.EndpointSlice{slice(8080, endpoint("10.1.0.1", "r"))}
	tests := []struct {
		name    string
		service *corev1.Service
		slices  []*discoveryv1.EndpointSlice
		// want are the portals, and each's endpoints.
		want map[string][]string
	}{
		{"cluster IP and node port", plain, ready,
			map[string][]string{"10.0.0.1:80/TCP": {"10.1.0.1:8080"}, "127.0.0.1:30080/TCP": {"10.1.0.1:8080"}}},
		{"no slices", plain, nil, nil},
		{"headless", as(func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }), ready, nil},
		{"a name elsewhere", as(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }), ready, nil},
		{"another proxy's", as(func(s *corev1.Service) { s.Labels = map[string]string{"service.kubernetes.io/service-proxy-name": "x"} }), ready, nil},
		{"port of another name", as(func(s *corev1.Service) { s.Spec.Ports[0].Name = "https" }), ready, nil},
		{"two families", as(func(s *corev1.Service) {
			s.Spec.ClusterIPs, s.Spec.Ports[0].NodePort = []string{"10.0.0.1", "fd00::1"}, 0
		}), []*discoveryv1.EndpointSlice{slice(1, endpoint("10.1.0.1", "r")), slice(2, endpoint("fd01::1", "r"))},
			map[string][]string{"10.0.0.1:80/TCP": {"10.1.0.1:1"}, "[fd00::1]:80/TCP": {"[fd01::1]:2"}}},
		{"each once, sorted", as(clusterOnly), []*discoveryv1.EndpointSlice{
			slice(1, endpoint("10.1.0.2", "r"), endpoint("10.1.0.1", "")), slice(1, endpoint("10.1.0.2", "r"), endpoint("a name", "r")),
		}, map[string][]string{"10.0.0.1:80/TCP": {"10.1.0.1:1", "10.1.0.2:1"}}},
		{"only ready ones", as(clusterOnly), []*discoveryv1.EndpointSlice{
			slice(1, endpoint("10.1.0.1", "n"), endpoint("10.1.0.2", "r"), endpoint("10.1.0.3", "nst")),
		}, map[string][]string{"10.0.0.1:80/TCP": {"10.1.0.2:1"}}},
		{"ending ones when none is ready", as(clusterOnly), []*discoveryv1.EndpointSlice{
			slice(1, endpoint("10.1.0.1", "n"), endpoint("10.1.0.3", "nst"), endpoint("10.1.0.4", "nt"), endpoint("10.1.0.5", "ns")),
		}, map[string][]string{"10.0.0.1:80/TCP": {"10.1.0.3:1"}}},
		{"ready as they are published so", as(clusterOnly), []*discoveryv1.EndpointSlice{slice(1, endpoint("10.1.0.1", "rt"))},
			map[string][]string{"10.0.0.1:80/TCP": {"10.1.0.1:1"}}},
		{"slices of a predecessor", as(clusterOnly), []*discoveryv1.EndpointSlice{
			ofOwner(slice(1, endpoint("10.1.0.1", "r")), &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: "0"}}),
			ofOwner(slice(1, endpoint("10.1.0.2", "r")), plain),
		}, map[string][]string{"10.0.0.1:80/TCP": {"10.1.0.2:1"}}},
	}
	for _, test := range tests {
		var got map[string][]string
		for at, to := range portals(test.service, test.slices, []netip.Addr{netip.MustParseAddr("127.0.0.1")}) {
			if got == nil {
				got = map[string][]string{}
			}
			for _, e := range to.endpoints {
				got[at.String()] = append(got[at.String()], e.String())
			}
		}
		require.Equal(t, test.want, got, test.name)
	}
}

// clusterOnly is a service without a node port.
func clusterOnly(s *corev1.Service) { s.Spec.Ports[0].NodePort = 0 }
