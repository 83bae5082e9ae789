//lint:file-ignore SA1019 what is deprecated is what this package is for

package endpoints_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/endpoints"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a world with a view of its Endpoints.
type rig struct {
	*controltest.World
	endpoints *controltest.View[*corev1.Endpoints]
	seen      int
}

func start(t *testing.T) *rig {
	w := controltest.New(t, endpoints.New)
	return &rig{World: w, endpoints: controltest.Watch[*corev1.Endpoints](w)}
}

func (r *rig) service(name string, selector map[string]string) *corev1.Service {
	return controltest.Create(r.World, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}}}})
}

// pod makes one of the app "web" with an address.
func (r *rig) pod(name string, ready bool) {
	controltest.Create(r.World, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
	r.seen++
	address := fmt.Sprintf("10.0.%d.%d", r.seen/250, r.seen%250+1)
	r.state(name, ready, map[string]any{"podIP": address, "podIPs": []map[string]any{{"ip": address}}})
}

func (r *rig) state(name string, ready bool, status map[string]any) {
	s := "False"
	if ready {
		s = "True"
	}
	status["conditions"] = []map[string]any{{"type": "Ready", "status": s}}
	controltest.Merge[*corev1.Pod](r.World, name, "status", map[string]any{"status": status})
}

// until waits until the Endpoints of "web" have those pods.
func (r *rig) until(ready, others []string) *corev1.Endpoints {
	r.T.Helper()
	names := func(all []corev1.EndpointAddress) []string {
		out := []string{}
		for _, a := range all {
			out = append(out, a.TargetRef.Name)
		}
		return out
	}
	return r.endpoints.One("web", func(e *corev1.Endpoints) bool {
		var is, isnt []string
		for _, s := range e.Subsets {
			is, isnt = append(is, names(s.Addresses)...), append(isnt, names(s.NotReadyAddresses)...)
		}
		return slices.Equal(is, ready) && slices.Equal(isnt, others)
	})
}

func TestFollowsPods(t *testing.T) {
	r := start(t)
	r.service("web", map[string]string{"app": "web"})
	r.pod("a", true)
	r.pod("b", false)
	e := r.until([]string{"a"}, []string{"b"})
	require.Len(t, e.Subsets, 1)
	require.Equal(t, int32(8080), e.Subsets[0].Ports[0].Port)
	require.Equal(t, "10.0.0.2", e.Subsets[0].Addresses[0].IP)
	require.Equal(t, "n", *e.Subsets[0].Addresses[0].NodeName)
	r.state("b", true, map[string]any{})
	r.until([]string{"a", "b"}, nil)
	controltest.Delete[*corev1.Pod](r.World, "a") // it has time to end
	r.until([]string{"b"}, nil)
	r.state("b", true, map[string]any{"phase": "Failed"})
	r.until(nil, nil)
}

func TestServiceGoes(t *testing.T) {
	r := start(t)
	r.service("web", map[string]string{"app": "web"})
	r.pod("a", true)
	first := r.until([]string{"a"}, nil)
	controltest.Delete[*corev1.Service](r.World, "web")
	r.endpoints.Until(func(all []*corev1.Endpoints) bool { return len(all) == 0 })
	r.service("web", map[string]string{"app": "web"})
	require.NotEqual(t, first.UID, r.until([]string{"a"}, nil).UID)
}

func TestWithoutSelector(t *testing.T) {
	r := start(t)
	r.service("out", nil)
	own := controltest.Create(r.World, &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "out"},
		Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.9.9.9"}}}}})
	r.service("web", map[string]string{"app": "web"})
	r.until(nil, nil)
	controltest.Delete[*corev1.Service](r.World, "out")
	r.pod("a", true)
	r.until([]string{"a"}, nil)
	r.endpoints.One("out", func(e *corev1.Endpoints) bool { return e.ResourceVersion == own.ResourceVersion })
}
