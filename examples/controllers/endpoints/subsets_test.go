package endpoints

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOverCapacity(t *testing.T) {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	var pods []*corev1.Pod
	for i := range 1003 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%04d", i)}}
		if i >= 3 {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		pods = append(pods, p)
	}
	e := endpointsOf(s, pods)
	require.Len(t, e.Subsets, 1)
	require.Len(t, e.Subsets[0].Addresses, 1000)
	require.Empty(t, e.Subsets[0].NotReadyAddresses)
	require.Equal(t, "truncated", e.Annotations[corev1.EndpointsOverCapacity])
}
