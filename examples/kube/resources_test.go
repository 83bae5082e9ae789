package kube_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

func TestResources(t *testing.T) {
	c := connect(t)
	all, err := c.Resources(t.Context())
	require.NoError(t, err)
	find := func(name string) kube.Resource {
		i := slices.IndexFunc(all, func(r kube.Resource) bool { return r.Resource == name })
		require.GreaterOrEqual(t, i, 0, name)
		return all[i]
	}
	pods := find("pods")
	require.Equal(t, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, pods.GroupVersionResource)
	require.Equal(t, "Pod", pods.Kind)
	require.True(t, pods.Namespaced)
	require.True(t, pods.Can("list", "watch", "deletecollection"))
	require.False(t, pods.Can("list", "fly"))
	require.False(t, find("nodes").Namespaced)
	require.Equal(t, "apps", find("deployments").Group)
	require.False(t, slices.ContainsFunc(all, func(r kube.Resource) bool { return r.Resource == "pods/status" }))
}

func TestMetadata(t *testing.T) {
	c, ctx := connect(t), t.Context()
	maps := kube.For[*corev1.ConfigMap](c)
	o := configMap("a")
	o.Data = map[string]string{"k": "v"}
	made, err := maps.Create(ctx, o)
	require.NoError(t, err)
	_, err = maps.Create(ctx, configMap("b"))
	require.NoError(t, err)
	m, k := c.Metadata(corev1.SchemeGroupVersion.WithResource("configmaps")), listwatch.Key{Namespace: "default", Name: "a"}
	got, err := m.Get(ctx, k)
	require.NoError(t, err)
	require.Equal(t, made.UID, got.UID)
	require.Equal(t, "PartialObjectMetadata", got.Kind)
	got, err = m.Patch(ctx, k, kube.Patch{Body: map[string]any{"metadata": map[string]any{"uid": made.UID, "labels": map[string]any{"x": "y"}}}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"x": "y"}, got.Labels)
	kept, err := maps.Get(ctx, k)
	require.NoError(t, err)
	require.Equal(t, o.Data, kept.Data)
	list, err := m.List(ctx, "default")
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	require.True(t, apierrors.IsConflict(m.Delete(ctx, k, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("other")})))
	require.NoError(t, m.Delete(ctx, k, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))}))
	_, err = m.Get(ctx, k)
	require.True(t, apierrors.IsNotFound(err), err)
	require.NoError(t, m.DeleteAll(ctx, "default", metav1.DeleteOptions{}))
	list, err = m.List(ctx, "")
	require.NoError(t, err)
	require.Empty(t, list.Items)
}

func TestFollowMetadata(t *testing.T) {
	c := connect(t)
	o := configMap("a")
	o.Data = map[string]string{"k": "v"}
	made, err := kube.For[*corev1.ConfigMap](c).Create(t.Context(), o)
	require.NoError(t, err)
	factory := informer.Factory{}
	i, err := kube.FollowMetadata(c, &factory, corev1.SchemeGroupVersion.WithResource("configmaps"))
	require.NoError(t, err)
	require.Equal(t, "metadata of configmaps", i.Name())
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { require.NoError(t, factory.Run(ctx)) })
	defer running.Wait()
	defer cancel()
	require.NoError(t, i.WaitForSync(ctx))
	got, found := i.Indexer().Get(listwatch.KeyOf(made))
	require.True(t, found)
	require.Equal(t, made.UID, got.UID)
}
