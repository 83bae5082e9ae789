package registry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/admission"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newRegistry(t *testing.T) (*registry.Registry, *storage.Store) {
	t.Helper()
	server, err := etcd.Start(t.Context(), etcd.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	store, err := storage.New(server.Client(), storage.Options{})
	require.NoError(t, err)
	r := registry.New(store, registry.Options{FutureWait: 1, Admit: admission.Rules{}.Admit})
	t.Cleanup(r.Close)
	require.NoError(t, r.Ensure(t.Context(), registry.Target{Kind: kinds.Namespaces(), Name: "default"}))
	require.NoError(t, r.Ensure(t.Context(), registry.Target{Kind: kinds.Namespaces(), Name: "default"}), "it is there")
	return r, store
}

func on(kind *kinds.Kind, name string) registry.Target {
	return registry.Target{Kind: kind, Namespace: "default", Name: name}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func TestLifeOfAnObject(t *testing.T) {
	r, _ := newRegistry(t)
	kind := kinds.Pods()
	first := pod("a")
	first.Spec.NodeName = "n"
	made, err := r.Create(t.Context(), on(kind, ""), first, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, int64(1), made.GetGeneration())
	_, err = r.Create(t.Context(), on(kind, ""), pod("a"), metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err))

	next := pod("a")
	next.Spec.NodeName, next.Spec.Containers[0].Image = "n", "j"
	next.ResourceVersion = made.GetResourceVersion()
	changed, err := r.Update(t.Context(), on(kind, "a"), next, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, int64(2), changed.Object.GetGeneration())
	require.Equal(t, made.GetUID(), changed.Object.GetUID())
	next.ResourceVersion = made.GetResourceVersion()
	_, err = r.Update(t.Context(), on(kind, "a"), next, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err))

	status := on(kind, "a")
	status.Subresource = "status"
	next.ResourceVersion, next.Status.Phase, next.Spec.NodeName = "", corev1.PodRunning, "ignored"
	written, err := r.Update(t.Context(), status, next, metav1.UpdateOptions{})
	require.NoError(t, err)
	running := written.Object
	require.Equal(t, corev1.PodRunning, running.(*corev1.Pod).Status.Phase)
	require.Equal(t, "n", running.(*corev1.Pod).Spec.NodeName)

	got, err := r.Get(t.Context(), on(kind, "a"), running.GetResourceVersion())
	require.NoError(t, err)
	require.Equal(t, running, got)
	_, err = r.Get(t.Context(), on(kind, "a"), "99999")
	require.True(t, apierrors.IsTimeout(err))

	other := types.UID("other")
	_, _, err = r.Delete(t.Context(), on(kind, "a"), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	require.True(t, apierrors.IsConflict(err))
	marked, gone, err := r.Delete(t.Context(), on(kind, "a"), metav1.DeleteOptions{})
	require.NoError(t, err)
	require.False(t, gone)
	require.Equal(t, int64(30), *marked.GetDeletionGracePeriodSeconds())
	now := int64(0)
	_, gone, err = r.Delete(t.Context(), on(kind, "a"), metav1.DeleteOptions{GracePeriodSeconds: &now})
	require.NoError(t, err)
	require.True(t, gone)
	_, err = r.Get(t.Context(), on(kind, "a"), "")
	require.True(t, apierrors.IsNotFound(err))
	_, _, err = r.Delete(t.Context(), on(kind, "a"), metav1.DeleteOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

// Pages are full although only some objects match, and end although many do not.
func TestSelectedPages(t *testing.T) {
	r, store := newRegistry(t)
	kind := kinds.ConfigMaps()
	for i := range 1200 {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m-%04d", i)}}
		if i%400 == 100 {
			o.Labels = map[string]string{"one": "of-few"}
		}
		value, err := kind.EncodeStored(o)
		require.NoError(t, err)
		_, err = store.Create(t.Context(), "/configmaps/default/"+o.Name, value)
		require.NoError(t, err)
	}
	var got []string
	o := metav1.ListOptions{LabelSelector: "one", Limit: 2}
	for {
		list, err := r.List(t.Context(), on(kind, ""), o)
		require.NoError(t, err)
		for _, object := range list.Objects {
			got = append(got, object.GetName())
		}
		if o.Continue = list.Meta.Continue; o.Continue == "" {
			break
		}
		require.Len(t, list.Objects, 2)
	}
	require.Equal(t, []string{"m-0100", "m-0500", "m-0900"}, got)
}

func TestFailuresOfTheStore(t *testing.T) {
	r, store := newRegistry(t)
	kind := kinds.ConfigMaps()
	_, err := store.Create(t.Context(), "/configmaps/default/bad", []byte("no JSON"))
	require.NoError(t, err)
	_, err = r.Get(t.Context(), on(kind, "bad"), "")
	require.ErrorContains(t, err, "stored configmaps")
	_, err = r.List(t.Context(), on(kind, ""), metav1.ListOptions{})
	require.ErrorContains(t, err, "stored configmaps")
	_, err = r.NewWatch(t.Context(), on(kind, ""), metav1.ListOptions{})
	require.ErrorContains(t, err, "stored configmaps")
	w, err := r.NewWatch(t.Context(), on(kind, ""), metav1.ListOptions{ResourceVersion: "1"})
	require.NoError(t, err)
	require.ErrorContains(t, w.Run(t.Context(), func(registry.Batch) error { return nil }), "stored configmaps")
	_, err = r.Update(t.Context(), on(kind, "bad"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}, metav1.UpdateOptions{})
	require.ErrorContains(t, err, "stored configmaps")

	done, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"get":    second(r.Get(done, on(kind, "a"), "1")),
		"list":   second(r.List(done, on(kind, ""), metav1.ListOptions{})),
		"watch":  second(r.NewWatch(done, on(kind, ""), metav1.ListOptions{})),
		"create": second(r.Create(done, on(kind, ""), &corev1.ConfigMap{}, metav1.CreateOptions{})),
		"update": second(r.Update(done, on(kind, "a"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{})),
		"ensure": r.Ensure(done, registry.Target{Kind: kinds.Namespaces(), Name: "x"}),
	} {
		require.ErrorIs(t, err, context.Canceled, name)
	}
}

// widgets returns the row of a custom kind.
func widgets(t *testing.T) *kinds.Kind {
	t.Helper()
	rows, err := crd.Rows(crd.Widgets())
	require.NoError(t, err)
	return rows[0]
}

func second[T any](_ T, err error) error { return err }

var errEnough = errors.New("enough")

func TestWatchByWidget(t *testing.T) {
	r, _ := newRegistry(t)
	kind := widgets(t)
	start, err := r.List(t.Context(), on(kind, ""), metav1.ListOptions{})
	require.NoError(t, err)
	yes := true
	w, err := r.NewWatch(t.Context(), on(kind, ""), metav1.ListOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
		FieldSelector: "spec.color=red",
	})
	require.NoError(t, err)
	require.Equal(t, start.Meta.ResourceVersion, w.Start())
	events := make(chan string, 10)
	var watching sync.WaitGroup
	watching.Go(func() {
		err := w.Run(t.Context(), func(b registry.Batch) error {
			for _, e := range b.Events {
				events <- fmt.Sprint(e.Type, " ", e.Object.GetName())
			}
			if len(b.Events) == 0 && b.Version != start.Meta.ResourceVersion {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Error(err)
		}
	})
	require.Equal(t, "BOOKMARK ", <-events)
	widget := func(color string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "wire.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"},
			"spec": map[string]any{"size": int64(1), "color": color},
		}}
	}
	made, err := r.Create(t.Context(), on(kind, ""), widget("red"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, "ADDED w", <-events)
	blue := widget("blue")
	blue.SetResourceVersion(made.GetResourceVersion())
	_, err = r.Update(t.Context(), on(kind, "w"), blue, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "DELETED w", <-events)
	_, gone, err := r.Delete(t.Context(), on(kind, "w"), metav1.DeleteOptions{})
	require.NoError(t, err)
	require.True(t, gone)
	w.RequestProgress()
	w.RequestProgress()
	watching.Wait()
}

func ExampleRegistry() {
	ctx := context.Background()
	server, err := etcd.Start(ctx, etcd.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	store, err := storage.New(server.Client(), storage.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := registry.New(store, registry.Options{})
	defer r.Close()
	nodes := registry.Target{Kind: kinds.Nodes()}
	_, err = r.Create(ctx, nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{})
	fmt.Println(err)
	list, err := r.List(ctx, nodes, metav1.ListOptions{})
	fmt.Println(len(list.Objects), list.Objects[0].GetName(), err)
	// Output:
	// <nil>
	// 1 n1 <nil>
}

func ExampleWatch() {
	ctx := context.Background()
	server, err := etcd.Start(ctx, etcd.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	store, err := storage.New(server.Client(), storage.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := registry.New(store, registry.Options{})
	defer r.Close()
	nodes := registry.Target{Kind: kinds.Nodes()}
	_, err = r.Create(ctx, nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := r.NewWatch(ctx, nodes, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = w.Run(ctx, func(b registry.Batch) error {
		fmt.Println(b.Events[0].Type, b.Events[0].Object.GetName())
		return errEnough
	})
	fmt.Println(err)
	// Output:
	// ADDED n1
	// enough
}
