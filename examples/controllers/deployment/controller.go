package deployment

import (
	"context"
	"errors"
	"log/slog"

	"github.com/benbjohnson/clock"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/controllers/owned"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// kind is that of the owners.
var kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// controller is what a step needs.
type controller struct {
	clock       clock.Clock
	logger      *slog.Logger
	events      *kube.Recorder
	deployments *informer.Informer[*appsv1.Deployment]
	writer      kube.Client[*appsv1.Deployment]
	sets        *owned.Set[*appsv1.ReplicaSet]
	// ofSet finds pods by the UID of their replica set.
	ofSet *indexer.Index[*corev1.Pod, types.UID]
	queue *workqueue.Queue[listwatch.Key]
}

// New makes the controller of Deployments. It returns an error when an informer can't be had.
func New(env control.Env) (control.Controller, error) {
	deployments, err1 := kube.Follow[*appsv1.Deployment](env.Cluster, env.Factory, kube.Select{})
	sets, err2 := kube.Follow[*appsv1.ReplicaSet](env.Cluster, env.Factory, kube.Select{})
	pods, err3 := kube.Follow[*corev1.Pod](env.Cluster, env.Factory, kube.Select{})
	if err := errors.Join(err1, err2, err3); err != nil {
		return control.Controller{}, err
	}
	const name = "deployment"
	set, err1 := owned.New(owned.Options[*appsv1.ReplicaSet]{Cluster: env.Cluster, Informer: sets, Name: name, Kind: kind.Kind})
	ofSet, err2 := indexer.AddIndex(pods.Indexer(), name+" replicaset", func(p *corev1.Pod) []types.UID {
		if ref := metav1.GetControllerOfNoCopy(p); ref != nil && ref.Kind == "ReplicaSet" {
			return []types.UID{ref.UID}
		}
		return nil
	})
	if err := errors.Join(err1, err2); err != nil {
		return control.Controller{}, err
	}
	c := &controller{
		clock: env.Clock, logger: env.Logger, events: kube.NewRecorder(env.Cluster, "deployment-controller", env.Clock),
		deployments: deployments, writer: kube.For[*appsv1.Deployment](env.Cluster), sets: set, ofSet: ofSet,
		queue: control.NewQueue(env, name),
	}
	owners := owned.KeysOf[*appsv1.ReplicaSet](kind.Kind)
	recreated := func(p *corev1.Pod) []listwatch.Key { // whose pods' end is waited for
		ref := metav1.GetControllerOfNoCopy(p)
		if ref == nil || ref.Kind != "ReplicaSet" {
			return nil
		}
		set, ok := sets.Indexer().Get(listwatch.Key{Namespace: p.Namespace, Name: ref.Name})
		if !ok || set.UID != ref.UID {
			return nil
		}
		for _, key := range owners(set) {
			if d, ok := deployments.Indexer().Get(key); ok && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
				return []listwatch.Key{key}
			}
		}
		return nil
	}
	return control.Loop(c.queue, c.step, control.Of(deployments, nil), control.Of(sets, owners), control.Of(sets, c.adopters),
		control.Of(pods, recreated)), nil
}

// adopters returns the keys of the deployments that may adopt a set.
func (c *controller) adopters(r *appsv1.ReplicaSet) (keys []listwatch.Key) {
	if metav1.GetControllerOfNoCopy(r) != nil || r.DeletionTimestamp != nil {
		return nil
	}
	for key, d := range c.deployments.Indexer().All() {
		if key.Namespace != r.Namespace {
			continue
		}
		if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil && !s.Empty() && s.Matches(labels.Set(r.Labels)) {
			keys = append(keys, key)
		}
	}
	return keys
}

// step does the next thing for a deployment, and reports how it is.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	d, found := c.deployments.Indexer().Get(key)
	if !found {
		return workqueue.Result{}, nil
	}
	defer c.sets.Again(c.queue, key)
	if !c.sets.Whole() {
		return workqueue.Result{}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil || selector.Empty() { // which would take everything
		return workqueue.Result{}, err
	}
	mine, err := c.sets.Claim(ctx, owned.Owner{Object: d, Kind: kind, Live: func(ctx context.Context) (metav1.Object, error) {
		return c.writer.Get(ctx, key)
	}}, selector)
	if err != nil {
		return workqueue.Result{}, err
	}
	r := newRollout(d, mine)
	var failed error
	if d.DeletionTimestamp == nil {
		failed = c.advance(ctx, r)
	}
	// What it has come to, own writes included.
	done := newRollout(d, c.sets.Of(d.UID))
	status, again := c.status(done, r.collisions)
	if !equality.Semantic.DeepEqual(status, d.Status) {
		changed := d.DeepCopy()
		changed.Status = status
		written, err := c.writer.UpdateStatus(ctx, changed)
		failed = errors.Join(failed, kube.UnlessBehind(err))
		if err == nil {
			d = written
		}
	}
	if revision := done.revision(); failed == nil && d.DeletionTimestamp == nil && revision != "" && d.Annotations[revisionAnnotation] != revision {
		_, err := c.writer.Patch(ctx, key, kube.Patch{Body: map[string]any{"metadata": map[string]any{
			"uid": d.UID, "annotations": map[string]string{revisionAnnotation: revision},
		}}})
		failed = kube.UnlessBehind(err)
	}
	return workqueue.Result{After: again}, failed
}
