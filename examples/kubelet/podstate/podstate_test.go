package podstate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/kubelet/podstate"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// view is a pod with the main containers a and b, and one sandbox.
func view(change func(*podstate.View)) *podstate.View {
	v := &podstate.View{Now: now, HostIP: "127.0.0.1", Runtime: "process", Pod: &corev1.Pod{}}
	v.Pod.Name, v.Pod.Namespace, v.Pod.UID = "p", "default", "u"
	v.Pod.Spec.Containers = []corev1.Container{{Name: "a", Image: "i"}, {Name: "b", Image: "i"}}
	v.Sandboxes = []runtime.Sandbox{{ID: "box", Ready: true, IP: "10.244.0.2"}}
	if change != nil {
		change(v)
	}
	return v
}

// put adds a container; a code below zero: it runs.
func put(v *podstate.View, name string, attempt, code int, backoff time.Duration) {
	c := runtime.Container{ID: fmt.Sprintf("%s%d", name, attempt), Sandbox: "box", State: runtime.Running, Started: now.Add(-time.Minute)}
	c.Config.Name, c.Config.Attempt = name, attempt
	c.Config.Annotations = map[string]string{
		podstate.AnnotationHash: podstate.Hash(&corev1.Container{Name: name, Image: "i"}), podstate.AnnotationBackoff: backoff.String(),
	}
	if code >= 0 {
		c.State, c.ExitCode, c.Finished = runtime.Exited, code, now
	}
	v.Containers = append(v.Containers, c)
}

func starts(p podstate.Plan) (names []string) {
	for _, s := range p.Start {
		names = append(names, s.Container.Name)
	}
	return names
}

func stops(p podstate.Plan) (names []string) {
	for _, s := range p.Stop {
		names = append(names, s.Container.Config.Name)
	}
	return names
}

func TestDecide(t *testing.T) {
	initial := func(v *podstate.View) {
		v.Pod.Spec.InitContainers = []corev1.Container{{Name: "i1", Image: "i"}, {Name: "i2", Image: "i"}}
	}
	for name, c := range map[string]struct {
		change      func(*podstate.View)
		start, stop []string
		box, over   bool
	}{
		"no sandbox":    {change: func(v *podstate.View) { v.Sandboxes = nil }, box: true},
		"together":      {start: []string{"a", "b"}},
		"first init":    {change: initial, start: []string{"i1"}},
		"second init":   {change: func(v *podstate.View) { initial(v); put(v, "i1", 0, 0, 0) }, start: []string{"i2"}},
		"init runs":     {change: func(v *podstate.View) { initial(v); put(v, "i1", 0, -1, 0) }},
		"init is over":  {change: func(v *podstate.View) { initial(v); put(v, "i1", 0, 0, 0); put(v, "i2", 0, 0, 0) }, start: []string{"a", "b"}},
		"always":        {change: func(v *podstate.View) { put(v, "a", 0, 0, 0); put(v, "b", 0, -1, 0) }, start: []string{"a"}},
		"being started": {change: func(v *podstate.View) { v.Busy = map[string]bool{"a": true} }, start: []string{"b"}},
		"held":          {change: func(v *podstate.View) { v.Held = map[string]podstate.Held{"b": {Until: now.Add(1)}} }, start: []string{"a"}},
		"on failure": {change: func(v *podstate.View) {
			v.Pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			put(v, "a", 0, 0, 0)
			put(v, "b", 0, 1, 0)
		}, start: []string{"b"}},
		"never": {change: func(v *podstate.View) {
			v.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			put(v, "a", 0, 1, 0)
			put(v, "b", 0, 0, 0)
		}, over: true},
		"dead": {change: func(v *podstate.View) {
			put(v, "a", 0, -1, 0)
			put(v, "b", 0, -1, 0)
			v.Probed = map[string]podstate.Probed{"a0": {Started: true, Dead: "liveness"}}
		}, stop: []string{"a"}},
		"deleted": {change: func(v *podstate.View) { v.Deleted = true; put(v, "a", 0, -1, 0) }, stop: []string{"a"}},
		"init failed for good": {change: func(v *podstate.View) {
			initial(v)
			v.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			put(v, "i1", 0, 1, 0)
		}, over: true},
		"init failed":  {change: func(v *podstate.View) { initial(v); put(v, "i1", 0, 1, 0) }, start: []string{"i1"}},
		"deleted, off": {change: func(v *podstate.View) { v.Deleted = true; put(v, "a", 0, 0, 0) }, over: true},
		"sidecar goes last": {change: func(v *podstate.View) {
			v.Deleted = true
			v.Pod.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
			put(v, "s", 0, -1, 0)
			put(v, "a", 0, -1, 0)
		}, stop: []string{"a"}},
	} {
		p := podstate.Decide(view(c.change))
		require.Equal(t, c.start, starts(p), name)
		require.Equal(t, c.stop, stops(p), name)
		require.Equal(t, c.box, p.NewSandbox, name)
		require.Equal(t, c.over, p.Over, name)
	}
}

