package job_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/job"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newJob returns one that wants so many pods to succeed, two at a time.
func newJob(completions int32) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "j"},
		Spec: batchv1.JobSpec{
			Completions: &completions, Parallelism: ptr.To[int32](2),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i:1"}},
			}},
		},
	}
}

// rig is a world with jobs.
type rig struct {
	*controltest.World
	jobs *controltest.View[*batchv1.Job]
	pods *controltest.View[*corev1.Pod]
}

func newRig(t *testing.T) rig {
	w := controltest.New(t, job.New)
	return rig{w, controltest.Watch[*batchv1.Job](w), controltest.Watch[*corev1.Pod](w)}
}

// ends lets all pods end in a phase at once.
func ends(phase corev1.PodPhase) func(*controltest.World, *corev1.Pod) {
	return func(_ *controltest.World, p *corev1.Pod) { p.Status.Phase = phase }
}

// is waits until the job has a condition.
func (r rig) is(t batchv1.JobConditionType) *batchv1.Job {
	r.T.Helper()
	return r.jobs.One("j", func(j *batchv1.Job) bool { return condition(j, t).Status == corev1.ConditionTrue })
}

func condition(j *batchv1.Job, t batchv1.JobConditionType) batchv1.JobCondition {
	for _, c := range j.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return batchv1.JobCondition{}
}

// finish lets one pod end, and waits until that is seen.
func (r rig) finish(p *corev1.Pod, phase corev1.PodPhase) {
	controltest.Merge[*corev1.Pod](r.World, p.Name, "status", map[string]any{"status": map[string]any{"phase": phase}})
	r.pods.Until(func(pods []*corev1.Pod) bool {
		return !slices.ContainsFunc(pods, func(o *corev1.Pod) bool { return o.UID == p.UID && o.Status.Phase != phase })
	})
}

// at returns the pods that are at it, once they are so many.
func (r rig) at(n int) []*corev1.Pod {
	r.T.Helper()
	var at []*corev1.Pod
	r.pods.Until(func(pods []*corev1.Pod) bool {
		at = slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool {
			return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		})
		return len(at) == n
	})
	return at
}

// untracked waits until no pod has the finalizer.
func (r rig) untracked() []*corev1.Pod {
	r.T.Helper()
	return r.pods.Until(func(pods []*corev1.Pod) bool {
		return !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) })
	})
}

func TestComplete(t *testing.T) {
	r := newRig(t)
	r.pods.Always(func(pods []*corev1.Pod) {
		if n := len(pods); n > 5 {
			t.Errorf("%d pods", n)
		}
	})
	controltest.Create(r.World, newJob(5))
	for _, n := range []int{2, 2, 2, 2, 1} {
		r.finish(r.at(n)[0], corev1.PodSucceeded)
	}
	j := r.is(batchv1.JobComplete)
	require.Equal(t, int32(5), j.Status.Succeeded)
	require.Zero(t, j.Status.Active)
	require.Zero(t, j.Status.Failed)
	require.NotNil(t, j.Status.StartTime)
	require.NotNil(t, j.Status.CompletionTime)
	require.Len(t, r.untracked(), 5)
	r.pods.RequireMade(5)
}

func TestIndexed(t *testing.T) {
	r := newRig(t)
	j := newJob(4)
	j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	controltest.Create(r.World, j)
	for _, n := range []int{2, 2, 2, 1} {
		p := r.at(n)[n-1]
		require.Equal(t, p.Annotations[batchv1.JobCompletionIndexAnnotation], p.Spec.Containers[0].Env[0].Value)
		r.finish(p, corev1.PodSucceeded)
	}
	done := r.is(batchv1.JobComplete)
	require.Equal(t, "0-3", done.Status.CompletedIndexes)
	require.Equal(t, int32(4), done.Status.Succeeded)
	seen := map[string]bool{}
	for _, p := range r.untracked() {
		seen[p.Spec.Hostname] = true
	}
	require.Equal(t, map[string]bool{"j-0": true, "j-1": true, "j-2": true, "j-3": true}, seen)
}

// Each pod is deleted as soon as it has finished.
func TestCountsWhatIsDeleted(t *testing.T) {
	r := newRig(t)
	controltest.Create(r.World, newJob(3))
	for _, n := range []int{2, 2, 1} {
		p := r.at(n)[0]
		r.finish(p, corev1.PodSucceeded)
		r.Kill(p)
	}
	j := r.is(batchv1.JobComplete)
	require.Equal(t, int32(3), j.Status.Succeeded)
	require.Zero(t, j.Status.Failed)
	r.pods.Until(func(p []*corev1.Pod) bool { return len(p) == 0 })
	r.pods.RequireMade(3)
}

func TestBackoffLimit(t *testing.T) {
	r := newRig(t)
	r.Kubelet(ends(corev1.PodFailed))
	j := newJob(3)
	j.Spec.BackoffLimit, j.Spec.Parallelism = ptr.To[int32](1), ptr.To[int32](1)
	controltest.Create(r.World, j)
	r.jobs.One("j", func(j *batchv1.Job) bool { return j.Status.Failed == 1 && j.Status.Active == 0 })
	r.pods.RequireMade(1)
	r.jobs.After(11*time.Second, func([]*batchv1.Job) bool { return r.pods.Made() == 2 })
	failed := r.is(batchv1.JobFailed)
	require.Equal(t, batchv1.JobReasonBackoffLimitExceeded, condition(failed, batchv1.JobFailed).Reason)
	require.Equal(t, int32(2), failed.Status.Failed)
	require.Nil(t, failed.Status.CompletionTime)
	r.untracked()
	r.pods.RequireMade(2)
}

