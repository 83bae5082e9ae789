package job

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/benbjohnson/clock"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/controllers/owned"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// kind is that of the owners.
var kind = batchv1.SchemeGroupVersion.WithKind("Job")

// controller is what a step needs.
type controller struct {
	clock  clock.Clock
	logger *slog.Logger
	events *kube.Recorder
	jobs   *informer.Informer[*batchv1.Job]
	writer kube.Client[*batchv1.Job]
	pods   *owned.Set[*corev1.Pod]
	// held finds the pods that wait to be counted, by the key of their job.
	held  *indexer.Index[*corev1.Pod, listwatch.Key]
	queue *workqueue.Queue[listwatch.Key]
}

// New makes the controller of Jobs. It returns an error when an informer can't be had.
func New(env control.Env) (control.Controller, error) {
	jobs, err1 := kube.Follow[*batchv1.Job](env.Cluster, env.Factory, kube.Select{})
	pods, err2 := kube.Follow[*corev1.Pod](env.Cluster, env.Factory, kube.Select{})
	if err := errors.Join(err1, err2); err != nil {
		return control.Controller{}, err
	}
	const name = "job"
	owners := owned.KeysOf[*corev1.Pod](kind.Kind)
	set, err1 := owned.New(owned.Options[*corev1.Pod]{Cluster: env.Cluster, Informer: pods, Name: name, Kind: kind.Kind})
	held, err2 := indexer.AddIndex(pods.Indexer(), name+" held", func(p *corev1.Pod) []listwatch.Key {
		if !tracked(p) {
			return nil
		}
		return owners(p)
	})
	if err := errors.Join(err1, err2); err != nil {
		return control.Controller{}, err
	}
	c := &controller{
		clock: env.Clock, logger: env.Logger, events: kube.NewRecorder(env.Cluster, "job-controller", env.Clock),
		jobs: jobs, writer: kube.For[*batchv1.Job](env.Cluster), pods: set, held: held, queue: control.NewQueue(env, name),
	}
	return control.Loop(c.queue, c.step, control.Of(jobs, nil), control.Of(pods, owners)), nil
}

// tracked reports whether a pod is held until it is counted.
func tracked(p *corev1.Pod) bool { return slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) }

// step counts what has finished, makes and deletes pods, and reports how the job is.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	j, found := c.jobs.Indexer().Get(key)
	if err := c.letGo(ctx, key, j); err != nil {
		return workqueue.Result{}, err
	}
	if !found {
		return workqueue.Result{}, nil
	}
	if ended := finished(&j.Status); ended != nil {
		return c.expire(ctx, j, ended.LastTransitionTime.Time)
	}
	defer c.pods.Again(c.queue, key)
	if !c.pods.Whole() {
		return workqueue.Result{}, nil
	}
	status, count := c.count(j, c.pods.Of(j.UID))
	var again time.Duration
	var err error
	if j.DeletionTimestamp == nil {
		again, err = c.act(ctx, j, &status, count)
	}
	if !equality.Semantic.DeepEqual(status, j.Status) {
		changed := j.DeepCopy()
		changed.Status = status
		written, failed := c.writer.UpdateStatus(ctx, changed)
		if failed != nil {
			return workqueue.Result{After: again}, errors.Join(err, kube.UnlessBehind(failed))
		}
		c.told(ctx, written)
		// Only what stands in the status that the cache has may lose its finalizer.
		return workqueue.Result{Await: c.jobs.Reached(written.ResourceVersion)}, err
	}
	return workqueue.Result{After: again}, errors.Join(err, c.release(ctx, j))
}

// told says that a job has ended.
func (c *controller) told(ctx context.Context, j *batchv1.Job) {
	ended := finished(&j.Status)
	if ended == nil {
		return
	}
	c.logger.InfoContext(ctx, "job finished", "job", listwatch.KeyOf(j), "as", ended.Type, "reason", ended.Reason)
	if ended.Type == batchv1.JobComplete {
		_ = c.events.Event(ctx, j, corev1.EventTypeNormal, "Completed", "Job completed")
	} else {
		_ = c.events.Event(ctx, j, corev1.EventTypeWarning, ended.Reason, ended.Message)
	}
}

// release takes the finalizer from the pods that the status has noted.
func (c *controller) release(ctx context.Context, j *batchv1.Job) error {
	var noted []*corev1.Pod
	for _, p := range c.pods.Of(j.UID) {
		if tracked(p) && c.noted(j, p) {
			noted = append(noted, p)
		}
	}
	return c.free(ctx, noted)
}

// letGo takes the finalizer from pods of an earlier job under the key, and of one that has finished. j may be nil.
func (c *controller) letGo(ctx context.Context, key listwatch.Key, j *batchv1.Job) error {
	var left []*corev1.Pod
	var live *batchv1.Job
	for _, p := range c.held.Get(key) {
		of := metav1.GetControllerOf(p).UID
		switch {
		case j != nil && of == j.UID:
			if finished(&j.Status) == nil {
				continue
			}
		case live == nil: // the cache may be behind
			var err error
			if live, err = c.writer.Get(ctx, key); apierrors.IsNotFound(err) {
				live = &batchv1.Job{}
			} else if err != nil {
				return err
			}
			if live.UID == of {
				continue
			}
		case live.UID == of:
			continue
		}
		left = append(left, p)
	}
	return c.free(ctx, left)
}

// free takes the finalizer from pods.
func (c *controller) free(ctx context.Context, pods []*corev1.Pod) error {
	return owned.Batches(len(pods), func(n int) error {
		_, err := c.untrack(ctx, pods[n])
		return kube.UnlessBehind(err)
	})
}

// untrack takes the finalizer from a pod, if it is as it was seen.
func (c *controller) untrack(ctx context.Context, p *corev1.Pod) (*corev1.Pod, error) {
	kept := slices.DeleteFunc(slices.Clone(p.Finalizers), func(f string) bool { return f == batchv1.JobTrackingFinalizer })
	return c.pods.Patch(ctx, p, kube.Patch{Body: map[string]any{
		"metadata": map[string]any{"uid": p.UID, "resourceVersion": p.ResourceVersion, "finalizers": kept},
	}})
}

// expire deletes a finished job when its time to live is over.
func (c *controller) expire(ctx context.Context, j *batchv1.Job, ended time.Time) (workqueue.Result, error) {
	if j.Spec.TTLSecondsAfterFinished == nil || j.DeletionTimestamp != nil {
		return workqueue.Result{}, nil
	}
	left := ended.Add(time.Duration(*j.Spec.TTLSecondsAfterFinished) * time.Second).Sub(c.clock.Now())
	if left > 0 {
		return workqueue.Result{After: left}, nil
	}
	c.logger.InfoContext(ctx, "deleted finished job", "job", listwatch.KeyOf(j))
	return workqueue.Result{}, kube.UnlessBehind(c.writer.Delete(ctx, listwatch.KeyOf(j), metav1.DeleteOptions{
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
		Preconditions:     &metav1.Preconditions{UID: &j.UID, ResourceVersion: &j.ResourceVersion},
	}))
}
