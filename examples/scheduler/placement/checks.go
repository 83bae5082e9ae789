package placement

import (
	corev1 "k8s.io/api/core/v1"
	helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// reason is why a node won't do. It passes when pods go, or only when the node becomes another.
type reason struct {
	text   string
	passes bool
}

// checks are what a node must pass, in order: what is cheap and lasts comes first.
var checks = []func(*attempt, *node) []reason{checkName, checkSchedulable, checkTaints, checkAffinity, checkPorts, checkRoom, checkApart}

// check returns why a node won't do, and nothing when it will.
func check(a *attempt, n *node) []reason {
	for _, c := range checks {
		if why := c(a, n); len(why) > 0 {
			return why
		}
	}
	return nil
}

func unless(ok bool, text string, passes bool) []reason {
	if ok {
		return nil
	}
	return []reason{{text, passes}}
}

func checkName(a *attempt, n *node) []reason {
	ok := a.pod.Spec.NodeName == "" || a.pod.Spec.NodeName == n.name
	return unless(ok, "node(s) didn't match the requested node name", false)
}

// unschedulable is the taint that goes with a node's spec.unschedulable.
var unschedulable = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

func checkSchedulable(a *attempt, n *node) []reason {
	ok := !n.object.Spec.Unschedulable || helpers.TolerationsTolerateTaint(klog.Logger{}, a.pod.Spec.Tolerations, &unschedulable, false)
	return unless(ok, "node(s) were unschedulable", false)
}

func checkTaints(a *attempt, n *node) []reason {
	if len(n.object.Spec.Taints) == 0 {
		return nil
	}
	_, untolerated := helpers.FindMatchingUntoleratedTaint(klog.Logger{}, n.object.Spec.Taints, a.pod.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, false)
	return unless(!untolerated, "node(s) had untolerated taint(s)", false)
}

func checkAffinity(a *attempt, n *node) []reason {
	ok, err := a.affinity.Match(n.object)
	return unless(ok && err == nil, "node(s) didn't match Pod's node affinity/selector", false)
}

func checkPorts(a *attempt, n *node) []reason {
	return unless(!taken(a.ports, n.ports), "node(s) didn't have free ports for the requested pod ports", true)
}

func checkRoom(a *attempt, n *node) []reason {
	free := amounts{cpu: n.room.cpu - n.used.cpu, memory: n.room.memory - n.used.memory, pods: n.room.pods - n.used.pods}
	if len(a.asks.other) > 0 {
		free.add(amounts{other: n.room.other}, 1)
		free.add(amounts{other: n.used.other}, -1)
	}
	var why []reason
	for _, text := range free.short(a.asks) {
		why = append(why, reason{text, true})
	}
	return why
}

func checkApart(a *attempt, n *node) []reason {
	if shut(a.closedByOthers, n) {
		return []reason{{"node(s) didn't satisfy existing pods anti-affinity rules", true}}
	}
	return unless(!shut(a.closed, n), "node(s) didn't match pod anti-affinity rules", true)
}

// shut says whether a node is in one of some topologies.
func shut(closed map[topology]bool, n *node) bool {
	for t := range closed {
		if n.object.Labels[t.key] == t.value {
			if _, ok := n.object.Labels[t.key]; ok {
				return true
			}
		}
	}
	return false
}
