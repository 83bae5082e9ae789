package autoscaler

import (
	"math"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	// period is the time between two looks at a target.
	period = 15 * time.Second
	// tolerance is which part of the target the use may be away from it without any change.
	tolerance = 0.1 + 1e-9
	// calm is for how long the highest number that was wanted is kept, unless the autoscaler says.
	calm = 5 * time.Minute
)

// use is what the pods of a target use.
type use struct {
	// measured is the number of pods with figures; used and requested are theirs, in processors.
	measured        int32
	used, requested float64
	// silent is the number of pods without figures, and dark what they request: they may use all of it, or nothing.
	silent int32
	dark   float64
}

// percent is the use in parts of what is requested.
func (u use) percent() int32 { return int32(math.Round(100 * u.used / u.requested)) }

// wanted is how many replicas a use asks for, when so many percent are the target.
func (u use) wanted(target, current int32) int32 {
	ratio := 100 * u.used / u.requested / float64(target)
	if math.Abs(ratio-1) <= tolerance {
		return current
	}
	if u.silent > 0 { // is it so whatever they do?
		used := u.used
		if ratio < 1 {
			used += u.dark * float64(target) / 100
		}
		careful := 100 * used / (u.requested + u.dark) / float64(target)
		if math.Abs(careful-1) <= tolerance || (careful > 1) != (ratio > 1) {
			return current
		}
		return int32(math.Ceil(careful * float64(u.measured+u.silent)))
	}
	return int32(math.Ceil(ratio * float64(u.measured)))
}

// request is what a pod requests, in processors. It reports false when a container says nothing.
func request(p *corev1.Pod) (sum float64, ok bool) {
	for _, c := range p.Spec.Containers {
		q, ok := c.Resources.Requests[corev1.ResourceCPU]
		if !ok {
			return 0, false
		}
		sum += q.AsApproximateFloat64()
	}
	return sum, sum > 0
}

// target returns which percentage of the requested CPU an autoscaler wants. It reports false when it wants something
// else.
func target(a *autoscalingv2.HorizontalPodAutoscaler) (int32, bool) {
	for _, m := range a.Spec.Metrics {
		if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU {
			percent := ptr.Deref(m.Resource.Target.AverageUtilization, 0)
			return percent, percent > 0
		}
	}
	return 0, false
}

// window is for how long the highest number that was wanted is kept.
func window(a *autoscalingv2.HorizontalPodAutoscaler) time.Duration {
	if b := a.Spec.Behavior; b != nil && b.ScaleDown != nil && b.ScaleDown.StabilizationWindowSeconds != nil {
		return time.Duration(*b.ScaleDown.StabilizationWindowSeconds) * time.Second
	}
	return calm
}

// wish is a number that was wanted at one time.
type wish struct {
	at       time.Time
	replicas int32
}

// wishes are those of one autoscaler.
type wishes struct {
	uid  types.UID
	late []wish
}

// calmed adds a wish to those of an autoscaler, drops the old ones, and returns the highest that is no larger than
// current, or the newest when that is larger.
func calmed(wishes []wish, n wish, keep time.Duration, current int32) ([]wish, int32) {
	kept := []wish{n}
	highest := n.replicas
	for _, w := range wishes {
		if n.at.Sub(w.at) < keep {
			kept = append(kept, w)
			highest = max(highest, min(w.replicas, current))
		}
	}
	return kept, highest
}
