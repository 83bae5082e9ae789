package kubelet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/hollow"
)

// waits reports whether the first container of a pod waits for that reason.
func waits(reason string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		all := p.Status.ContainerStatuses
		return len(all) > 0 && all[0].State.Waiting != nil && all[0].State.Waiting.Reason == reason
	}
}

// TestImageIsNotThere: an image that is not there is asked for again, later and later.
func TestImageIsNotThere(t *testing.T) {
	r, c := newRig(t), clock.NewMock()
	c.Set(time.Now())
	r.missing.Store("none", true)
	r.run(func(o *kubelet.Options) { o.Clock = c })
	r.create(pod("a", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "none" }))
	p := r.until("a", waits("ErrImagePull"))
	require.Contains(t, p.Status.ContainerStatuses[0].State.Waiting.Message, `failed to pull image "none": `)
	require.Equal(t, corev1.PodPending, p.Status.Phase)
	passing := func(wanted func(*corev1.Pod) bool) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool { c.Add(time.Second); return wanted(p) }
	}
	p = r.until("a", passing(waits("ImagePullBackOff")))
	require.Contains(t, p.Status.ContainerStatuses[0].State.Waiting.Message, `Back-off pulling image "none": ErrImagePull: `)
	r.missing.Delete("none")
	r.until("a", passing(ready))
}

// TestInitFails: what an init container fails at is tried again, or is the end of the pod.
func TestInitFails(t *testing.T) {
	r := newRig(t)
	r.run(nil)
	r.behave.Store("first", hollow.Behaviour{ExitAfter: time.Millisecond, ExitCode: 5})
	initial := func(policy corev1.RestartPolicy) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.RestartPolicy = policy
			p.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "web"}}
		}
	}
	r.create(pod("never", initial(corev1.RestartPolicyNever)))
	r.create(pod("always", initial(corev1.RestartPolicyAlways)))
	p := r.until("never", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	require.Equal(t, int32(5), p.Status.InitContainerStatuses[0].State.Terminated.ExitCode)
	require.Equal(t, "PodInitializing", p.Status.ContainerStatuses[0].State.Waiting.Reason)
	p = r.until("always", func(p *corev1.Pod) bool {
		return len(p.Status.InitContainerStatuses) > 0 && p.Status.InitContainerStatuses[0].RestartCount == 1 &&
			p.Status.InitContainerStatuses[0].State.Waiting != nil
	})
	require.Equal(t, "CrashLoopBackOff", p.Status.InitContainerStatuses[0].State.Waiting.Reason)
	require.Equal(t, corev1.PodPending, p.Status.Phase)
	require.Empty(t, r.containers("main"))
}

// TestDeadline: a pod that may run for a second is ended, with its grace, and has failed then.
func TestDeadline(t *testing.T) {
	r := newRig(t)
	r.behave.Store("main", hollow.Behaviour{StopAfter: -1})
	r.run(nil)
	r.create(pod("a", func(p *corev1.Pod) {
		p.Spec.ActiveDeadlineSeconds, p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1), ptr.To[int64](600)
	}))
	p := r.until("a", func(p *corev1.Pod) bool { return p.Status.Reason == "DeadlineExceeded" })
	require.Equal(t, corev1.PodRunning, p.Status.Phase, "it ends")
	require.NoError(t, r.runtime.Exit(r.containers("main")[0].ID, 0))
	p = r.until("a", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	require.Equal(t, "DeadlineExceeded", p.Status.Reason)
	require.Equal(t, int32(0), p.Status.ContainerStatuses[0].State.Terminated.ExitCode)
	_, err := kube.For[*corev1.Pod](r.cluster).Get(t.Context(), listwatch.KeyOf(p))
	require.NoError(t, err, "it stays")
}

func check(command string) corev1.ProbeHandler {
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{command}}}
}

// executed are the commands of a container.
func (r *rig) executed(container string) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.commands {
		if len(c) > len(container) && c[:len(container)+2] == container+": " {
			all = append(all, c[len(container)+2:])
		}
	}
	return all
}

// TestStartupProbe: until a container has started it has no other probes; one that takes too long is started again.
func TestStartupProbe(t *testing.T) {
	r := newRig(t)
	r.ready.Store(1)
	r.run(nil)
	r.create(pod("slow", func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Name = "slow"
		c.StartupProbe = &corev1.Probe{ProbeHandler: check("started"), PeriodSeconds: 1, FailureThreshold: 600}
		c.ReadinessProbe = &corev1.Probe{ProbeHandler: check("ready"), PeriodSeconds: 1}
		c.LivenessProbe = &corev1.Probe{ProbeHandler: check("alive"), PeriodSeconds: 1, FailureThreshold: 1}
	}))
	r.create(pod("dead", func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Name = "dead"
		c.StartupProbe = &corev1.Probe{ProbeHandler: check("started"), PeriodSeconds: 1, FailureThreshold: 1}
	}))
	r.until("dead", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].RestartCount > 0
	})
	p := r.until("slow", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	require.False(t, *p.Status.ContainerStatuses[0].Started)
	require.False(t, ready(p))
	require.NotContains(t, r.executed("slow"), "ready")
	require.NotContains(t, r.executed("slow"), "alive")
	r.ready.Store(0)
	p = r.until("slow", ready)
	require.True(t, *p.Status.ContainerStatuses[0].Started)
	require.Zero(t, p.Status.ContainerStatuses[0].RestartCount)
	require.Contains(t, r.executed("slow"), "ready")
}

// TestHooks: what is to be done after the start is done before a container is ready, and what comes before the end within
// the grace. One whose first hook fails is started again.
func TestHooks(t *testing.T) {
	r := newRig(t)
	r.run(nil)
	hooks := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Name = name
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
				PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"hello"}}},
				PreStop:   &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"bye"}}},
			}
		}
	}
	r.create(pod("a", hooks("good")))
	r.until("a", ready)
	require.Equal(t, []string{"hello"}, r.executed("good"))
	r.delete("a", 30)
	r.gone("a")
	require.Equal(t, []string{"hello", "bye"}, r.executed("good"))

	r.create(pod("b", func(p *corev1.Pod) {
		p.Spec.Containers[0].Name = "sleeps"
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3600}}}
	}))
	r.until("b", ready)
	r.delete("b", 600)
	r.until("b", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil && !ready(p) })
	require.Equal(t, runtime.Running, r.containers("sleeps")[0].State)
	r.delete("b", 1) // less than the hook takes
	r.gone("b")

	r.ready.Store(1)
	r.create(pod("c", hooks("bad")))
	r.until("c", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && waits("PostStartHookError")(p) && p.Status.ContainerStatuses[0].LastTerminationState.Terminated != nil
	})
	require.True(t, slices.Contains(r.executed("bad"), "hello"))
}
