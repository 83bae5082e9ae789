package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/owned"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

// The pause after a failure: the first, which doubles with each, and the longest.
const (
	firstPause   = 10 * time.Second
	longestPause = 10 * time.Minute
)

// finished returns the condition by which a job is over, or nil.
func finished(s *batchv1.JobStatus) *batchv1.JobCondition {
	for n := range s.Conditions {
		if c := &s.Conditions[n]; (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// put puts a condition into a status.
func (c *controller) put(s *batchv1.JobStatus, n batchv1.JobCondition) {
	n.LastTransitionTime, n.LastProbeTime = c.now(), c.now()
	at := slices.IndexFunc(s.Conditions, func(c batchv1.JobCondition) bool { return c.Type == n.Type })
	switch {
	case at < 0:
		s.Conditions = append(s.Conditions, n)
	case s.Conditions[at].Status != n.Status:
		s.Conditions[at] = n
	}
}

func (c *controller) now() metav1.Time { return metav1.NewTime(c.clock.Now().Truncate(time.Second)) }

// act makes and deletes pods as the job wants it, and writes into the new status what that comes to. It returns after
// which time there is more to do; 0: when something has changed.
func (c *controller) act(ctx context.Context, j *batchv1.Job, s *batchv1.JobStatus, t tally) (time.Duration, error) {
	if ended := c.verdict(j, s, t); ended != nil {
		interim, end := *ended, c.dismiss
		interim.Type = batchv1.JobSuccessCriteriaMet
		if ended.Type == batchv1.JobFailed {
			interim.Type, end = batchv1.JobFailureTarget, c.fail
		}
		c.put(s, interim)
		err := end(ctx, t.active)
		if len(t.active)+len(s.UncountedTerminatedPods.Succeeded)+len(s.UncountedTerminatedPods.Failed) == 0 && err == nil {
			c.put(s, *ended)
			if ended.Type == batchv1.JobComplete {
				s.CompletionTime = ptr.To(c.now())
			}
		}
		return 0, err
	}
	if ptr.Deref(j.Spec.Suspend, false) {
		s.StartTime = nil
		c.put(s, batchv1.JobCondition{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, Reason: "JobSuspended", Message: "Job suspended"})
		return 0, c.dismiss(ctx, t.active)
	}
	if slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended }) {
		c.put(s, batchv1.JobCondition{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, Reason: "JobResumed", Message: "Job resumed"})
	}
	if s.StartTime == nil {
		s.StartTime = ptr.To(c.now())
	}
	again, err := c.run(ctx, j, s, t)
	if left, ok := c.left(j, s); ok && (again == 0 || left < again) {
		again = left
	}
	return again, err
}

// left is how long a job may still take. It reports false when it may take for ever.
func (c *controller) left(j *batchv1.Job, s *batchv1.JobStatus) (time.Duration, bool) {
	if j.Spec.ActiveDeadlineSeconds == nil || s.StartTime == nil || ptr.Deref(j.Spec.Suspend, false) {
		return 0, false
	}
	return s.StartTime.Add(time.Duration(*j.Spec.ActiveDeadlineSeconds) * time.Second).Sub(c.clock.Now()), true
}

// verdict returns the condition that a job is to end with, or nil when it is to go on. What was said once stays.
func (c *controller) verdict(j *batchv1.Job, s *batchv1.JobStatus, t tally) *batchv1.JobCondition {
	ends := map[batchv1.JobConditionType]batchv1.JobConditionType{
		batchv1.JobSuccessCriteriaMet: batchv1.JobComplete, batchv1.JobFailureTarget: batchv1.JobFailed,
	}
	for _, said := range s.Conditions {
		if end, ok := ends[said.Type]; ok {
			said.Type = end
			return &said
		}
	}
	limit := ptr.Deref(j.Spec.BackoffLimit, 6)
	restarting := j.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	left, bounded := c.left(j, s)
	switch {
	case j.Spec.Completions != nil && t.succeeded >= *j.Spec.Completions,
		j.Spec.Completions == nil && t.succeeded > 0 && len(t.active) == 0:
		return &batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, Reason: "CompletionsReached",
			Message: "Reached expected number of succeeded pods"}
	case t.failed > limit, restarting && limit > 0 && t.restarts >= limit, restarting && limit == 0 && t.restarts > 0:
		return &batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonBackoffLimitExceeded,
			Message: "Job has reached the specified backoff limit"}
	case bounded && left <= 0:
		return &batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonDeadlineExceeded,
			Message: "Job was active longer than specified deadline"}
	}
	return nil
}

