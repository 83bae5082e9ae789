package kubelet

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/manifest"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/podstate"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// podStep brings what runs of a pod in line with what is wanted, and then tells the API how it is.
func (k *Kubelet) podStep(ctx context.Context, uid types.UID) (workqueue.Result, error) {
	s, err := k.observe(ctx, uid)
	if err != nil {
		return workqueue.Result{}, err
	}
	static, pod := k.static(uid), k.source.pod(uid)
	switch {
	case static != nil:
		if ok, err := k.claim(ctx, static); err != nil || !ok {
			return workqueue.Result{}, err // that the other goes brings it back
		}
		pod = k.asKnown(static)
	case pod == nil:
		return k.unwanted(ctx, uid, s)
	case isMirror(pod):
		return k.mirrorStep(ctx, pod)
	}
	r := k.meet(pod, static != nil)
	if ok, err := k.admit(ctx, r, pod, s.boxes); err != nil {
		return workqueue.Result{}, err
	} else if !ok {
		return workqueue.Result{Await: k.source.pods.Synced()}, nil
	}
	v := k.view(r, pod, s)
	due := k.deadline(v)
	plan := podstate.Decide(v)
	if plan.NewSandbox {
		if err := k.makeSandbox(ctx, r, v); err != nil {
			return workqueue.Result{}, err
		}
		if s, err = k.observe(ctx, uid); err != nil {
			return workqueue.Result{}, err
		}
		v = k.view(r, pod, s)
		plan = podstate.Decide(v)
	}
	if err := k.act(ctx, r, v, plan); err != nil {
		return workqueue.Result{}, err
	}
	k.watch(ctx, r, v)
	result, err := k.report(ctx, r, v, plan)
	for _, at := range []time.Time{due, plan.Next} {
		if left := at.Sub(v.Now); !at.IsZero() && (result.After == 0 || left < result.After) {
			result.After = max(left, time.Millisecond)
		}
	}
	return result, err
}

// meet notes that a pod is wanted.
func (k *Kubelet) meet(pod *corev1.Pod, static bool) *record {
	r := k.recordOf(pod.UID)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pod, r.static = pod, static
	if static {
		r.endBy = time.Time{} // the file may have been away
	}
	if at := pod.DeletionTimestamp; at != nil && (r.endBy.IsZero() || at.Time.Before(r.endBy)) {
		r.endBy = at.Time
	}
	return r
}

// deadline fails a pod that has run for longer than it may, and returns when that will be.
func (k *Kubelet) deadline(v *podstate.View) time.Time {
	limit, since := v.Pod.Spec.ActiveDeadlineSeconds, v.Pod.Status.StartTime
	if limit == nil || since == nil || v.Ended() {
		return time.Time{}
	}
	due := since.Add(time.Duration(*limit) * time.Second)
	if v.Now.Before(due) {
		return due
	}
	v.Failed = &podstate.Held{Reason: "DeadlineExceeded", Message: "Pod was active on the node longer than the specified deadline"}
	if r := k.known(v.Pod.UID); r != nil {
		r.mu.Lock()
		r.failed = v.Failed
		r.mu.Unlock()
	}
	k.tell(v.Pod, corev1.EventTypeNormal, v.Failed.Reason, v.Failed.Message)
	return time.Time{}
}

