package placement

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
)

// amounts are amounts of resources: thousandths of a CPU, bytes, pods, and what else there is.
type amounts struct {
	cpu, memory, pods int64
	other             map[corev1.ResourceName]int64
}

func amountsOf(list corev1.ResourceList) amounts {
	var a amounts
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			a.cpu = q.MilliValue()
		case corev1.ResourceMemory:
			a.memory = q.Value()
		case corev1.ResourcePods:
			a.pods = q.Value()
		default:
			if a.other == nil {
				a.other = map[corev1.ResourceName]int64{}
			}
			a.other[name] = q.Value()
		}
	}
	return a
}

// add adds b so many times. What comes to nothing is left out, so that equal sums are equal.
func (a *amounts) add(b amounts, times int64) {
	a.cpu, a.memory, a.pods = a.cpu+times*b.cpu, a.memory+times*b.memory, a.pods+times*b.pods
	for name, n := range b.other {
		if a.other == nil {
			a.other = map[corev1.ResourceName]int64{}
		}
		if a.other[name] += times * n; a.other[name] == 0 {
			delete(a.other, name)
		}
	}
}

func (a amounts) equal(b amounts) bool {
	return a.cpu == b.cpu && a.memory == b.memory && a.pods == b.pods && maps.Equal(a.other, b.other)
}

// What a container counts in scores that asks for no CPU or memory.
const (
	littleCPU    = 100
	littleMemory = 200 << 20
)

// asked returns what a pod asks for, and what it counts in scores.
func asked(p *corev1.Pod) (asks, shown amounts) {
	asks = amountsOf(resource.PodRequests(p, resource.PodResourcesOptions{}))
	asks.pods = 1
	shown = amountsOf(resource.PodRequests(p, resource.PodResourcesOptions{NonMissingContainerRequests: little}))
	shown.other = nil
	return asks, shown
}

var little = corev1.ResourceList{
	corev1.ResourceCPU:    *quantity.NewMilliQuantity(littleCPU, quantity.DecimalSI),
	corev1.ResourceMemory: *quantity.NewQuantity(littleMemory, quantity.BinarySI),
}

// port is a port of a node.
type port struct {
	ip, protocol string
	number       int32
}

// portsOf returns the ports of its node that a pod takes.
func portsOf(p *corev1.Pod) []port {
	var all []port
	for i := range p.Spec.Containers {
		for _, at := range p.Spec.Containers[i].Ports {
			if at.HostPort != 0 {
				all = append(all, port{cmp.Or(at.HostIP, anyIP), cmp.Or(string(at.Protocol), string(corev1.ProtocolTCP)), at.HostPort})
			}
		}
	}
	return all
}

const anyIP = "0.0.0.0"

// taken says that one of some ports can't be had beside those that are taken.
func taken(wanted []port, by map[port]int) bool {
	return slices.ContainsFunc(wanted, func(w port) bool {
		if w.ip != anyIP {
			return by[w] > 0 || by[port{anyIP, w.protocol, w.number}] > 0
		}
		for t := range by {
			if t.protocol == w.protocol && t.number == w.number {
				return true
			}
		}
		return false
	})
}

// ownerOf returns the UID of what manages a pod, or "".
func ownerOf(p *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		return owner.UID
	}
	return ""
}

// short says what there is too little of for a pod that asks for so much, in order.
func (a amounts) short(asks amounts) []string {
	var short []string
	if a.pods < asks.pods {
		short = append(short, "Too many pods")
	}
	if asks.cpu > 0 && a.cpu < asks.cpu {
		short = append(short, "Insufficient cpu")
	}
	if asks.memory > 0 && a.memory < asks.memory {
		short = append(short, "Insufficient memory")
	}
	for name, n := range asks.other {
		if n > 0 && a.other[name] < n {
			short = append(short, "Insufficient "+string(name))
		}
	}
	slices.SortFunc(short, strings.Compare)
	return short
}