func TestDeadline(t *testing.T) {
	r := newRig(t)
	r.Kubelet(controltest.Ready)
	j := newJob(3)
	j.Spec.ActiveDeadlineSeconds, j.Spec.BackoffLimit = ptr.To[int64](60), ptr.To[int32](0)
	controltest.Create(r.World, j)
	r.jobs.One("j", func(j *batchv1.Job) bool { return j.Status.Active == 2 && *j.Status.Ready == 2 })
	r.jobs.After(61*time.Second, func(jobs []*batchv1.Job) bool { return len(jobs[0].Status.Conditions) > 0 })
	failed := r.is(batchv1.JobFailed)
	require.Equal(t, batchv1.JobReasonDeadlineExceeded, condition(failed, batchv1.JobFailed).Reason)
	require.Equal(t, int32(2), failed.Status.Failed)
	r.pods.Until(func(p []*corev1.Pod) bool { return len(p) == 0 })
}

func TestSuspend(t *testing.T) {
	r := newRig(t)
	j := newJob(2)
	j.Spec.Suspend, j.Spec.ActiveDeadlineSeconds = ptr.To(true), ptr.To[int64](60)
	controltest.Create(r.World, j)
	require.Nil(t, r.is(batchv1.JobSuspended).Status.StartTime)
	r.Clock.Add(2 * time.Minute) // longer than it may run
	suspend := func(is bool) {
		controltest.Merge[*batchv1.Job](r.World, "j", "", map[string]any{"spec": map[string]any{"suspend": is}})
	}
	suspend(false)
	r.at(2)
	suspend(true)
	r.at(0)
	stopped := r.jobs.One("j", func(j *batchv1.Job) bool {
		return j.Status.Active == 0 && condition(j, batchv1.JobSuspended).Status == corev1.ConditionTrue
	})
	require.Zero(t, stopped.Status.Failed)
	suspend(false)
	for _, p := range r.at(2) {
		r.finish(p, corev1.PodSucceeded)
	}
	require.Equal(t, int32(2), r.is(batchv1.JobComplete).Status.Succeeded)
}

func TestTimeToLive(t *testing.T) {
	r := newRig(t)
	r.Kubelet(ends(corev1.PodSucceeded))
	j := newJob(2)
	j.Spec.TTLSecondsAfterFinished = ptr.To[int32](30)
	controltest.Create(r.World, j)
	r.is(batchv1.JobComplete)
	r.untracked()
	r.jobs.After(31*time.Second, func(jobs []*batchv1.Job) bool { return len(jobs) == 0 })
}

// The job is deleted, and another made under its name, which leaves the pods of the first to themselves.
func TestJobIsDeleted(t *testing.T) {
	r := newRig(t)
	first := controltest.Create(r.World, newJob(2))
	r.at(2)
	background := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	require.NoError(t, kube.For[*batchv1.Job](r.Cluster).Delete(t.Context(), listwatch.KeyOf(first), background))
	second := controltest.Create(r.World, newJob(1))
	pods := r.pods.Until(func(pods []*corev1.Pod) bool {
		return len(pods) == 3 && !slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
			return metav1.IsControlledBy(p, first) && len(p.Finalizers) > 0
		})
	})
	for _, p := range pods {
		if metav1.IsControlledBy(p, second) {
			r.finish(p, corev1.PodSucceeded)
		} else {
			r.Kill(p)
		}
	}
	require.Equal(t, int32(1), r.is(batchv1.JobComplete).Status.Succeeded)
	require.Len(t, r.pods.Until(func(p []*corev1.Pod) bool { return len(p) == 1 }), 1)
}

func TestInformerIsLate(t *testing.T) {
	r := newRig(t)
	j := newJob(10)
	controltest.Create(r.World, j)
	r.at(2)
	r.jobs.One("j", func(j *batchv1.Job) bool { return j.Status.Active == 2 })
	r.Late.Hold()
	parallel := func(n int) {
		controltest.Merge[*batchv1.Job](r.World, "j", "", map[string]any{"spec": map[string]any{"parallelism": n}})
	}
	parallel(4)
	r.at(4)
	r.Clock.Add(6 * time.Minute)
	parallel(5) // that one more is made tells that a step has been, and what it has seen
	r.at(5)
	r.Late.Release()
	r.jobs.One("j", func(j *batchv1.Job) bool { return j.Status.Active == 5 })
	r.pods.RequireMade(5)
}

// Pods succeed, fail, and are deleted at random, while connections are cut and histories dropped.
func TestChurn(t *testing.T) {
	r := newRig(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r.Clock.Add(24 * time.Hour) // the server's time stays behind, so no pause after a failure is left
	r.Flow()
	j := newJob(12)
	j.Spec.BackoffLimit, j.Spec.Parallelism = ptr.To[int32](1000), ptr.To[int32](4)
	controltest.Create(r.World, j)
	succeeded, failed := 0, 0
	for succeeded < 12 {
		p := r.at(min(4, 12-succeeded))[0]
		if succeeded+failed == 5 {
			r.Server.CutConnections()
			require.NoError(t, r.Server.Compact(t.Context()))
		}
		switch random.IntN(4) {
		case 0:
			r.finish(p, corev1.PodFailed)
			failed++
			r.Kill(p)
		default:
			r.finish(p, corev1.PodSucceeded)
			succeeded++
			if random.IntN(2) == 0 {
				r.Kill(p)
			}
		}
		r.jobs.One("j", func(j *batchv1.Job) bool {
			return int(j.Status.Failed)+len(ptr.Deref(j.Status.UncountedTerminatedPods, batchv1.UncountedTerminatedPods{}).Failed) == failed
		})
	}
	done := r.is(batchv1.JobComplete)
	require.Equal(t, int32(12), done.Status.Succeeded)
	require.Equal(t, int32(failed), done.Status.Failed)
	r.pods.RequireMade(12 + failed)
}
