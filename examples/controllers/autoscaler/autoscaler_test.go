package autoscaler

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/replicaset"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// load is figures of pods that all use as much.
type load struct {
	mu sync.Mutex
	w  *controltest.World
	// used is what each pod has used at the time at; each uses a part of a processor since. Guarded by mu.
	used time.Duration
	at   time.Time
	part float64
	view *controltest.View[*corev1.Pod]
	fail bool
}

// set lets each pod use a part of a processor from now on.
func (l *load) set(part float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used, l.at, l.part = l.nowLocked(), l.w.Clock.Now(), part
}

func (l *load) nowLocked() time.Duration {
	return l.used + time.Duration(l.part*float64(l.w.Clock.Now().Sub(l.at)))
}

func (l *load) Pods(context.Context, string) (map[types.UID]Figure, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail || l.view == nil {
		return nil, errors.New("no kubelet")
	}
	figures := map[types.UID]Figure{}
	for _, p := range l.view.Until(func([]*corev1.Pod) bool { return true }) {
		figures[p.UID] = Figure{l.w.Clock.Now(), l.nowLocked()}
	}
	return figures, nil
}

// newWorld returns a world with a replica set of two, whose pods request half a processor each, and its autoscaler.
func newWorld(t *testing.T, l *load) (*controltest.World, *controltest.View[*appsv1.ReplicaSet], *controltest.View[*autoscalingv2.HorizontalPodAutoscaler]) {
	w := controltest.New(t, replicaset.New, With(l))
	w.Kubelet(controltest.Ready)
	view := controltest.Watch[*corev1.Pod](w)
	l.mu.Lock()
	l.w, l.view, l.at = w, view, w.Clock.Now()
	l.mu.Unlock()
	web := map[string]string{"app": "web"}
	controltest.Create(w, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: web},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: web},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
				}}}},
			},
		},
	})
	sets, scalers := controltest.Watch[*appsv1.ReplicaSet](w), controltest.Watch[*autoscalingv2.HorizontalPodAutoscaler](w)
	sets.One("web", func(s *appsv1.ReplicaSet) bool { return s.Status.ReadyReplicas == 2 })
	controltest.Create(w, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"}, MaxReplicas: 5,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](50)},
			}}},
		},
	})
	scalers.One("web", func(*autoscalingv2.HorizontalPodAutoscaler) bool { return true })
	return w, sets, scalers
}

func TestFollowsTheUse(t *testing.T) {
	l := &load{}
	_, sets, scalers := newWorld(t, l)
	l.set(0.5) // all that they request, which is twice the target
	sets.After(period, func(s []*appsv1.ReplicaSet) bool { return *s[0].Spec.Replicas == 4 })
	l.set(0.5)
	sets.After(period, func(s []*appsv1.ReplicaSet) bool { return *s[0].Spec.Replicas == 5 }) // not eight
	scalers.After(period, func(a []*autoscalingv2.HorizontalPodAutoscaler) bool {
		s := a[0].Status
		return s.DesiredReplicas == 5 && s.CurrentReplicas == 5 && s.LastScaleTime != nil && len(s.CurrentMetrics) == 1
	})
	l.set(0.01)
	before := l.w.Clock.Now()
	sets.After(period, func(s []*appsv1.ReplicaSet) bool { return *s[0].Spec.Replicas == 1 })
	require.GreaterOrEqual(t, l.w.Clock.Now().Sub(before), calm-period)
}

func TestNoFigures(t *testing.T) {
	l := &load{fail: true}
	_, sets, scalers := newWorld(t, l)
	scalers.After(period, func(a []*autoscalingv2.HorizontalPodAutoscaler) bool {
		for _, c := range a[0].Status.Conditions {
			if c.Type == autoscalingv2.ScalingActive {
				return c.Status == corev1.ConditionFalse && c.Reason == "FailedGetResourceMetric"
			}
		}
		return false
	})
	sets.One("web", func(s *appsv1.ReplicaSet) bool { return *s.Spec.Replicas == 2 })
}

func TestWanted(t *testing.T) {
	for name, c := range map[string]struct {
		use     use
		current int32
		wanted  int32
	}{
		"on the target":                {use{measured: 2, used: 1, requested: 2}, 2, 2},
		"a tenth more":                 {use{measured: 2, used: 1.1, requested: 2}, 2, 2},
		"more":                         {use{measured: 2, used: 1.2, requested: 2}, 2, 3},
		"twice":                        {use{measured: 3, used: 3, requested: 3}, 3, 6},
		"less":                         {use{measured: 4, used: 1, requested: 4}, 4, 2},
		"more, if the new ones idle":   {use{measured: 2, used: 2, requested: 2, silent: 1, dark: 1}, 3, 4},
		"as much, if they idle":        {use{measured: 2, used: 1.5, requested: 2, silent: 1, dark: 1}, 3, 3},
		"less, if they use the target": {use{measured: 2, used: 0.2, requested: 2, silent: 1, dark: 1}, 3, 2},
	} {
		require.Equal(t, c.wanted, c.use.wanted(50, c.current), name)
	}
}

func TestSummary(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes/n1/proxy/stats/summary" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"node":{"nodeName":"n1"},"pods":[
			{"podRef":{"name":"a","namespace":"default","uid":"u1"},"cpu":{"time":"2026-01-02T03:04:05Z","usageNanoCores":5,"usageCoreNanoSeconds":1500000000}},
			{"podRef":{"name":"b","namespace":"default","uid":"u2"}}]}`))
	}))
	defer server.Close()
	cluster, err := kube.Connect(&clientrest.Config{Host: server.URL})
	require.NoError(t, err)
	defer cluster.Close()
	figures, err := Kubelets(cluster).Pods(t.Context(), "n1")
	require.NoError(t, err)
	require.Equal(t, map[types.UID]Figure{"u1": {time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 1500 * time.Millisecond}}, figures)
	_, err = Kubelets(cluster).Pods(t.Context(), "n2")
	require.ErrorContains(t, err, "404")
}
