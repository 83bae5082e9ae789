package kinds

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podColumns() []Column {
	spec, status := corev1.PodSpec{}.SwaggerDoc(), corev1.PodStatus{}.SwaggerDoc()
	return append(nameAnd(
		column("Ready", "The aggregate readiness state of this pod for accepting traffic.", of(podReady)),
		column("Status", "The aggregate status of the containers in this pod.", of(podStatus)),
		timed("Restarts", "The number of times the containers in this pod have been restarted and when the last container "+
			"in this pod has restarted.", podRestarts)),
		column("IP", status["podIP"], of(func(p *corev1.Pod) any { return or(podFields(p)["status.podIPs"], none) })).wide(),
		column("Node", spec["nodeName"], of(func(p *corev1.Pod) any { return or(p.Spec.NodeName, none) })).wide(),
		column("Nominated Node", status["nominatedNodeName"], of(func(p *corev1.Pod) any {
			return or(p.Status.NominatedNodeName, none)
		})).wide(),
		column("Readiness Gates", spec["readinessGates"], of(podGates)).wide(),
	)
}

// podRow tells of a pod that is over.
func podRow(p *corev1.Pod) []metav1.TableRowCondition {
	c := metav1.TableRowCondition{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(p.Status.Phase)}
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		c.Message = "The pod has completed successfully."
	case corev1.PodFailed:
		c.Message = "The pod failed."
	default:
		return nil
	}
	return []metav1.TableRowCondition{c}
}

// sidecars returns the names of the init containers that go on running beside the others.
func sidecars(p *corev1.Pod) map[string]bool {
	names := map[string]bool{}
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			names[c.Name] = true
		}
	}
	return names
}

func podReady(p *corev1.Pod) any {
	beside := sidecars(p)
	ready, total := 0, len(p.Spec.Containers)+len(beside)
	for _, c := range p.Status.InitContainerStatuses {
		if beside[c.Name] && c.Started != nil && *c.Started && c.Ready {
			ready++
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.Ready && c.State.Running != nil {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d", ready, total)
}

// podStatus returns the phase, or what tells more about it.
func podStatus(p *corev1.Pod) any {
	reason := or(p.Status.Reason, string(p.Status.Phase))
	if c := podCondition(p, corev1.PodScheduled); c.Reason == corev1.PodReasonSchedulingGated {
		reason = c.Reason
	}
	initializing := initReason(p)
	switch {
	case initializing != "" && podCondition(p, corev1.PodInitialized).Status != corev1.ConditionTrue:
		reason = initializing
	default:
		reason = containersReason(p, reason)
	}
	over := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	switch {
	case p.DeletionTimestamp != nil && p.Status.Reason == "NodeLost":
		return "Unknown"
	case p.DeletionTimestamp != nil && !over:
		return "Terminating"
	}
	return reason
}

func podCondition(p *corev1.Pod, t corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return corev1.PodCondition{}
}

// initReason says which init container the pod is at; "" when they are done.
func initReason(p *corev1.Pod) string {
	beside := sidecars(p)
	for i, c := range p.Status.InitContainerStatuses {
		ended := c.State.Terminated
		switch waiting := c.State.Waiting; {
		case ended != nil && ended.ExitCode == 0, beside[c.Name] && c.Started != nil && *c.Started:
			continue
		case ended != nil:
			return "Init:" + endReason(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			return "Init:" + waiting.Reason
		}
		return fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))
	}
	return ""
}

// containersReason returns what is to say about the containers, or else the reason given.
func containersReason(p *corev1.Pod, reason string) string {
	running := false
	for i := len(p.Status.ContainerStatuses) - 1; i >= 0; i-- {
		switch c := p.Status.ContainerStatuses[i]; {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			reason = endReason(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			running = true
		}
	}
	if reason != "Completed" || !running {
		return reason
	}
	if podCondition(p, corev1.PodReady).Status == corev1.ConditionTrue {
		return "Running"
	}
	return "NotReady"
}

func endReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

// podRestarts counts those of the containers that matter now: of the init containers until they
// are done, and then of the others.
func podRestarts(o Object, now time.Time) any {
	p := o.(*corev1.Pod)
	counted := p.Status.InitContainerStatuses
	if initReason(p) == "" || podCondition(p, corev1.PodInitialized).Status == corev1.ConditionTrue {
		beside := sidecars(p)
		counted = append([]corev1.ContainerStatus{}, p.Status.ContainerStatuses...)
		for _, c := range p.Status.InitContainerStatuses {
			if beside[c.Name] {
				counted = append(counted, c)
			}
		}
	}
	restarts, last := 0, time.Time{}
	for _, c := range counted {
		restarts += int(c.RestartCount)
		if t := c.LastTerminationState.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	if restarts == 0 || last.IsZero() {
		return strconv.Itoa(restarts)
	}
	return fmt.Sprintf("%d (%s ago)", restarts, since(last, now))
}

func podGates(p *corev1.Pod) any {
	passed := 0
	for _, g := range p.Spec.ReadinessGates {
		if podCondition(p, g.ConditionType).Status == corev1.ConditionTrue {
			passed++
		}
	}
	if len(p.Spec.ReadinessGates) == 0 {
		return none
	}
	return fmt.Sprintf("%d/%d", passed, len(p.Spec.ReadinessGates))
}
