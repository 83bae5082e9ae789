package nodelifecycle

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// reported are the conditions that a kubelet reports, and that nobody knows without it.
var reported = []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure}

// lost writes that nobody knows how a node is.
func (c *controller) lost(ctx context.Context, node *corev1.Node) (workqueue.Result, error) {
	changed, now := node.DeepCopy(), metav1.NewTime(c.env.Clock.Now())
	for _, kind := range reported {
		i := slices.IndexFunc(changed.Status.Conditions, func(o corev1.NodeCondition) bool { return o.Type == kind })
		if i < 0 {
			changed.Status.Conditions = append(changed.Status.Conditions, corev1.NodeCondition{Type: kind})
			i = len(changed.Status.Conditions) - 1
		}
		at := &changed.Status.Conditions[i]
		if at.Status == corev1.ConditionUnknown {
			continue
		}
		at.Status, at.Reason, at.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
		at.LastTransitionTime = now
	}
	written, err := c.writer.UpdateStatus(ctx, changed)
	if err != nil {
		return workqueue.Result{}, kube.UnlessBehind(err)
	}
	c.env.Logger.Info("lost node", "node", node.Name)
	// That was no sign of life.
	c.keepHeard(node, written)
	return workqueue.Result{Await: c.nodes.Reached(written.ResourceVersion)}, nil
}

// keepHeard has the controller's own write not count as one of the kubelet.
func (c *controller) keepHeard(before, after *corev1.Node) {
	at := c.lastHeard(before)
	c.lastHeard(after) // remembers the sign
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.heard[after.Name]
	last.at = at
	c.heard[after.Name] = last
}

// ours are the keys of the taints that this controller sets and takes away.
var ours = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

// taintsFor returns the taints that a node's state asks for. One that has said nothing yet keeps pods away, no more.
func taintsFor(node *corev1.Node) []corev1.Taint {
	both := func(key string) []corev1.Taint {
		return []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}, {Key: key, Effect: corev1.TaintEffectNoExecute}}
	}
	switch isReady(node) {
	case corev1.ConditionTrue:
		return nil
	case "":
		return both(corev1.TaintNodeNotReady)[:1]
	case corev1.ConditionUnknown:
		return both(corev1.TaintNodeUnreachable)
	default:
		return both(corev1.TaintNodeNotReady)
	}
}

func isOurs(t corev1.Taint) bool { return slices.Contains(ours, t.Key) }

func hasTaints(node *corev1.Node, wanted []corev1.Taint) bool {
	count := 0
	for _, t := range node.Spec.Taints {
		if !isOurs(t) {
			continue
		}
		if !slices.ContainsFunc(wanted, func(w corev1.Taint) bool { return w.MatchTaint(&t) }) {
			return false
		}
		count++
	}
	return count == len(wanted)
}

// taint gives a node the taints that it should have, beside those of others. One that stays keeps its time.
func (c *controller) taint(ctx context.Context, node *corev1.Node, wanted []corev1.Taint) (workqueue.Result, error) {
	changed, now := node.DeepCopy(), metav1.NewTime(c.env.Clock.Now())
	changed.Spec.Taints = slices.DeleteFunc(changed.Spec.Taints, isOurs)
	for _, w := range wanted {
		i := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&w) })
		switch {
		case i >= 0:
			w = node.Spec.Taints[i]
		case w.Effect == corev1.TaintEffectNoExecute:
			w.TimeAdded = &now
		}
		changed.Spec.Taints = append(changed.Spec.Taints, w)
	}
	written, err := c.writer.Update(ctx, changed)
	if err != nil {
		return workqueue.Result{}, kube.UnlessBehind(err)
	}
	c.env.Logger.Info("tainted node", "node", node.Name, "ready", string(isReady(node)), "taints", len(wanted))
	return workqueue.Result{Await: c.nodes.Reached(written.ResourceVersion)}, nil
}
