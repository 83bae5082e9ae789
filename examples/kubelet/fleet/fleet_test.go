package fleet_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/nodelifecycle"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/fleet"
	"github.com/seed3bce33ad/listwatch/examples/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFleet(t *testing.T) {
	const nodes, pods = 10, 60
	w := controltest.New(t, nodelifecycle.New)
	_, err := kube.For[*corev1.Namespace](w.Cluster).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: corev1.NamespaceNodeLease}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	quiet := slog.New(slog.DiscardHandler)
	running.Go(func() {
		require.NoError(t, fleet.Run(ctx, fleet.Options{Cluster: w.Cluster, Nodes: nodes, Logger: quiet}))
	})
	running.Go(func() { require.NoError(t, scheduler.Run(ctx, scheduler.Options{Cluster: w.Cluster, Logger: quiet})) })
	controltest.Watch[*corev1.Node](w).Until(func(all []*corev1.Node) bool {
		return len(all) == nodes && !slices.ContainsFunc(all, func(n *corev1.Node) bool { return len(n.Spec.Taints) > 0 })
	})
	for i := range pods {
		controltest.Create(w, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
	}
	view := controltest.Watch[*corev1.Pod](w)
	all := view.Until(func(all []*corev1.Pod) bool {
		n := 0
		for _, p := range all {
			if p.Status.Phase == corev1.PodRunning {
				n++
			}
		}
		return n == pods
	})
	addresses, used := map[string]bool{}, map[string]bool{}
	for _, p := range all {
		addresses[p.Status.PodIP], used[p.Spec.NodeName] = true, true
	}
	require.Len(t, addresses, pods)
	require.Len(t, used, nodes, "they are spread")
	for _, p := range all[:pods/2] {
		require.NoError(t, kube.For[*corev1.Pod](w.Cluster).Delete(t.Context(), listwatch.KeyOf(p), metav1.DeleteOptions{}))
	}
	view.Until(func(all []*corev1.Pod) bool { return len(all) == pods/2 })
}

func TestOptions(t *testing.T) {
	require.Error(t, fleet.Run(t.Context(), fleet.Options{}))
	require.Error(t, fleet.Run(t.Context(), fleet.Options{Cluster: &kube.Cluster{}, Nodes: 1 << 16}))
}