// makeSandbox makes a sandbox for a pod.
func (k *Kubelet) makeSandbox(ctx context.Context, r *record, v *podstate.View) error {
	p := v.Pod
	config := runtime.SandboxConfig{
		Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Hostname: p.Spec.Hostname, HostNetwork: p.Spec.HostNetwork,
		Annotations: map[string]string{annotationGrace: strconv.FormatInt(ptr.Deref(p.Spec.TerminationGracePeriodSeconds, 30), 10)},
	}
	if r.isStatic() {
		config.Annotations[manifest.AnnotationSource] = manifest.SourceFile
	}
	if k.o.Dir != "" {
		config.LogDirectory = k.logDir(p)
	}
	for _, b := range v.Sandboxes {
		config.Attempt = max(config.Attempt, b.Config.Attempt+1)
	}
	for i := range p.Spec.Containers {
		l := limits(&p.Spec.Containers[i])
		config.Limits.MilliCPU += l.MilliCPU
		config.Limits.MemoryBytes += l.MemoryBytes
		if l.MilliCPU == 0 || l.MemoryBytes == 0 {
			config.Limits = runtime.Limits{} // some container has no limit
			break
		}
	}
	if _, err := k.o.Runtime.RunPodSandbox(ctx, config); err != nil {
		k.tell(p, corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: "+err.Error())
		return fmt.Errorf("sandbox of %s: %w", keyOf(p), err)
	}
	return nil
}

// limits are those of a container.
func limits(c *corev1.Container) runtime.Limits {
	return runtime.Limits{MilliCPU: c.Resources.Limits.Cpu().MilliValue(), MemoryBytes: c.Resources.Limits.Memory().Value()}
}

// act does what a plan says. It does not wait for containers.
func (k *Kubelet) act(ctx context.Context, r *record, v *podstate.View, plan podstate.Plan) error {
	box := v.Sandbox()
	for _, s := range plan.Start {
		k.start(ctx, r, v.Pod, *box, s)
	}
	for _, s := range plan.Stop {
		k.stop(ctx, r, v, s)
	}
	if plan.Over {
		for _, b := range v.Sandboxes {
			if b.Ready {
				if err := k.o.Runtime.StopPodSandbox(ctx, b.ID); err != nil {
					return err
				}
			}
		}
		return k.clean(r.uid, false)
	}
	return k.sweep(ctx, v)
}

// sweep removes containers that are neither the newest of their name nor the one before, and sandboxes that are over and
// empty.
func (k *Kubelet) sweep(ctx context.Context, v *podstate.View) error {
	holds := map[string]bool{}
	for i := range v.Containers {
		c := &v.Containers[i]
		newest, before := v.Latest(c.Config.Name), v.Previous(c.Config.Name)
		if c.State != runtime.Running && c.ID != newest.ID && (before == nil || c.ID != before.ID) {
			if err := k.o.Runtime.RemoveContainer(ctx, c.ID); err != nil {
				return err
			}
			continue
		}
		holds[c.Sandbox] = true
	}
	for _, b := range v.Sandboxes {
		if box := v.Sandbox(); !b.Ready && !holds[b.ID] && box != nil {
			if err := k.o.Runtime.RemovePodSandbox(ctx, b.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// unwanted ends what is left of a pod that nobody wants any more.
func (k *Kubelet) unwanted(ctx context.Context, uid types.UID, s seen) (workqueue.Result, error) {
	r := k.known(uid)
	gone, err := k.gone(ctx, uid, r, s.boxes)
	if err != nil || !gone {
		return workqueue.Result{}, err
	}
	if len(s.boxes) > 0 && r == nil {
		k.o.Logger.Info("orphan", "pod", s.boxes[0].Config.Namespace+"/"+s.boxes[0].Config.Name, "uid", uid, "node", k.o.Node)
		r = k.recordOf(uid)
	}
	if r != nil {
		ends, err := k.end(ctx, r, s)
		if ends || err != nil {
			return workqueue.Result{}, err // events tell when they have ended
		}
	}
	for _, b := range s.boxes {
		if err := k.o.Runtime.RemovePodSandbox(ctx, b.ID); err != nil {
			return workqueue.Result{}, err
		}
	}
	if err := k.clean(uid, true); err != nil {
		return workqueue.Result{}, err
	}
	if r != nil {
		k.forget(r)
	}
	return workqueue.Result{}, nil
}

// end stops the containers of a pod that is gone, and reports whether any is left to end.
func (k *Kubelet) end(ctx context.Context, r *record, s seen) (bool, error) {
	r.mu.Lock()
	pod, busy := r.pod, len(r.busy) > 0
	if pod == nil {
		c := s.boxes[0].Config
		grace, _ := strconv.ParseInt(c.Annotations[annotationGrace], 10, 64) // without one they are killed
		pod = &corev1.Pod{}
		pod.Namespace, pod.Name, pod.UID, pod.Spec.TerminationGracePeriodSeconds = c.Namespace, c.Name, r.uid, &grace
		r.pod, r.static = pod, ofFile(&s.boxes[0])
	}
	if r.endBy.IsZero() {
		grace := ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 30)
		r.endBy = k.o.Clock.Now().Add(time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, grace)) * time.Second)
	}
	r.mu.Unlock()
	v := k.view(r, pod, s)
	v.Deleted = true
	plan := podstate.Decide(v)
	for _, stop := range plan.Stop {
		k.stop(ctx, r, v, stop)
	}
	k.watch(ctx, r, v)
	if busy || !plan.Over {
		return true, k.showEnd(ctx, r, v, plan)
	}
	return false, nil
}

// gone reports whether it is certain that a pod is wanted by nobody: not before the API was read, or the manifests.
func (k *Kubelet) gone(ctx context.Context, uid types.UID, r *record, boxes []runtime.Sandbox) (bool, error) {
	switch {
	case r != nil && r.isStatic() || len(boxes) > 0 && ofFile(&boxes[0]):
		return k.staticGone(uid) || k.replaced(uid, boxes), nil
	case !k.source.pods.Synced().Fired():
		return false, nil
	case r != nil || len(boxes) == 0:
		return true, nil
	}
	// One of an earlier run: the first list may have been an old one, so the server is asked.
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	p, err := k.pods.Get(within, listwatch.Key{Namespace: boxes[0].Config.Namespace, Name: boxes[0].Config.Name})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // a node may not read what is not its own
		return true, nil
	case err != nil:
		return false, err
	}
	return string(p.UID) != boxes[0].Config.UID || p.Spec.NodeName != k.o.Node, nil
}
