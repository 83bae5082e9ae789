package kubelet_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/seed3bce33ad/listwatch/examples/kubelet"
)

// TestRefused: what the node has no place for has failed; what it runs keeps its place, also for the next kubelet.
func TestRefused(t *testing.T) {
	r := newRig(t)
	little := func(o *kubelet.Options) {
		o.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourcePods: resource.MustParse("3")}
	}
	stop := r.run(little)
	asks := func(cpu string, port int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			c := &p.Spec.Containers[0]
			if cpu != "" {
				c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
			}
			if port != 0 {
				c.Ports = []corev1.ContainerPort{{ContainerPort: 1, HostPort: port}}
			}
		}
	}
	runs := func(name string, change func(*corev1.Pod)) {
		t.Helper()
		r.create(pod(name, change))
		r.until(name, ready)
	}
	refused := func(name, reason, message string) {
		t.Helper()
		p := r.until(name, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
		require.Equal(t, []string{reason, "Pod was rejected: " + message}, []string{p.Status.Reason, p.Status.Message})
		require.Empty(t, p.Status.ContainerStatuses)
		boxes, err := r.runtime.ListPodSandboxes(t.Context())
		require.NoError(t, err)
		require.NotContains(t, names(boxes), " "+name+" ")
	}
	runs("a", asks("1500m", 0))
	r.create(pod("b", asks("1", 0)))
	refused("b", "OutOfcpu", "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000")
	runs("c", asks("", 80))
	r.create(pod("d", asks("", 80)))
	refused("d", "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports")
	runs("e", asks("500m", 81))
	r.create(pod("f", nil))
	refused("f", "OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3")
	r.delete("a", 30)
	r.gone("a")
	runs("g", asks("1500m", 0))

	stop()
	r.create(pod("h", asks("1500m", 80)))
	r.run(little)
	refused("h", "OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3")
	for _, name := range []string{"c", "e", "g"} {
		require.Zero(t, r.until(name, ready).Status.ContainerStatuses[0].RestartCount)
	}
	require.Equal(t, "OutOfcpu", r.until("b", func(*corev1.Pod) bool { return true }).Status.Reason)
}

// TestStaticPodsComeFirst: pods of files have a place before those of the API.
func TestStaticPodsComeFirst(t *testing.T) {
	r, m := newRig(t), newManifests(t)
	m.write("web.yaml", static("one"))
	r.create(pod("a", nil))
	r.run(func(o *kubelet.Options) {
		m.options(o)
		o.Capacity = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
	})
	r.until("web-n", ready)
	require.Equal(t, "OutOfpods", r.until("a", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed }).Status.Reason)
	m.remove("web.yaml")
	r.gone("web-n")
	r.create(pod("b", nil))
	r.until("b", ready)
	m.write("web.yaml", static("one"))
	require.Equal(t, "OutOfpods", r.until("web-n", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed }).Status.Reason)
}
