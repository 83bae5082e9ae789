package scheduler

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/scheduler/placement"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// scheduler is what a step needs.
type scheduler struct {
	options  Options
	pods     *informer.Informer[*corev1.Pod]
	client   kube.Client[*corev1.Pod]
	nodes    *placement.Nodes
	queue    *workqueue.Queue[listwatch.Key]
	recorder *kube.Recorder
}

// Run schedules pods until ctx is done, and blocks until its goroutines have ended. It returns an error when the options
// are at odds, or the informers can't be had.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return err
	}
	s := &scheduler{
		options: o, client: kube.For[*corev1.Pod](o.Cluster), nodes: placement.New(o.Profile),
		queue: workqueue.New(
			workqueue.Options{Name: "scheduler", Clock: o.Clock, Logger: o.Logger, ParkTimeout: o.ParkTimeout},
			workqueue.Policy[listwatch.Key]{Limiter: &workqueue.Exponential[listwatch.Key]{Base: o.Backoff, Max: o.MaxBackoff}}),
		recorder: kube.NewRecorder(o.Cluster, o.Name, o.Clock),
	}
	defer s.queue.Close()
	nodes, err1 := kube.Follow[*corev1.Node](o.Cluster, o.Factory, kube.Select{})
	pods, err2 := kube.Follow[*corev1.Pod](o.Cluster, o.Factory, kube.Select{})
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	s.pods = pods
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	nodesTold, err1 := nodes.AddHandler(ctx, s.nodeChanged, informer.HandlerOptions{Name: "scheduler"})
	podsTold, err2 := pods.AddHandler(ctx, s.podChanged, informer.HandlerOptions{Name: "scheduler"})
	if err := errors.Join(err1, err2); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	var running sync.WaitGroup
	var ended error
	running.Go(func() { ended = o.Factory.Run(ctx) })
	var err error
	if told(ctx, nodesTold, podsTold) { // who knows half of the pods gives away what others have
		err = workqueue.Process(ctx, s.queue, o.Workers, s.step)
	}
	cancel()
	running.Wait()
	return errors.Join(err, ended)
}

// told blocks until handlers have been told what there is, and returns false when ctx is done before.
func told(ctx context.Context, all ...*informer.Registration) bool {
	for _, r := range all {
		select {
		case <-r.Synced().Done():
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (s *scheduler) nodeChanged(_ context.Context, c informer.Change[*corev1.Node]) {
	if c.Type == informer.Delete {
		s.nodes.RemoveNode(c.Key.Name)
		return
	}
	s.nodes.SetNode(c.Object)
}

// podChanged goes by UIDs: under one name there may be a pod that has gone and one that has come.
func (s *scheduler) podChanged(_ context.Context, c informer.Change[*corev1.Pod]) {
	if c.Type == informer.Delete {
		s.nodes.RemovePod(c.Object.UID)
		s.queue.Cancel(c.Key)
		s.queue.Forget(c.Key)
		return
	}
	s.nodes.SetPod(c.Object)
	switch {
	case !s.waits(c.Object):
	case c.Type == informer.Add:
		s.queue.AddWith(c.Key, workqueue.AddOptions{Priority: priority(c.Object)})
	case wants(c.Old) != wants(c.Object) || !s.waits(c.Old):
		s.queue.AddWith(c.Key, workqueue.AddOptions{Priority: priority(c.Object)})
		s.nodes.Wake() // its key may be parked
	}
}

// waits says whether a pod is for this scheduler to place.
func (s *scheduler) waits(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && p.Spec.SchedulerName == s.options.Name && p.DeletionTimestamp == nil && len(p.Spec.SchedulingGates) == 0 &&
		p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

func priority(p *corev1.Pod) int {
	if p.Spec.Priority == nil {
		return 0
	}
	return int(*p.Spec.Priority)
}
