package replicaset

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/benbjohnson/clock"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/controllers/owned"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// controller is what a step needs.
type controller[T kube.Object] struct {
	kind   kind[T]
	clock  clock.Clock
	logger *slog.Logger
	events *kube.Recorder
	sets   *informer.Informer[T]
	writer kube.Client[T]
	pods   *owned.Set[*corev1.Pod]
	queue  *workqueue.Queue[listwatch.Key]
}

func newController[T kube.Object](env control.Env, k kind[T]) (control.Controller, error) {
	sets, err1 := kube.Follow[T](env.Cluster, env.Factory, kube.Select{})
	pods, err2 := kube.Follow[*corev1.Pod](env.Cluster, env.Factory, kube.Select{})
	if err := errors.Join(err1, err2); err != nil {
		return control.Controller{}, err
	}
	set, err := owned.New(owned.Options[*corev1.Pod]{Cluster: env.Cluster, Informer: pods, Name: k.name, Kind: k.Kind})
	if err != nil {
		return control.Controller{}, err
	}
	c := &controller[T]{
		kind: k, clock: env.Clock, logger: env.Logger, events: kube.NewRecorder(env.Cluster, k.name+"-controller", env.Clock),
		sets: sets, writer: kube.For[T](env.Cluster), pods: set, queue: control.NewQueue(env, k.name),
	}
	orphans := control.Of(pods, c.adopters)
	return control.Loop(c.queue, c.step, control.Of(sets, nil), control.Of(pods, owned.KeysOf[*corev1.Pod](k.Kind)), orphans), nil
}

// adopters returns the keys of the sets that may adopt a pod.
func (c *controller[T]) adopters(p *corev1.Pod) []listwatch.Key {
	if metav1.GetControllerOfNoCopy(p) != nil || p.DeletionTimestamp != nil || len(p.Labels) == 0 {
		return nil
	}
	return c.kind.matching(c.sets, p)
}

// step makes the pods of a set as many as it wants, and reports how they are.
func (c *controller[T]) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	set, found := c.sets.Indexer().Get(key)
	if !found {
		return workqueue.Result{}, nil
	}
	defer c.pods.Again(c.queue, key)
	if !c.pods.Whole() {
		return workqueue.Result{}, nil
	}
	v, err := c.kind.view(set)
	if err != nil || v.selector.Empty() { // which would take everything
		return workqueue.Result{}, err
	}
	mine, err := c.pods.Claim(ctx, owned.Owner{Object: set, Kind: c.kind.GroupVersionKind, Live: func(ctx context.Context) (metav1.Object, error) {
		return c.writer.Get(ctx, key)
	}}, v.selector)
	if err != nil {
		return workqueue.Result{}, err
	}
	if set.GetDeletionTimestamp() == nil {
		err = c.replicate(ctx, set, v, active(mine))
	}
	status, again := c.status(set, v, active(c.pods.Of(set.GetUID())), err)
	if !equality.Semantic.DeepEqual(status, v.status) {
		_, failed := c.writer.UpdateStatus(ctx, c.kind.withStatus(set, status))
		err = errors.Join(err, kube.UnlessBehind(failed))
	}
	return workqueue.Result{After: again}, err
}

// active returns the pods that count.
func active(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return !owned.Active(p) })
}

// replicate makes pods that are missing and deletes those that are too many.
func (c *controller[T]) replicate(ctx context.Context, set T, v view, pods []*corev1.Pod) error {
	missing := int(v.replicas) - len(pods)
	if missing > 0 {
		return owned.Batches(missing, func(int) error {
			made, err := c.pods.Create(ctx, owned.PodOf(v.template, set, c.kind.GroupVersionKind))
			if kube.Ending(err) {
				return nil
			}
			if err != nil {
				_ = c.events.Event(ctx, set, corev1.EventTypeWarning, "FailedCreate", "Error creating: "+err.Error())
				return err
			}
			c.tell(ctx, set, "SuccessfulCreate", "created", made)
			return nil
		})
	}
	victims := slices.SortedStableFunc(slices.Values(pods), c.spare)[:-missing]
	return owned.Batches(len(victims), func(n int) error {
		err := c.pods.Delete(ctx, victims[n], metav1.DeleteOptions{})
		if err == nil {
			c.tell(ctx, set, "SuccessfulDelete", "deleted", victims[n])
		}
		return kube.UnlessBehind(err)
	})
}

// tell says what was done to a pod, such as that it was "created".
func (c *controller[T]) tell(ctx context.Context, set T, reason, deed string, p *corev1.Pod) {
	c.logger.InfoContext(ctx, deed+" pod", "pod", listwatch.KeyOf(p), c.kind.name, set.GetName())
	_ = c.events.Event(ctx, set, corev1.EventTypeNormal, reason, strings.ToUpper(deed[:1])+deed[1:]+" pod: "+p.Name)
}