func TestBackoff(t *testing.T) {
	backoff := time.Duration(0)
	for attempt, expected := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		v := view(func(v *podstate.View) { put(v, "a", attempt, 1, backoff); put(v, "b", 0, -1, 0) })
		p := podstate.Decide(v)
		if backoff > 0 {
			require.Empty(t, p.Start)
			require.Equal(t, now.Add(backoff), p.Next)
			require.Equal(t, "CrashLoopBackOff", p.Waiting["a"].Reason)
			v.Now = p.Next
			p = podstate.Decide(v)
		}
		require.Len(t, p.Start, 1)
		require.Equal(t, attempt+1, p.Start[0].Attempt)
		backoff = p.Start[0].Backoff
		require.Equal(t, expected*time.Second, backoff)
	}
	v := view(func(v *podstate.View) { put(v, "a", 7, 1, backoff); put(v, "b", 0, -1, 0) })
	v.Containers[0].Started = now.Add(-10 * time.Minute)
	p := podstate.Decide(v)
	require.Equal(t, 10*time.Second, p.Start[0].Backoff, "it had run for long")
}

func TestStatus(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*podstate.View)
		phase  corev1.PodPhase
		waits  string // of a
	}{
		"made":     {nil, corev1.PodPending, "ContainerCreating"},
		"init":     {func(v *podstate.View) { v.Pod.Spec.InitContainers = []corev1.Container{{Name: "i"}} }, corev1.PodPending, "PodInitializing"},
		"one runs": {func(v *podstate.View) { put(v, "b", 0, -1, 0) }, corev1.PodRunning, "ContainerCreating"},
		"crashed":  {func(v *podstate.View) { put(v, "a", 1, 1, time.Second); put(v, "b", 0, -1, 0) }, corev1.PodRunning, "CrashLoopBackOff"},
		"starts again": {func(v *podstate.View) {
			v.Pod.Spec.Containers = v.Pod.Spec.Containers[:1]
			put(v, "a", 0, 1, 0)
			put(v, "a", 1, -1, 0)
			v.Containers[1].State = runtime.Created
		}, corev1.PodRunning, "ContainerCreating"},
		"succeeded": {func(v *podstate.View) {
			v.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			put(v, "a", 0, 0, 0)
			put(v, "b", 0, 0, 0)
		}, corev1.PodSucceeded, ""},
		"failed": {func(v *podstate.View) {
			v.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			put(v, "a", 0, 0, 0)
			put(v, "b", 0, 2, 0)
		}, corev1.PodFailed, ""},
		"deadline": {func(v *podstate.View) {
			v.Failed = &podstate.Held{Reason: "DeadlineExceeded"}
			put(v, "a", 0, 0, 0)
		}, corev1.PodFailed, ""},
		"deadline, one ends": {func(v *podstate.View) {
			v.Failed = &podstate.Held{Reason: "DeadlineExceeded"}
			put(v, "a", 0, -1, 0)
			put(v, "b", 0, 0, 0)
		}, corev1.PodRunning, ""},
		"no image": {func(v *podstate.View) {
			v.Held = map[string]podstate.Held{"a": {Reason: "ErrImagePull", Since: now, Until: now.Add(10 * time.Second)}}
		}, corev1.PodPending, "ErrImagePull"},
		"no image for some time": {func(v *podstate.View) {
			v.Held = map[string]podstate.Held{"a": {Reason: "ErrImagePull", Since: now.Add(-time.Second), Until: now.Add(9 * time.Second)}}
		}, corev1.PodPending, "ImagePullBackOff"},
		"image is asked for again": {func(v *podstate.View) {
			v.Held = map[string]podstate.Held{"a": {Reason: "ErrImagePull", Since: now.Add(-10 * time.Second), Until: now}}
			v.Busy = map[string]bool{"a": true}
		}, corev1.PodPending, "ErrImagePull"},
		"init failed for good": {func(v *podstate.View) {
			v.Pod.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i"}}
			v.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			put(v, "i", 0, 1, 0)
		}, corev1.PodFailed, "PodInitializing"},
		"init failed": {func(v *podstate.View) {
			v.Pod.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i"}}
			v.Pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			put(v, "i", 1, 1, time.Second)
		}, corev1.PodPending, "PodInitializing"},
	} {
		v := view(c.change)
		s := podstate.Status(v, podstate.Decide(v))
		require.Equal(t, c.phase, s.Phase, name)
		require.Equal(t, "10.244.0.2", s.PodIP, name)
		waits := ""
		if w := s.ContainerStatuses[0].State.Waiting; w != nil {
			waits = w.Reason
		}
		require.Equal(t, c.waits, waits, name)
	}
}

func TestConditions(t *testing.T) {
	v := view(func(v *podstate.View) { put(v, "a", 0, -1, 0); put(v, "b", 0, -1, 0) })
	find := func(s corev1.PodStatus, kind corev1.PodConditionType) corev1.PodCondition {
		for _, c := range s.Conditions {
			if c.Type == kind {
				return c
			}
		}
		return corev1.PodCondition{}
	}
	s := podstate.Status(v, podstate.Decide(v))
	require.Equal(t, corev1.ConditionTrue, find(s, corev1.PodReady).Status)
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: "others", Status: corev1.ConditionTrue})
	v.Pod.Status, v.Now = s, now.Add(time.Hour)
	v.Probed = map[string]podstate.Probed{"a0": {Started: true}}
	later := podstate.Status(v, podstate.Decide(v))
	require.Equal(t, corev1.ConditionFalse, find(later, corev1.PodReady).Status)
	require.WithinDuration(t, v.Now, find(later, corev1.PodReady).LastTransitionTime.Time, 0)
	require.Equal(t, find(s, corev1.PodInitialized), find(later, corev1.PodInitialized))
	require.Equal(t, corev1.ConditionTrue, find(later, "others").Status)
}
