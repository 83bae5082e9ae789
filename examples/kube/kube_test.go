package kube_test

import (
	"context"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t *testing.T) *kube.Cluster { return connectTo(t, apiserver.Options{}) }

func connectTo(t *testing.T, o apiserver.Options) *kube.Cluster {
	t.Helper()
	server, err := apiserver.Start(t.Context(), o)
	require.NoError(t, err)
	c, err := kube.Connect(&clientrest.Config{Host: server.URL()})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close(); require.NoError(t, server.Close()) })
	return c
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func TestClient(t *testing.T) {
	c, ctx := connect(t), t.Context()
	maps := kube.For[*corev1.ConfigMap](c)
	made, err := maps.Create(ctx, configMap("a"))
	require.NoError(t, err)
	require.NotEmpty(t, made.UID)
	_, err = maps.Create(ctx, configMap("a"))
	require.True(t, apierrors.IsAlreadyExists(err), err)
	require.NoError(t, kube.UnlessBehind(err))

	changed := made.DeepCopy()
	changed.Data = map[string]string{"k": "v"}
	_, err = maps.Update(ctx, changed)
	require.NoError(t, err)
	_, err = maps.Update(ctx, made)
	require.True(t, apierrors.IsConflict(err), err)

	k := listwatch.Key{Namespace: "default", Name: "a"}
	patched, err := maps.Patch(ctx, k, kube.Patch{Body: map[string]any{"data": map[string]any{"l": "w"}}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"k": "v", "l": "w"}, patched.Data)
	_, err = maps.Patch(ctx, k, kube.Patch{Body: map[string]any{"metadata": map[string]any{"uid": "other"}, "data": nil}})
	require.True(t, apierrors.IsConflict(err), err)
	read, err := maps.Get(ctx, k)
	require.NoError(t, err)
	require.Equal(t, patched, read)

	err = maps.Delete(ctx, k, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("other")})
	require.True(t, apierrors.IsConflict(err), err)
	require.NoError(t, maps.Delete(ctx, k, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))}))
	_, err = maps.Get(ctx, k)
	require.True(t, apierrors.IsNotFound(err), err)

	node, err := kube.For[*corev1.Node](c).Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	require.NoError(t, err)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node, err = kube.For[*corev1.Node](c).UpdateStatus(ctx, node)
	require.NoError(t, err)
	require.Len(t, node.Status.Conditions, 1)
	_, err = kube.For[*discoveryv1.EndpointSlice](c).Get(ctx, k)
	require.True(t, apierrors.IsNotFound(err), err)
	_, err = kube.For[*appsv1.Deployment](c).Get(ctx, k)
	require.True(t, apierrors.IsNotFound(err), err)
}

func TestFollow(t *testing.T) {
	c, ctx := connect(t), t.Context()
	var f informer.Factory
	maps, err := kube.Follow[*corev1.ConfigMap](c, &f, kube.Select{Namespace: "default", Fields: "metadata.name=a"})
	require.NoError(t, err)
	same, err := kube.Follow[*corev1.ConfigMap](c, &f, kube.Select{Namespace: "default", Fields: "metadata.name=a"})
	require.NoError(t, err)
	require.Same(t, maps, same)
	all, err := kube.Follow[*corev1.ConfigMap](c, &f, kube.Select{})
	require.NoError(t, err)
	require.NotSame(t, maps, all)

	_, err = kube.For[*corev1.ConfigMap](c).Create(ctx, configMap("b"))
	require.NoError(t, err)
	made, err := kube.For[*corev1.ConfigMap](c).Create(ctx, configMap("a"))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	require.NoError(t, f.WaitForSync(ctx))
	<-all.Reached(made.ResourceVersion).Done()
	require.Equal(t, 1, maps.Indexer().Len())
	require.Equal(t, 2, all.Indexer().Len())
	t.Cleanup(func() { require.NoError(t, <-ended) })
}

// writeEvents is what roles of components allow with events, but that here they may be listed.
type writeEvents struct{}

func (writeEvents) Authorize(_ context.Context, a auth.Attributes) (bool, string, error) {
	return a.Resource != "events" || a.Verb != "get", "", nil
}

func TestRecorder(t *testing.T) {
	c, ctx := connectTo(t, apiserver.Options{Authorizer: writeEvents{}}), t.Context()
	about, err := kube.For[*corev1.Node](c).Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	require.NoError(t, err)
	r := kube.NewRecorder(c, "test", clock.New())
	_, err = kube.For[*corev1.Event](c).Get(ctx, listwatch.Key{Namespace: "default", Name: "e"})
	require.True(t, apierrors.IsForbidden(err), err)
	for _, message := range []string{"one", "two", "one", "one"} {
		require.NoError(t, r.Event(ctx, about, corev1.EventTypeNormal, "Counting", message))
	}
	var f informer.Factory
	events, err := kube.Follow[*corev1.Event](c, &f, kube.Select{})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	require.NoError(t, f.WaitForSync(ctx))
	counts := map[string]int32{}
	for _, e := range events.Indexer().All() {
		require.Equal(t, "Node", e.InvolvedObject.Kind)
		counts[e.Message] = e.Count
	}
	require.Equal(t, map[string]int32{"one": 3, "two": 1}, counts)
	t.Cleanup(func() { require.NoError(t, <-ended) })
}

func TestScale(t *testing.T) {
	c, ctx := connect(t), t.Context()
	labels := map[string]string{"app": "web"}
	made, err := kube.For[*appsv1.ReplicaSet](c).Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}},
	})
	require.NoError(t, err)
	kind := appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	scale, err := c.GetScale(ctx, kind, listwatch.KeyOf(made))
	require.NoError(t, err)
	require.Equal(t, int32(1), scale.Spec.Replicas)
	require.Equal(t, "app=web", scale.Status.Selector)
	scale.Spec.Replicas = 3
	set, err := c.SetScale(ctx, kind, scale)
	require.NoError(t, err)
	require.Equal(t, int32(3), set.Spec.Replicas)
	_, err = c.SetScale(ctx, kind, scale)
	require.True(t, apierrors.IsConflict(err), err)
	_, err = c.GetScale(ctx, kind, listwatch.Key{Namespace: "default", Name: "b"})
	require.True(t, apierrors.IsNotFound(err), err)
}
