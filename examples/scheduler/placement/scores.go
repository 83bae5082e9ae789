package placement

import (
	corev1 "k8s.io/api/core/v1"
	helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// The weights of the scores, each of which goes from 0 to 100.
const (
	weightRoom   = 1
	weightSpread = 2
	weightPrefer = 2
	weightTaints = 3
)

// scored are the scores of a node before they are brought to one scale.
type scored struct {
	node                    *node
	room                    int64
	siblings, prefer, taint int64
}

// bestLocked returns the node with the greatest sum of scores; among equals the first.
func (ns *Nodes) bestLocked(a *attempt, fit []*node) *node {
	_, shown := asked(a.pod)
	siblings := ns.owners[ownerOf(a.pod)]
	preferred := preferredOf(a.pod)
	all := make([]scored, len(fit))
	var most scored
	for i, n := range fit {
		s := scored{node: n, room: roomScore(n, shown), siblings: int64(siblings[n.name]), taint: int64(avoided(a.pod, n.object))}
		if preferred != nil {
			s.prefer = preferred.Score(n.object)
		}
		most.siblings, most.prefer, most.taint = max(most.siblings, s.siblings), max(most.prefer, s.prefer), max(most.taint, s.taint)
		all[i] = s
	}
	best, greatest := fit[0], int64(-1)
	for _, s := range all {
		sum := weightRoom*s.room + weightSpread*(100-share(s.siblings, most.siblings)) +
			weightPrefer*share(s.prefer, most.prefer) + weightTaints*(100-share(s.taint, most.taint))
		if sum > greatest {
			best, greatest = s.node, sum
		}
	}
	return best
}

// share is what part n is of the most, in hundredths.
func share(n, most int64) int64 {
	if most == 0 {
		return 0
	}
	return 100 * n / most
}

// roomScore is how much of its CPU and memory a node has left once the pod is on it, in hundredths.
func roomScore(n *node, with amounts) int64 {
	left := func(room, used int64) int64 {
		if room <= 0 || used >= room {
			return 0
		}
		return 100 * (room - used) / room
	}
	return (left(n.room.cpu, n.shown.cpu+with.cpu) + left(n.room.memory, n.shown.memory+with.memory)) / 2
}

// preferredOf returns which nodes a pod prefers; nil for none, or when it can't be read.
func preferredOf(p *corev1.Pod) *nodeaffinity.PreferredSchedulingTerms {
	if a := p.Spec.Affinity; a == nil || a.NodeAffinity == nil || len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return nil
	}
	return terms
}

// avoided counts the taints of a node that a pod would rather avoid.
func avoided(p *corev1.Pod, n *corev1.Node) int {
	count := 0
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule && !helpers.TolerationsTolerateTaint(klog.Logger{}, p.Spec.Tolerations, t, false) {
			count++
		}
	}
	return count
}
