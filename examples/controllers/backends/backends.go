// Package backends finds the pods behind services, and the services of pods: what the controllers of endpoints and of endpoint
// slices have in common.
//
// # Usage
//
//	f, err := backends.New(env, "endpointslice")
//	...
//	control.Of(f.Services, nil), control.Of(f.Pods, f.ServicesOf)
//	...
//	for _, p := range f.PodsOf(service) {
//		ports := backends.Ports(service, p)
//
// # Guarantees
//
//  1. A pod leads to the services that select it, and a service to the pods that it selects, by indexes: others are not
//     looked at but for those that share a label. (TestRandom in package endpointslice)
//  2. Ports by name are found in each pod. (TestNamedPorts in package endpointslice)
//
// # Concurrency
//
// Everything is safe for concurrent use. Pods are shared and must not be changed.
package backends

import (
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

// Finder finds pods and services by each other. Make one with [New].
type Finder struct {
	// Services and Pods are the informers that it looks into.
	Services *informer.Informer[*corev1.Service]
	Pods     *informer.Informer[*corev1.Pod]

	// byLabel has the pods by each of their labels, and bySelector the services by the first label that they select by.
	byLabel    *indexer.Index[*corev1.Pod, label]
	bySelector *indexer.Index[*corev1.Service, label]
}

// label is one that an object in a namespace has.
type label struct{ namespace, key, value string }

// New returns a finder for the controller of that name.
func New(env control.Env, name string) (*Finder, error) {
	f := &Finder{}
	var err1, err2 error
	f.Services, err1 = kube.Follow[*corev1.Service](env.Cluster, env.Factory, kube.Select{})
	f.Pods, err2 = kube.Follow[*corev1.Pod](env.Cluster, env.Factory, kube.Select{})
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	f.byLabel, err1 = indexer.AddIndex(f.Pods.Indexer(), name+": labels", func(p *corev1.Pod) []label {
		all := make([]label, 0, len(p.Labels))
		for k, v := range p.Labels {
			all = append(all, label{p.Namespace, k, v})
		}
		return all
	})
	f.bySelector, err2 = indexer.AddIndex(f.Services.Indexer(), name+": selector", func(s *corev1.Service) []label {
		if len(s.Spec.Selector) == 0 {
			return nil
		}
		first := slices.Min(slices.Collect(maps.Keys(s.Spec.Selector)))
		return []label{{s.Namespace, first, s.Spec.Selector[first]}}
	})
	return f, errors.Join(err1, err2)
}

// ServicesOf returns the keys of the services that select a pod.
func (f *Finder) ServicesOf(p *corev1.Pod) []listwatch.Key {
	var keys []listwatch.Key
	for k, v := range p.Labels {
		for key, s := range f.bySelector.All(label{p.Namespace, k, v}) {
			if labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(p.Labels)) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Selects tells whether a service has pods that are to be found: it has a selector, and isn't another name of something.
func Selects(s *corev1.Service) bool {
	return len(s.Spec.Selector) > 0 && s.Spec.Type != corev1.ServiceTypeExternalName
}

// PodsOf returns the pods that a service leads to: those that it selects and that have an address and have not ended.
func (f *Finder) PodsOf(s *corev1.Service) []*corev1.Pod {
	if !Selects(s) {
		return nil
	}
	var rarest label
	least := -1
	for k, v := range s.Spec.Selector {
		l := label{s.Namespace, k, v}
		if n := f.byLabel.Len(l); least < 0 || n < least {
			rarest, least = l, n
		}
	}
	selector := labels.SelectorFromSet(s.Spec.Selector)
	return slices.DeleteFunc(f.byLabel.Get(rarest), func(p *corev1.Pod) bool {
		return p.Status.PodIP == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed ||
			!selector.Matches(labels.Set(p.Labels))
	})
}

// Ready tells whether a pod says that it can be asked.
func Ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Port is where a port of a service leads to in a pod.
type Port struct {
	Name     string
	Protocol corev1.Protocol
	Port     int32
	// App is what is spoken there; nil when the service doesn't say.
	App *string
}

// Ports returns where the ports of a service lead to in a pod. One whose name the pod doesn't know is left out.
func Ports(s *corev1.Service, p *corev1.Pod) []Port {
	var all []Port
	for i := range s.Spec.Ports {
		at := &s.Spec.Ports[i]
		n := at.TargetPort.IntVal
		switch {
		case at.TargetPort.Type == intstr.String:
			n = named(p, at.TargetPort.StrVal, at.Protocol)
		case n == 0:
			n = at.Port
		}
		if n != 0 {
			all = append(all, Port{at.Name, at.Protocol, n, at.AppProtocol})
		}
	}
	return all
}

// named returns the port of that name in a pod, or 0.
func named(p *corev1.Pod, name string, protocol corev1.Protocol) int32 {
	for _, c := range p.Spec.Containers {
		for _, at := range c.Ports {
			if at.Name == name && (at.Protocol == protocol || at.Protocol == "" && protocol == corev1.ProtocolTCP) {
				return at.ContainerPort
			}
		}
	}
	return 0
}

// Hostname returns the name that a pod has below that of a service; "" when it has none.
func Hostname(s *corev1.Service, p *corev1.Pod) string {
	if p.Spec.Subdomain != s.Name {
		return ""
	}
	return p.Spec.Hostname
}
