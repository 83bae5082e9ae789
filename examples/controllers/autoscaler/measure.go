package autoscaler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/seed3bce33ad/listwatch/examples/controllers/owned"
)

// use adds up what the pods use that a selector selects. It returns an error when not one of them can be measured.
func (c *controller) use(ctx context.Context, namespace string, selector labels.Selector) (u use, err error) {
	var errs []error
	for _, p := range c.pods.Get(namespace) {
		if !owned.Active(p) || !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		requested, ok := request(p)
		if !ok {
			return use{}, fmt.Errorf("missing request for cpu in a container of pod %s", p.Name)
		}
		if p.Spec.NodeName != "" {
			rates, err := c.sampler.rates(ctx, p.Spec.NodeName)
			errs = append(errs, err)
			if rate, ok := rates[p.UID]; ok {
				u.measured, u.used, u.requested = u.measured+1, u.used+rate, u.requested+requested
				continue
			}
		}
		u.silent, u.dark = u.silent+1, u.dark+requested
	}
	if u.measured == 0 {
		return use{}, errors.Join(errors.New("no pod has figures yet"), errors.Join(errs...))
	}
	return u, nil
}

// milli is a number of processors as a quantity.
func milli(processors float64) *resource.Quantity {
	return resource.NewMilliQuantity(int64(processors*1000), resource.DecimalSI)
}

// unable says by a condition what has gone wrong, and returns it.
func (c *controller) unable(s *autoscalingv2.HorizontalPodAutoscalerStatus, t autoscalingv2.HorizontalPodAutoscalerConditionType, reason string, err error) error {
	c.say(s, t, corev1.ConditionFalse, reason, err.Error())
	return err
}

// say puts a condition into a status.
func (c *controller) say(s *autoscalingv2.HorizontalPodAutoscalerStatus, t autoscalingv2.HorizontalPodAutoscalerConditionType, is corev1.ConditionStatus, reason, message string) {
	n := autoscalingv2.HorizontalPodAutoscalerCondition{Type: t, Status: is, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(c.clock.Now())}
	at := slices.IndexFunc(s.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool { return c.Type == t })
	if at < 0 {
		s.Conditions = append(s.Conditions, n)
		return
	}
	if s.Conditions[at].Status == is {
		n.LastTransitionTime = s.Conditions[at].LastTransitionTime
	}
	s.Conditions[at] = n
}
