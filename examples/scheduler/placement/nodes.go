package placement

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
)

// Profile is how one of the nodes that will do is chosen.
type Profile int

const (
	// Balanced prefers nodes with much room, few pods of the same owner, and what the pod prefers.
	Balanced Profile = iota
	// RoundRobin takes the next node that will do.
	RoundRobin
)

// Nodes is what is known of the nodes of a cluster and of the pods on them. Make one with [New].
type Nodes struct {
	profile Profile

	mu sync.Mutex
	// The following are guarded by mu.
	byName map[string]*node
	// order are the nodes that pods can go to, in the order in which they came; next is where the next attempt begins.
	order []*node
	next  int
	pods  map[types.UID]*placed
	// byNamespace and apart are the same pods: those of each namespace, and those that want others away.
	byNamespace map[string]map[types.UID]*placed
	apart       map[types.UID]*placed
	// owners counts the pods of each owner on each node.
	owners map[types.UID]map[string]int
	// nodesChanged fires when a node has come or is another one now; changed then, too, and when there is more room.
	nodesChanged, changed *listwatch.Signal
}

// node is a node with the sums over its pods.
type node struct {
	name string
	// object is nil while only pods are known that are on it.
	object *corev1.Node
	room   amounts
	used   amounts
	// shown are the used amounts that scores go by: a pod that asks for nothing counts a little.
	shown amounts
	ports map[port]int
	pods  map[types.UID]*placed
}

// placed is a pod that is on a node, or will be.
type placed struct {
	pod     *corev1.Pod
	node    *node
	asks    amounts
	shown   amounts
	assumed bool
}

// New returns what knows of no node.
func New(p Profile) *Nodes {
	return &Nodes{
		profile: p, byName: map[string]*node{}, pods: map[types.UID]*placed{},
		byNamespace: map[string]map[types.UID]*placed{}, apart: map[types.UID]*placed{}, owners: map[types.UID]map[string]int{},
		nodesChanged: new(listwatch.Signal), changed: new(listwatch.Signal),
	}
}

// SetNode says how a node is now. It keeps n, which must not change.
func (ns *Nodes) SetNode(n *corev1.Node) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	at := ns.nodeLocked(n.Name)
	if at.object == nil {
		ns.order = append(ns.order, at)
	}
	alike := at.object != nil && same(at.object, n)
	at.object, at.room = n, amountsOf(n.Status.Allocatable)
	if !alike {
		ns.fireLocked(true)
	}
}

// same says that pods which did not fit a node don't fit it in its new state either, as with a heartbeat.
func same(a, b *corev1.Node) bool {
	return a.UID == b.UID && a.Spec.Unschedulable == b.Spec.Unschedulable && equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) &&
		equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable)
}

// RemoveNode says that a node is gone. Pods that are on it count again should it come back.
func (ns *Nodes) RemoveNode(name string) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	at := ns.byName[name]
	if at == nil || at.object == nil {
		return
	}
	at.object, at.room = nil, amounts{}
	ns.order = slices.DeleteFunc(ns.order, func(n *node) bool { return n == at })
	ns.dropLocked(at)
	ns.fireLocked(false) // whom its pods kept away may have another place now
}

// SetPod says how a pod is now. It counts where it is bound, or where it was placed while it is not bound yet, as long as
// it has not finished. It keeps p, which must not change.
func (ns *Nodes) SetPod(p *corev1.Pod) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	known := ns.pods[p.UID]
	switch {
	case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		ns.removeLocked(p.UID)
	case p.Spec.NodeName != "":
		ns.putLocked(p, p.Spec.NodeName, false)
	case known != nil && known.assumed:
		ns.putLocked(p, known.node.name, true)
	}
}

// RemovePod says that a pod is gone, wherever it was.
func (ns *Nodes) RemovePod(uid types.UID) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	ns.removeLocked(uid)
}

