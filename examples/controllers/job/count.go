package job

import (
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/controllers/owned"
)

// tally is what the pods of a job come to.
type tally struct {
	// active are the pods that run or will, ending those that are being deleted and haven't finished.
	active, ending []*corev1.Pod
	// succeeded and failed count all that finished, those that are only noted included.
	succeeded, failed int32
	// restarts are those of containers in active pods.
	restarts int32
	// lastFailure is when the last of the failed pods that are still there ended.
	lastFailure time.Time
	// done are the indexes that have succeeded.
	done map[int]bool
}

// indexed reports whether each pod of a job has a number of its own.
func indexed(j *batchv1.Job) bool {
	return ptr.Deref(j.Spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

// noted reports whether a finished pod is in the status, so that it may go.
func (c *controller) noted(j *batchv1.Job, p *corev1.Pod) bool {
	if u := j.Status.UncountedTerminatedPods; u != nil && (slices.Contains(u.Succeeded, p.UID) || slices.Contains(u.Failed, p.UID)) {
		return true
	}
	n, ok := indexOf(p)
	return ok && indexed(j) && p.Status.Phase == corev1.PodSucceeded && indexes(j.Status.CompletedIndexes)[n]
}

// count notes in a new status what has finished and counts what was noted and has been let go. pods are all that the job
// owns.
func (c *controller) count(j *batchv1.Job, pods []*corev1.Pod) (batchv1.JobStatus, tally) {
	s := *j.Status.DeepCopy()
	u := ptr.Deref(s.UncountedTerminatedPods, batchv1.UncountedTerminatedPods{})
	held := map[types.UID]bool{}
	for _, p := range pods {
		held[p.UID] = held[p.UID] || tracked(p)
	}
	settle := func(noted []types.UID, counted *int32) []types.UID {
		return slices.DeleteFunc(noted, func(uid types.UID) bool {
			if !held[uid] {
				*counted++
			}
			return !held[uid]
		})
	}
	t := tally{done: indexes(s.CompletedIndexes)}
	u.Succeeded, u.Failed = settle(u.Succeeded, &s.Succeeded), settle(u.Failed, &s.Failed)
	for _, p := range pods {
		switch {
		case p.Status.Phase == corev1.PodSucceeded:
			if n, ok := indexOf(p); ok && indexed(j) {
				t.done[n] = true
			} else if tracked(p) && !slices.Contains(u.Succeeded, p.UID) {
				u.Succeeded = append(u.Succeeded, p.UID)
			}
		case p.Status.Phase == corev1.PodFailed || p.DeletionTimestamp != nil:
			if p.Status.Phase != corev1.PodFailed && tracked(p) {
				t.ending = append(t.ending, p)
			}
			if tracked(p) && !slices.Contains(u.Failed, p.UID) {
				u.Failed = append(u.Failed, p.UID)
			}
			if ended := endOf(p); ended.After(t.lastFailure) {
				t.lastFailure = ended
			}
		default:
			t.active = append(t.active, p)
			for _, state := range p.Status.ContainerStatuses {
				t.restarts += state.RestartCount
			}
		}
	}
	if indexed(j) {
		s.CompletedIndexes, s.Succeeded = ranges(t.done), int32(len(t.done))
	}
	s.UncountedTerminatedPods = &u
	t.succeeded, t.failed = s.Succeeded+int32(len(u.Succeeded)), s.Failed+int32(len(u.Failed))
	report(&s, t)
	return s, t
}

// report writes into a status how many pods are at it.
func report(s *batchv1.JobStatus, t tally) {
	s.Active, s.Ready, s.Terminating = int32(len(t.active)), ptr.To[int32](0), ptr.To(int32(len(t.ending)))
	for _, p := range t.active {
		if _, ready := owned.ReadySince(p); ready {
			*s.Ready++
		}
	}
}

// endOf returns when a pod ended, as far as that is known.
func endOf(p *corev1.Pod) (end time.Time) {
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil && t.FinishedAt.After(end) {
			end = t.FinishedAt.Time
		}
	}
	if end.IsZero() && p.DeletionTimestamp != nil {
		return p.DeletionTimestamp.Time
	}
	if end.IsZero() {
		return p.CreationTimestamp.Time
	}
	return end
}

// indexOf returns the number that a pod of an indexed job has.
func indexOf(p *corev1.Pod) (int, bool) {
	n, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
	return n, err == nil
}

// indexes reads what ranges writes.
func indexes(s string) map[int]bool {
	all := map[int]bool{}
	for part := range strings.SplitSeq(s, ",") {
		low, high, more := strings.Cut(part, "-")
		from, err := strconv.Atoi(low)
		to := from
		if err == nil && more {
			to, err = strconv.Atoi(high)
		}
		for n := from; err == nil && n <= to; n++ {
			all[n] = true
		}
	}
	return all
}

// ranges writes numbers as in "0,2-5".
func ranges(all map[int]bool) string {
	var sorted []int
	for n := range all {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	var parts []string
	for at := 0; at < len(sorted); {
		end := at
		for end+1 < len(sorted) && sorted[end+1] == sorted[end]+1 {
			end++
		}
		part := strconv.Itoa(sorted[at])
		switch {
		case end == at+1: // two are no range
			end = at
		case end > at:
			part += "-" + strconv.Itoa(sorted[end])
		}
		parts, at = append(parts, part), end+1
	}
	return strings.Join(parts, ",")
}
