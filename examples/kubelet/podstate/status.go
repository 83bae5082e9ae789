package podstate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// Status is the status of a pod as it is, with what p says about what is not running. What others have written into the
// status before stays.
func Status(v *View, p Plan) corev1.PodStatus {
	s := *v.Pod.Status.DeepCopy()
	if s.StartTime == nil {
		s.StartTime = seconds(v.Now)
	}
	s.HostIP, s.HostIPs = v.HostIP, []corev1.HostIP{{IP: v.HostIP}}
	if box := v.Sandbox(); box != nil {
		s.PodIP = box.IP
		if v.Pod.Spec.HostNetwork {
			s.PodIP = v.HostIP
		}
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	}
	s.ObservedGeneration = v.Pod.Generation
	s.Phase = phase(v)
	if v.Failed != nil {
		s.Reason, s.Message = v.Failed.Reason, v.Failed.Message
	}
	if v.Failed == nil || len(v.Containers) > 0 { // one that was refused shows no containers
		s.InitContainerStatuses = v.containers(v.Pod.Spec.InitContainers, p)
		s.ContainerStatuses = v.containers(v.Pod.Spec.Containers, p)
	}
	s.Conditions = conditions(v, &s)
	return s
}

// seconds is a time as the API keeps it.
func seconds(t time.Time) *metav1.Time {
	return ptr.To(metav1.NewTime(t.Truncate(time.Second)).Rfc3339Copy())
}

// containers are the statuses of some containers, in the order of the spec.
func (v *View) containers(of []corev1.Container, p Plan) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for i := range of {
		all = append(all, v.container(&of[i], p))
	}
	return all
}

// container is the status of one container.
func (v *View) container(c *corev1.Container, p Plan) corev1.ContainerStatus {
	l := v.Latest(c.Name)
	s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Started: ptr.To(false)}
	if l == nil {
		if r := v.reported(c.Name); r != nil && (v.Ended() && r.State.Waiting == nil || r.State.Terminated != nil) {
			return *r // nothing is left of it
		}
		s.State.Waiting = v.waiting(c, p)
		if r := v.reported(c.Name); r != nil {
			s.RestartCount, s.LastTerminationState = r.RestartCount, r.LastTerminationState
		}
		return s
	}
	s.RestartCount = int32(l.Config.Attempt)
	s.ContainerID, s.ImageID, s.Image = v.id(l), l.Config.Image, l.Config.Image
	if before := v.Previous(c.Name); before != nil && before.State == runtime.Exited {
		s.LastTerminationState.Terminated = v.terminated(before)
	}
	waits, held := p.Waiting[c.Name]
	switch {
	case l.State == runtime.Running:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: *seconds(l.Started)}
		s.Started = ptr.To(v.up(c, l))
		s.Ready = *s.Started && v.probed(c, l.ID).Ready && !v.Ended()
	case l.State == runtime.Created:
		s.State.Waiting = v.waiting(c, p)
	case held:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: waits.Reason, Message: waits.Message}
		s.LastTerminationState.Terminated = v.terminated(l)
	default:
		s.State.Terminated = v.terminated(l)
		s.Ready = !isMain(&v.Pod.Spec, c.Name) && !Sidecar(c) && l.ExitCode == 0
	}
	return s
}

// waiting says why a container was not started yet.
func (v *View) waiting(c *corev1.Container, p Plan) *corev1.ContainerStateWaiting {
	if held, ok := p.Waiting[c.Name]; ok {
		return &corev1.ContainerStateWaiting{Reason: held.Reason, Message: held.Message}
	}
	if len(v.Pod.Spec.InitContainers) > 0 && (isMain(&v.Pod.Spec, c.Name) && !v.initialized()) {
		return &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	}
	return &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
}

func (v *View) id(c *runtime.Container) string { return v.Runtime + "://" + c.ID }

func (v *View) terminated(c *runtime.Container) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ExitCode: int32(c.ExitCode), Reason: c.Reason, Message: c.Message, ContainerID: v.id(c),
		StartedAt: *seconds(c.Started), FinishedAt: *seconds(c.Finished),
	}
}

// initialized reports whether the init containers are over.
func (v *View) initialized() bool {
	for i := range v.Pod.Spec.Containers {
		if v.Latest(v.Pod.Spec.Containers[i].Name) != nil {
			return true
		}
	}
	return len(v.uninitialized()) == 0
}

// uninitialized names the init containers that are not over, or not up if they are sidecars.
func (v *View) uninitialized() []string {
	var names []string
	for i := range v.Pod.Spec.InitContainers {
		c := &v.Pod.Spec.InitContainers[i]
		l := v.Latest(c.Name)
		if Sidecar(c) && v.up(c, l) || !Sidecar(c) && l != nil && l.State == runtime.Exited && l.ExitCode == 0 {
			continue
		}
		names = append(names, c.Name)
	}
	return names
}

