package service_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// balancer is a service of that type.
func balancer(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}}}
}

func TestBalancer(t *testing.T) {
	w := controltest.New(t, service.New)
	services := controltest.Watch[*corev1.Service](w)
	made := controltest.Create(w, balancer("web"))
	given := services.One("web", func(s *corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) == 1 })
	require.Equal(t, made.Spec.ClusterIP, given.Status.LoadBalancer.Ingress[0].IP)
	controltest.Merge[*corev1.Service](w, "web", "", map[string]any{"spec": map[string]any{"type": "ClusterIP"}})
	services.One("web", func(s *corev1.Service) bool {
		return s.Spec.Type == corev1.ServiceTypeClusterIP && len(s.Status.LoadBalancer.Ingress) == 0
	})
}

func TestClass(t *testing.T) {
	w := controltest.New(t, service.New)
	services := controltest.Watch[*corev1.Service](w)
	others := balancer("others")
	others.Spec.LoadBalancerClass = ptr.To("example.com/own")
	controltest.Create(w, others)
	controltest.Create(w, balancer("web"))
	services.One("web", func(s *corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) == 1 })
	services.One("others", func(s *corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) == 0 })
}
