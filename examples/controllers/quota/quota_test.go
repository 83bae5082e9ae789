package quota_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/quota"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bound makes a quota.
func bound(w *controltest.World, name string, hard map[corev1.ResourceName]string, scopes ...corev1.ResourceQuotaScope) *corev1.ResourceQuota {
	list := corev1.ResourceList{}
	for n, q := range hard {
		list[n] = resource.MustParse(q)
	}
	return controltest.Create(w, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: list, Scopes: scopes}})
}

// uses tells whether a quota has counted so much, and knows its bounds.
func uses(want map[corev1.ResourceName]string) func(*corev1.ResourceQuota) bool {
	return func(q *corev1.ResourceQuota) bool {
		for name, n := range want {
			used, known := q.Status.Used[name]
			if !known || used.Cmp(resource.MustParse(n)) != 0 || !q.Status.Hard[name].Equal(q.Spec.Hard[name]) {
				return false
			}
		}
		return len(q.Status.Used) == len(want)
	}
}

// pod is one that asks for so much CPU; "" is for nothing.
func pod(name, cpu string) *corev1.Pod {
	c := corev1.Container{Name: "c", Image: "i"}
	if cpu != "" {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
}

func TestGivesBack(t *testing.T) {
	w := controltest.New(t, quota.New)
	quotas := controltest.Watch[*corev1.ResourceQuota](w)
	bound(w, "q", map[corev1.ResourceName]string{"pods": "2", "requests.cpu": "3"})
	quotas.One("q", uses(map[corev1.ResourceName]string{"pods": "0", "requests.cpu": "0"}))
	controltest.Create(w, pod("a", "1"))
	controltest.Create(w, pod("b", "2"))
	quotas.One("q", uses(map[corev1.ResourceName]string{"pods": "2", "requests.cpu": "3"}))
	_, err := kube.For[*corev1.Pod](w.Cluster).Create(t.Context(), func() *corev1.Pod { p := pod("c", "1"); p.Namespace = "default"; return p }())
	require.True(t, apierrors.IsForbidden(err), err)
	w.Flow()
	controltest.Delete[*corev1.Pod](w, "b")
	quotas.One("q", uses(map[corev1.ResourceName]string{"pods": "1", "requests.cpu": "1"}))
	controltest.Merge[*corev1.Pod](w, "a", "status", map[string]any{"status": map[string]any{"phase": "Succeeded"}})
	quotas.One("q", uses(map[corev1.ResourceName]string{"pods": "0", "requests.cpu": "0"}))
	controltest.Create(w, pod("c", "3"))
	quotas.One("q", uses(map[corev1.ResourceName]string{"pods": "1", "requests.cpu": "3"}))
}

func TestCounts(t *testing.T) {
	w := controltest.New(t, quota.New)
	w.Flow()
	quotas := controltest.Watch[*corev1.ResourceQuota](w)
	for i := range 3 {
		controltest.Create(w, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("m", i)}})
	}
	controltest.Create(w, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort,
		Ports: []corev1.ServicePort{{Name: "a", Port: 1}, {Name: "b", Port: 2}}}})
	controltest.Create(w, pod("a", "1"))
	bound(w, "q", map[corev1.ResourceName]string{"configmaps": "9", "count/configmaps": "9", "services": "9", "services.nodeports": "9", "pods": "9",
		"count/deployments.apps": "9", "count/flights.example.com": "9"})
	used := map[corev1.ResourceName]string{"configmaps": "3", "count/configmaps": "3", "services": "1", "services.nodeports": "2", "pods": "1",
		"count/deployments.apps": "0"}
	quotas.One("q", uses(used))
	controltest.Delete[*corev1.ConfigMap](w, "m1")
	used["configmaps"], used["count/configmaps"] = "2", "2"
	quotas.One("q", uses(used))
	controltest.Merge[*corev1.ResourceQuota](w, "q", "", map[string]any{"spec": map[string]any{"hard": map[string]any{
		"configmaps": nil, "count/configmaps": nil, "services": "7", "count/flights.example.com": nil, "secrets": "5"}}})
	delete(used, "configmaps")
	delete(used, "count/configmaps")
	used["secrets"] = "0"
	quotas.One("q", uses(used))
}