// phase is where the pod is in its life.
func phase(v *View) corev1.PodPhase {
	switch {
	case Terminal(v.Pod.Status.Phase):
		return v.Pod.Status.Phase
	case v.Failed != nil && len(v.Running()) == 0 && len(v.Busy) == 0:
		return corev1.PodFailed
	}
	var waiting, running, succeeded, failed int
	for i := range v.Pod.Spec.Containers {
		switch l := v.Latest(v.Pod.Spec.Containers[i].Name); {
		case l == nil || l.State == runtime.Created && l.Config.Attempt == 0:
			waiting++
		case l.State == runtime.Created: // it is about to run again
			failed++
		case l.State == runtime.Running:
			running++
		case l.ExitCode == 0:
			succeeded++
		default:
			failed++
		}
	}
	policy := v.Pod.Spec.RestartPolicy
	switch {
	case v.Deleted && running == 0 && len(v.Busy) == 0:
		if failed+waiting == 0 {
			return corev1.PodSucceeded
		}
		return corev1.PodFailed
	case waiting > 0 && policy == corev1.RestartPolicyNever && v.initFailed():
		return corev1.PodFailed
	case waiting > 0 && running+succeeded+failed == 0:
		return corev1.PodPending
	case running+waiting > 0 || policy == corev1.RestartPolicyAlways || policy == "":
		return corev1.PodRunning
	case failed == 0:
		return corev1.PodSucceeded
	case policy == corev1.RestartPolicyNever:
		return corev1.PodFailed
	}
	return corev1.PodRunning
}

// initFailed reports whether an init container has failed.
func (v *View) initFailed() bool {
	for i := range v.Pod.Spec.InitContainers {
		c := &v.Pod.Spec.InitContainers[i]
		if l := v.Latest(c.Name); !Sidecar(c) && l != nil && l.State == runtime.Exited && l.ExitCode != 0 {
			return true
		}
	}
	return false
}

// conditions are those of before with the ones that the kubelet answers for as they are now.
func conditions(v *View, s *corev1.PodStatus) []corev1.PodCondition {
	all := append([]corev1.PodCondition(nil), s.Conditions...)
	set := func(kind corev1.PodConditionType, ok bool, reason, message string) {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: v.Pod.Generation}
		if !ok {
			c.Status = corev1.ConditionFalse
		}
		put(&all, c, v.Now)
	}
	set(corev1.PodScheduled, true, "", "")
	var unready []string
	for i := range s.ContainerStatuses {
		if !s.ContainerStatuses[i].Ready {
			unready = append(unready, s.ContainerStatuses[i].Name)
		}
	}
	reason, message := "", ""
	switch {
	case s.Phase == corev1.PodSucceeded:
		reason = "PodCompleted"
	case s.Phase == corev1.PodFailed:
		reason = "PodFailed"
	case len(unready) > 0:
		reason, message = "ContainersNotReady", fmt.Sprintf("containers with unready status: %v", unready)
	}
	set(corev1.PodReadyToStartContainers, v.Sandbox() != nil, "", "")
	switch missing := v.uninitialized(); {
	case v.initialized():
		set(corev1.PodInitialized, true, "", "")
	default:
		set(corev1.PodInitialized, false, "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: %v", missing))
	}
	set(corev1.ContainersReady, reason == "", reason, message)
	if reason == "" {
		if gate := closedGate(v.Pod, all); gate != "" {
			reason, message = "ReadinessGatesNotReady", fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but False", gate)
		}
	}
	set(corev1.PodReady, reason == "", reason, message)
	return all
}

// put sets a condition; the time of its last transition stays when its status does.
func put(all *[]corev1.PodCondition, c corev1.PodCondition, now time.Time) {
	c.LastTransitionTime = *seconds(now)
	for i := range *all {
		if old := &(*all)[i]; old.Type == c.Type {
			if old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			c.LastProbeTime = old.LastProbeTime
			*old = c
			return
		}
	}
	*all = append(*all, c)
}

// closedGate names a readiness gate that keeps a pod from being ready, or returns "".
func closedGate(p *corev1.Pod, all []corev1.PodCondition) string {
	for _, g := range p.Spec.ReadinessGates {
		open := false
		for _, c := range all {
			open = open || c.Type == g.ConditionType && c.Status == corev1.ConditionTrue
		}
		if !open {
			return string(g.ConditionType)
		}
	}
	return ""
}
