package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/seed3bce33ad/listwatch"
)

// FitError says why a pod can go to no node.
type FitError struct {
	// Nodes is how many there are.
	Nodes int
	// Reasons counts for how many of them each reason was the first.
	Reasons map[string]int
	// Changed fires when it may be otherwise.
	Changed *listwatch.Signal
}

// Error is worded as by the real scheduler.
func (e *FitError) Error() string {
	if e.Nodes == 0 {
		return "no nodes available to schedule pods"
	}
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(e.Reasons)) {
		parts = append(parts, fmt.Sprintf("%d %s", e.Reasons[reason], reason))
	}
	return fmt.Sprintf("0/%d nodes are available: %s.", e.Nodes, strings.Join(parts, ", "))
}

// attempt is what an attempt to place a pod needs to know of it.
type attempt struct {
	pod      *corev1.Pod
	asks     amounts
	ports    []port
	affinity nodeaffinity.RequiredNodeAffinity
	// closed are the values of labels of nodes that the pod must keep away from, since others are there: others that it
	// wants away, and others that want it away.
	closed, closedByOthers map[topology]bool
}

// topology is a label of nodes with a value.
type topology struct{ key, value string }

// Place chooses the node for a pod, which counts there from now on, and returns its name. A pod that was placed
// already stays where it is. An error is a [*FitError].
func (ns *Nodes) Place(pod *corev1.Pod) (string, error) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if p := ns.pods[pod.UID]; p != nil {
		return p.node.name, nil
	}
	asks, _ := asked(pod)
	a := &attempt{pod: pod, asks: asks, ports: portsOf(pod), affinity: nodeaffinity.GetRequiredNodeAffinity(pod)}
	a.closed, a.closedByOthers = ns.closedLocked(pod)
	fit, reasons := ns.fittingLocked(a)
	if len(fit) == 0 {
		e := &FitError{Nodes: len(ns.order), Reasons: map[string]int{}, Changed: ns.nodesChanged}
		for reason := range reasons {
			e.Reasons[reason.text] = reasons[reason]
			if reason.passes {
				e.Changed = ns.changed
			}
		}
		return "", e
	}
	best := fit[0]
	if ns.profile == Balanced {
		best = ns.bestLocked(a, fit)
	}
	ns.putLocked(pod, best.name, true)
	return best.name, nil
}

// enough is how many nodes are looked for that will do before one is chosen: all of a hundred, and a part that
// shrinks from a half to a twentieth of more, as the real scheduler has it.
func (ns *Nodes) enoughLocked() int {
	n := len(ns.order)
	if ns.profile == RoundRobin {
		return 1
	}
	if n <= 100 {
		return n
	}
	return max(100, n*max(5, 50-n/125)/100)
}

// fittingLocked returns nodes that will do, and for the others how often each reason was the first. It begins where the
// last attempt has ended.
func (ns *Nodes) fittingLocked(a *attempt) ([]*node, map[reason]int) {
	var fit []*node
	reasons, enough := map[reason]int{}, ns.enoughLocked()
	for range ns.order {
		n := ns.order[ns.next%len(ns.order)]
		ns.next = (ns.next + 1) % len(ns.order)
		if why := check(a, n); len(why) > 0 {
			for _, r := range why {
				reasons[r]++
			}
			continue
		}
		if fit = append(fit, n); len(fit) == enough {
			break
		}
	}
	return fit, reasons
}

// closedLocked finds where a pod can't go because of the anti-affinity of its own and of others.
func (ns *Nodes) closedLocked(pod *corev1.Pod) (own, others map[topology]bool) {
	own, others = map[topology]bool{}, map[topology]bool{}
	shut := func(to map[topology]bool, n *node, key string) {
		if n.object == nil {
			return
		}
		if value, ok := n.object.Labels[key]; ok {
			to[topology{key, value}] = true
		}
	}
	for _, term := range antiAffinity(pod) {
		for _, namespace := range namespacesOf(term, pod) {
			for _, p := range ns.byNamespace[namespace] {
				if selects(term.LabelSelector, p.pod) {
					shut(own, p.node, term.TopologyKey)
				}
			}
		}
	}
	for _, p := range ns.apart {
		for _, term := range antiAffinity(p.pod) {
			if slices.Contains(namespacesOf(term, p.pod), pod.Namespace) && selects(term.LabelSelector, pod) {
				shut(others, p.node, term.TopologyKey)
			}
		}
	}
	return own, others
}

// antiAffinity returns what a pod requires to be away from.
func antiAffinity(p *corev1.Pod) []corev1.PodAffinityTerm {
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// namespacesOf returns where a term of a pod looks.
func namespacesOf(term corev1.PodAffinityTerm, of *corev1.Pod) []string {
	if len(term.Namespaces) == 0 {
		return []string{of.Namespace}
	}
	return term.Namespaces
}

// selects says whether a selector selects a pod; one that can't be read selects nothing.
func selects(by *metav1.LabelSelector, p *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(by)
	return err == nil && selector.Matches(labels.Set(p.Labels))
}