func TestScopes(t *testing.T) {
	w := controltest.New(t, quota.New)
	w.Flow()
	quotas := controltest.Watch[*corev1.ResourceQuota](w)
	controltest.Create(w, pod("a", "1"))
	controltest.Create(w, pod("b", ""))
	controltest.Create(w, pod("c", ""))
	bound(w, "best", map[corev1.ResourceName]string{"pods": "9"}, corev1.ResourceQuotaScopeBestEffort)
	bound(w, "not", map[corev1.ResourceName]string{"pods": "9"}, corev1.ResourceQuotaScopeNotBestEffort)
	quotas.One("best", uses(map[corev1.ResourceName]string{"pods": "2"}))
	quotas.One("not", uses(map[corev1.ResourceName]string{"pods": "1"}))
}

// The cache is held between the charge of a pod and the pod.
func TestCacheBetween(t *testing.T) {
	w := controltest.New(t, quota.New)
	quotas := controltest.Watch[*corev1.ResourceQuota](w)
	phase := func(name, phase string) {
		controltest.Merge[*corev1.Pod](w, name, "status", map[string]any{"status": map[string]any{"phase": phase}})
	}
	for _, name := range []string{"a", "b"} {
		controltest.Create(w, pod(name, ""))
		phase(name, "Succeeded")
	}
	for _, name := range []string{"q", "seen"} {
		bound(w, name, map[corev1.ResourceName]string{"pods": "9", "configmaps": "9"})
		quotas.One(name, uses(map[corev1.ResourceName]string{"pods": "0", "configmaps": "0"}))
	}
	// This is what the server does before it stores two pods and a config map; the config map never comes.
	controltest.Merge[*corev1.ResourceQuota](w, "q", "status", map[string]any{"status": map[string]any{"used": map[string]any{"pods": "2", "configmaps": "1"}}})
	phase("a", "Running")
	quotas.One("seen", uses(map[corev1.ResourceName]string{"pods": "1", "configmaps": "0"}))
	w.Late.Hold()
	phase("b", "Running")
	w.Flow()
	q := quotas.One("q", func(q *corev1.ResourceQuota) bool {
		return q.Status.Used.Name("configmaps", resource.DecimalSI).IsZero()
	})
	require.EqualValues(t, 2, q.Status.Used.Pods().Value(), "the second pod is there, though the cache doesn't show it")
	w.Late.Release()
	quotas.One("seen", uses(map[corev1.ResourceName]string{"pods": "2", "configmaps": "0"}))
	quotas.One("q", uses(map[corev1.ResourceName]string{"pods": "2", "configmaps": "0"}))
}

func TestNeverPassed(t *testing.T) {
	const bounds, writers, rounds = 4, 6, 30
	seed := rand.Uint64()
	t.Log("seed", seed)
	w := controltest.New(t, quota.New)
	w.Flow()
	quotas, pods := controltest.Watch[*corev1.ResourceQuota](w), controltest.Watch[*corev1.Pod](w)
	pods.Always(func(all []*corev1.Pod) {
		if len(all) > bounds {
			t.Errorf("there are %d pods", len(all))
		}
	})
	bound(w, "q", map[corev1.ResourceName]string{"pods": fmt.Sprint(bounds)})
	quotas.One("q", uses(map[corev1.ResourceName]string{"pods": "0"}))
	client := kube.For[*corev1.Pod](w.Cluster)
	var writing sync.WaitGroup
	var made sync.Map
	for n := range writers {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		writing.Go(func() {
			for i := range rounds {
				p := pod(fmt.Sprintf("p-%d-%d", n, i), "")
				p.Namespace = "default"
				_, err := client.Create(t.Context(), p)
				if err != nil {
					if !apierrors.IsForbidden(err) {
						t.Error(err)
					}
					continue
				}
				made.Store(p.Name, true)
				if random.IntN(10) > 0 {
					if err := client.Delete(t.Context(), listwatch.KeyOf(p), metav1.DeleteOptions{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
		if n == writers/2 {
			w.Late.Hold()
		}
	}
	time.AfterFunc(time.Second, w.Late.Release)
	writing.Wait()
	w.Late.Release()
	n := 0
	made.Range(func(any, any) bool { n++; return true })
	require.Positive(t, n)
	left, err := w.Cluster.Metadata(corev1.SchemeGroupVersion.WithResource("pods")).List(t.Context(), "default")
	require.NoError(t, err)
	quotas.One("q", uses(map[corev1.ResourceName]string{"pods": fmt.Sprint(len(left.Items))}))
	for _, o := range left.Items {
		controltest.Delete[*corev1.Pod](w, o.Name)
	}
	quotas.One("q", uses(map[corev1.ResourceName]string{"pods": "0"}))
}
