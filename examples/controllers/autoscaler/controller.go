package autoscaler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/benbjohnson/clock"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// controller is what a step needs.
type controller struct {
	cluster *kube.Cluster
	clock   clock.Clock
	logger  *slog.Logger
	events  *kube.Recorder
	scalers *informer.Informer[*autoscalingv2.HorizontalPodAutoscaler]
	writer  kube.Client[*autoscalingv2.HorizontalPodAutoscaler]
	// pods finds them by their namespace.
	pods    *indexer.Index[*corev1.Pod, string]
	sampler *sampler
	mu      sync.Mutex
	// wishes are what was wanted of late, by the autoscaler's key. Guarded by mu.
	wishes map[listwatch.Key]wishes
}

// New makes the controller of HorizontalPodAutoscalers with the figures of kubelets. It returns an error when an informer
// can't be had.
func New(env control.Env) (control.Controller, error) { return With(Kubelets(env.Cluster))(env) }

// With returns what makes the controller with figures from elsewhere.
func With(f Figures) control.Make {
	return func(env control.Env) (control.Controller, error) {
		scalers, err1 := kube.Follow[*autoscalingv2.HorizontalPodAutoscaler](env.Cluster, env.Factory, kube.Select{})
		pods, err2 := kube.Follow[*corev1.Pod](env.Cluster, env.Factory, kube.Select{})
		if err := errors.Join(err1, err2); err != nil {
			return control.Controller{}, err
		}
		const name = "autoscaler"
		namespaces, err := indexer.AddIndex(pods.Indexer(), name+" namespace", indexer.One((*corev1.Pod).GetNamespace))
		if err != nil {
			return control.Controller{}, err
		}
		c := &controller{
			cluster: env.Cluster, clock: env.Clock, logger: env.Logger,
			events:  kube.NewRecorder(env.Cluster, "horizontal-pod-autoscaler", env.Clock),
			scalers: scalers, writer: kube.For[*autoscalingv2.HorizontalPodAutoscaler](env.Cluster), pods: namespaces,
			sampler: &sampler{figures: f, clock: env.Clock, nodes: map[string]*samples{}}, wishes: map[listwatch.Key]wishes{},
		}
		return control.Loop(control.NewQueue(env, name), c.step, control.Of(scalers, nil), control.Of(pods, func(*corev1.Pod) []listwatch.Key { return nil })), nil
	}
}

// step looks at one autoscaler's target, and comes again after a period.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	a, found := c.scalers.Indexer().Get(key)
	if !found || a.DeletionTimestamp != nil {
		c.mu.Lock()
		delete(c.wishes, key)
		c.mu.Unlock()
		return workqueue.Result{}, nil
	}
	status := a.Status.DeepCopy()
	err := c.scale(ctx, a, status)
	status.ObservedGeneration = ptr.To(a.Generation)
	if !equality.Semantic.DeepEqual(status, &a.Status) {
		changed := a.DeepCopy()
		changed.Status = *status
		_, failed := c.writer.UpdateStatus(ctx, changed)
		err = errors.Join(err, kube.UnlessBehind(failed))
	}
	if err != nil {
		c.logger.WarnContext(ctx, "autoscaler failed", "autoscaler", key, "error", err)
	}
	return workqueue.Result{After: period}, nil
}

// scale gives the target the replicas that it needs, and writes into the status what it came to.
func (c *controller) scale(ctx context.Context, a *autoscalingv2.HorizontalPodAutoscaler, s *autoscalingv2.HorizontalPodAutoscalerStatus) error {
	ref := a.Spec.ScaleTargetRef
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	scale, err := c.cluster.GetScale(ctx, kind, listwatch.Key{Namespace: a.Namespace, Name: ref.Name})
	if err != nil {
		return c.unable(s, autoscalingv2.AbleToScale, "FailedGetScale", err)
	}
	c.say(s, autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededGetScale", "the target's current scale was read")
	current := scale.Spec.Replicas
	s.CurrentReplicas = scale.Status.Replicas
	least, most := ptr.Deref(a.Spec.MinReplicas, 1), a.Spec.MaxReplicas
	if current == 0 {
		s.DesiredReplicas = 0
		return c.unable(s, autoscalingv2.ScalingActive, "ScalingDisabled", errors.New("scaling is disabled since the replica count of the target is zero"))
	}
	wanted := min(max(current, least), most)
	if wanted == current {
		n, err := c.recommend(ctx, a, s, scale)
		if err != nil {
			return c.unable(s, autoscalingv2.ScalingActive, "FailedGetResourceMetric", err)
		}
		n = c.calm(a, n, current)
		wanted = min(max(n, least), most)
		if wanted != n {
			c.say(s, autoscalingv2.ScalingLimited, corev1.ConditionTrue, "OutOfRange", "the desired count is outside of the allowed range")
		} else {
			c.say(s, autoscalingv2.ScalingLimited, corev1.ConditionFalse, "DesiredWithinRange", "the desired count is within the acceptable range")
		}
	}
	s.DesiredReplicas = wanted
	if wanted == current {
		return nil
	}
	scale.Spec.Replicas = wanted
	if _, err := c.cluster.SetScale(ctx, kind, scale); err != nil {
		return c.unable(s, autoscalingv2.AbleToScale, "FailedUpdateScale", err)
	}
	c.logger.InfoContext(ctx, "rescaled", "autoscaler", listwatch.KeyOf(a), "target", ref.Name, "from", current, "to", wanted)
	c.say(s, autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededRescale", fmt.Sprintf("the target was given %d replicas", wanted))
	s.LastScaleTime = ptr.To(metav1.NewTime(c.clock.Now()))
	_ = c.events.Event(ctx, a, corev1.EventTypeNormal, "SuccessfulRescale", fmt.Sprintf("New size: %d; reason: cpu resource utilization", wanted))
	return nil
}

// calm returns a number that is wanted, or one that was wanted of late.
func (c *controller) calm(a *autoscalingv2.HorizontalPodAutoscaler, n, current int32) int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.wishes[listwatch.KeyOf(a)]
	if of.uid != a.UID {
		of = wishes{uid: a.UID}
	}
	of.late, n = calmed(of.late, wish{c.clock.Now(), n}, window(a), current)
	c.wishes[listwatch.KeyOf(a)] = of
	return n
}

// recommend returns how many replicas the use of CPU asks for.
func (c *controller) recommend(ctx context.Context, a *autoscalingv2.HorizontalPodAutoscaler, s *autoscalingv2.HorizontalPodAutoscalerStatus, scale *autoscalingv1.Scale) (int32, error) {
	percent, ok := target(a)
	if !ok {
		return 0, errors.New("only utilization of CPU is known as a metric")
	}
	selector, err := labels.Parse(scale.Status.Selector)
	if err != nil || selector.Empty() {
		return 0, errors.Join(errors.New("the target has no selector"), err)
	}
	u, err := c.use(ctx, a.Namespace, selector)
	if err != nil {
		return 0, err
	}
	average := u.percent()
	s.CurrentMetrics = []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
		Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{
			AverageUtilization: &average, AverageValue: milli(u.used / float64(u.measured)),
		},
	}}}
	c.say(s, autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound", "the replica count was calculated from cpu resource utilization")
	return u.wanted(percent, scale.Spec.Replicas), nil
}
