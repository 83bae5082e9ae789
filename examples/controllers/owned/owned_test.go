package owned_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/controllers/owned"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBatches(t *testing.T) {
	var calls atomic.Int32
	require.NoError(t, owned.Batches(100, func(int) error { calls.Add(1); return nil }))
	require.Equal(t, int32(100), calls.Load())
	calls.Store(0)
	fault := errors.New("never")
	require.ErrorIs(t, owned.Batches(100, func(int) error { calls.Add(1); return fault }), fault)
	require.Equal(t, int32(1), calls.Load())
	calls.Store(0)
	require.ErrorIs(t, owned.Batches(100, func(n int) error {
		if calls.Add(1); n == 2 {
			return fault
		}
		return nil
	}), fault)
	require.Equal(t, int32(3), calls.Load())
	require.NoError(t, owned.Batches(0, func(int) error { return fault }))
}

func TestClaim(t *testing.T) {
	server, err := apiserver.Start(t.Context(), apiserver.Options{})
	require.NoError(t, err)
	cluster, err := kube.Connect(&clientrest.Config{Host: server.URL()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var f informer.Factory
	pods, err := kube.Follow[*corev1.Pod](cluster, &f, kube.Select{})
	require.NoError(t, err)
	set, err := owned.New(owned.Options[*corev1.Pod]{Cluster: cluster, Informer: pods, Name: "test", Kind: "ConfigMap"})
	require.NoError(t, err)
	_, err = owned.New(owned.Options[*corev1.Pod]{Cluster: cluster, Informer: pods, Name: "test", Kind: "ConfigMap"})
	require.Error(t, err)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		cluster.Close()
		require.NoError(t, server.Close())
	})
	require.NoError(t, f.WaitForSync(ctx))

	orphan := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}},
	}
	orphan, err = set.Create(ctx, orphan)
	require.NoError(t, err)
	maps := kube.For[*corev1.ConfigMap](cluster)
	of, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "of"}})
	require.NoError(t, err)
	claim := func(live metav1.Object, selector string) []*corev1.Pod {
		t.Helper()
		s, err := labels.Parse(selector)
		require.NoError(t, err)
		mine, err := set.Claim(ctx, owned.Owner{Object: of, Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
			Live: func(context.Context) (metav1.Object, error) { return live, nil }}, s)
		require.NoError(t, err)
		return mine
	}
	successor, ending, now := of.DeepCopy(), of.DeepCopy(), metav1.Now()
	successor.UID, ending.DeletionTimestamp = "another", &now
	require.Empty(t, claim(successor, "app=web"))
	require.Empty(t, claim(ending, "app=web"))
	require.Empty(t, claim(of, "app=other"))
	mine := claim(of, "app=web")
	require.Len(t, mine, 1)
	require.Equal(t, orphan.UID, mine[0].UID)
	require.True(t, metav1.IsControlledBy(mine[0], of))
	require.Len(t, set.Of(of.UID), 1)
	require.Empty(t, claim(of, "app=other"))
	require.Empty(t, set.Of(of.UID))
}
