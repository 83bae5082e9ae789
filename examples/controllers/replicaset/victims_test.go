package replicaset

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestVictims(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	made := func(name string, age time.Duration, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(start.Add(-age))}}
		p.Spec.NodeName, p.Status.Phase = "n", corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(-time.Hour))}}
		change(p)
		return p
	}
	order := []*corev1.Pod{
		made("on no node", time.Hour, func(p *corev1.Pod) { p.Spec.NodeName = "" }),
		made("pending", time.Hour, func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
		made("unknown", time.Hour, func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }),
		made("not ready, newer", time.Minute, func(p *corev1.Pod) { p.Status.Conditions = nil }),
		made("not ready", time.Hour, func(p *corev1.Pod) { p.Status.Conditions = nil }),
		made("cheap", time.Hour, func(p *corev1.Pod) { p.Annotations = map[string]string{costAnnotation: "-5"} }),
		made("ready of late", time.Hour, func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(start) }),
		made("restarted", time.Hour, func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}} }),
		made("newer", time.Minute, func(*corev1.Pod) {}),
		made("old", time.Hour, func(*corev1.Pod) {}),
		made("dear", time.Minute, func(p *corev1.Pod) { p.Annotations = map[string]string{costAnnotation: "5"} }),
	}
	shuffled := slices.Clone(order)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	var c *controller[*appsv1.ReplicaSet]
	slices.SortFunc(shuffled, c.spare)
	for i := range order {
		require.Equal(t, order[i].Name, shuffled[i].Name)
	}
}