// fail deletes pods that are at it. They count as failed when the next step sees them so.
func (c *controller) fail(ctx context.Context, pods []*corev1.Pod) error {
	return owned.Batches(len(pods), func(n int) error {
		c.logger.InfoContext(ctx, "deleted pod", "pod", listwatch.KeyOf(pods[n]), "job", metav1.GetControllerOf(pods[n]).Name)
		return c.pods.Mark(ctx, pods[n])
	})
}

// dismiss deletes pods that are not wanted any more, and that is no failure of theirs: they don't count.
func (c *controller) dismiss(ctx context.Context, pods []*corev1.Pod) error {
	return owned.Batches(len(pods), func(n int) error {
		freed, err := c.untrack(ctx, pods[n])
		if err != nil {
			return kube.UnlessBehind(err) // it may have finished meanwhile
		}
		c.logger.InfoContext(ctx, "deleted pod", "pod", listwatch.KeyOf(freed), "job", metav1.GetControllerOf(freed).Name)
		return kube.UnlessBehind(c.pods.Delete(ctx, freed, metav1.DeleteOptions{}))
	})
}

// run makes the pods that are missing, or deletes those that are too many.
func (c *controller) run(ctx context.Context, j *batchv1.Job, s *batchv1.JobStatus, t tally) (time.Duration, error) {
	wanted := ptr.Deref(j.Spec.Parallelism, 1)
	switch {
	case j.Spec.Completions != nil:
		wanted = min(wanted, max(*j.Spec.Completions-t.succeeded, 0))
	case t.succeeded > 0: // none of those that have begun is stopped, and none begins
		wanted = min(wanted, int32(len(t.active)))
	}
	more := int(wanted) - len(t.active)
	if more < 0 {
		slices.SortFunc(t.active, func(a, b *corev1.Pod) int { // those that have begun last, first
			return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
		return 0, c.dismiss(ctx, t.active[:-more])
	}
	if ptr.Deref(j.Spec.PodReplacementPolicy, batchv1.TerminatingOrFailed) == batchv1.Failed {
		more -= len(t.ending)
	}
	if more <= 0 {
		return 0, nil
	}
	if t.failed > 0 && !t.lastFailure.IsZero() {
		pause := min(firstPause<<min(t.failed-1, 16), longestPause)
		if left := t.lastFailure.Add(pause).Sub(c.clock.Now()); left > 0 {
			return left, nil
		}
	}
	err := c.create(ctx, j, t, more)
	report(s, c.again(j))
	return 0, err
}

// again is the tally of the pods that there are now, own writes included.
func (c *controller) again(j *batchv1.Job) tally {
	_, t := c.count(j, c.pods.Of(j.UID))
	return t
}

// create makes so many pods.
func (c *controller) create(ctx context.Context, j *batchv1.Job, t tally, more int) error {
	var free []int
	if indexed(j) {
		taken := map[int]bool{}
		for _, p := range t.active {
			if n, ok := indexOf(p); ok {
				taken[n] = true
			}
		}
		for n := 0; n < int(ptr.Deref(j.Spec.Completions, 0)) && len(free) < more; n++ {
			if !taken[n] && !t.done[n] {
				free = append(free, n)
			}
		}
		more = len(free)
	}
	return owned.Batches(more, func(n int) error {
		p := owned.PodOf(&j.Spec.Template, j, kind)
		p.Finalizers = append(p.Finalizers, batchv1.JobTrackingFinalizer)
		if indexed(j) {
			number(p, j.Name, free[n])
		}
		made, err := c.pods.Create(ctx, p)
		if kube.Ending(err) {
			return nil
		}
		if err != nil {
			_ = c.events.Event(ctx, j, corev1.EventTypeWarning, "FailedCreate", "Error creating: "+err.Error())
			return err
		}
		c.logger.InfoContext(ctx, "created pod", "pod", listwatch.KeyOf(made), "job", j.Name)
		_ = c.events.Event(ctx, j, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: "+made.Name)
		return nil
	})
}

// number tells a pod which one of an indexed job it is.
func number(p *corev1.Pod, job string, n int) {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	word := strconv.Itoa(n)
	p.Annotations[batchv1.JobCompletionIndexAnnotation] = word
	p.Labels[batchv1.JobCompletionIndexAnnotation] = word
	p.GenerateName = fmt.Sprintf("%s-%d-", job, n)
	p.Spec.Hostname = fmt.Sprintf("%s-%d", job, n)
	for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range containers {
			containers[i].Env = append(containers[i].Env, corev1.EnvVar{Name: "JOB_COMPLETION_INDEX", Value: word})
		}
	}
}