// Forget takes back that a pod was placed, when it could not be bound. What has been seen on a node stays.
func (ns *Nodes) Forget(uid types.UID) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if p := ns.pods[uid]; p != nil && p.assumed {
		ns.removeLocked(uid)
	}
}

// Wake has pods tried again that did not fit, since one of them has become another.
func (ns *Nodes) Wake() {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	ns.fireLocked(true)
}

// Bound returns the node that a pod is on, or will be; "" when that is not known.
func (ns *Nodes) Bound(uid types.UID) string {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if p := ns.pods[uid]; p != nil {
		return p.node.name
	}
	return ""
}

// nodeLocked returns the node of a name, a new one if need be.
func (ns *Nodes) nodeLocked(name string) *node {
	n := ns.byName[name]
	if n == nil {
		n = &node{name: name, ports: map[port]int{}, pods: map[types.UID]*placed{}}
		ns.byName[name] = n
	}
	return n
}

// dropLocked forgets a node that nothing is known of any more.
func (ns *Nodes) dropLocked(n *node) {
	if n.object == nil && len(n.pods) == 0 {
		delete(ns.byName, n.name)
	}
}

// fireLocked tells attempts that have failed.
func (ns *Nodes) fireLocked(nodes bool) {
	ns.changed.Fire()
	ns.changed = new(listwatch.Signal)
	if nodes {
		ns.nodesChanged.Fire()
		ns.nodesChanged = new(listwatch.Signal)
	}
}

// putLocked has a pod count on a node, and nowhere else.
func (ns *Nodes) putLocked(pod *corev1.Pod, name string, assumed bool) {
	old := ns.pods[pod.UID]
	if old != nil {
		ns.takeLocked(old)
	}
	asks, shown := asked(pod)
	p := &placed{pod: pod, node: ns.nodeLocked(name), asks: asks, shown: shown, assumed: assumed}
	ns.count(p, 1)
	ns.pods[pod.UID], p.node.pods[pod.UID] = p, p
	if ns.byNamespace[pod.Namespace] == nil {
		ns.byNamespace[pod.Namespace] = map[types.UID]*placed{}
	}
	ns.byNamespace[pod.Namespace][pod.UID] = p
	if len(antiAffinity(pod)) > 0 {
		ns.apart[pod.UID] = p
	}
	if old != nil && (old.node.name != name || !old.asks.equal(asks) || !maps.Equal(old.pod.Labels, pod.Labels)) {
		ns.fireLocked(false)
	}
}

// removeLocked forgets a pod, and tells that there is more room.
func (ns *Nodes) removeLocked(uid types.UID) {
	if p := ns.pods[uid]; p != nil {
		ns.takeLocked(p)
		ns.fireLocked(false)
	}
}

// takeLocked takes a pod from where it is.
func (ns *Nodes) takeLocked(p *placed) {
	uid := p.pod.UID
	ns.count(p, -1)
	delete(ns.pods, uid)
	delete(p.node.pods, uid)
	delete(ns.apart, uid)
	inside := ns.byNamespace[p.pod.Namespace]
	if delete(inside, uid); len(inside) == 0 {
		delete(ns.byNamespace, p.pod.Namespace)
	}
	ns.dropLocked(p.node)
}

// count adds a pod to the sums of its node, or with -1 takes it away.
func (ns *Nodes) count(p *placed, sign int) {
	p.node.used.add(p.asks, int64(sign))
	p.node.shown.add(p.shown, int64(sign))
	for _, at := range portsOf(p.pod) {
		if p.node.ports[at] += sign; p.node.ports[at] == 0 {
			delete(p.node.ports, at)
		}
	}
	owner := ownerOf(p.pod)
	if owner == "" {
		return
	}
	on := ns.owners[owner]
	if on == nil {
		on = map[string]int{}
		ns.owners[owner] = on
	}
	if on[p.node.name] += sign; on[p.node.name] == 0 {
		delete(on, p.node.name)
	}
	if len(on) == 0 {
		delete(ns.owners, owner)
	}
}
