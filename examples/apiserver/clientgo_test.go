//go:build !race

// To build the clientset takes minutes, and with the race detector they come again.

package apiserver_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/informer"
	listwatchrest "github.com/seed3bce33ad/listwatch/reflector/rest"
)

// told collects what a handler hears.
func told(t *testing.T, informer cache.SharedIndexInformer) chan string {
	t.Helper()
	heard := make(chan string, 100)
	name := func(kind string, o any) string {
		if vanished, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = vanished.Obj
		}
		m, ok := o.(metav1.Object)
		if !ok {
			return fmt.Sprintf("%s %T", kind, o)
		}
		return kind + " " + m.GetName() + " " + m.GetResourceVersion()
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { heard <- name("add", o) },
		UpdateFunc: func(_, o any) { heard <- name("update", o) },
		DeleteFunc: func(o any) { heard <- name("delete", o) },
	})
	require.NoError(t, err)
	return heard
}

// clientsOf returns a typed and an untyped client.
func clientsOf(t *testing.T, a *api) (*kubernetes.Clientset, *dynamic.DynamicClient) {
	t.Helper()
	config := &rest.Config{Host: a.server.URL(), Transport: a.client.Transport, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	clientset, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	untyped, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return clientset, untyped
}

// The real client library works against the server: typed and untyped, with its informers.
func TestClientGo(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	clientset, untyped := clientsOf(t, a)
	widgetsResource := schema.GroupVersionResource{Group: "wire.example.com", Version: "v1", Resource: "widgets"}
	podsClient, widgetsClient := clientset.CoreV1().Pods("default"), untyped.Resource(widgetsResource).Namespace("default")

	first, err := podsClient.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "first"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	typedFactory := informers.NewSharedInformerFactory(clientset, 0)
	untypedFactory := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0)
	podsHeard := told(t, typedFactory.Core().V1().Pods().Informer())
	widgetsHeard := told(t, untypedFactory.ForResource(widgetsResource).Informer())
	typedFactory.Start(t.Context().Done())
	untypedFactory.Start(t.Context().Done())
	t.Cleanup(typedFactory.Shutdown)
	t.Cleanup(untypedFactory.Shutdown)
	require.Equal(t, "add first "+first.ResourceVersion, <-podsHeard)
	for _, synced := range typedFactory.WaitForCacheSync(t.Context().Done()) {
		require.True(t, synced)
	}

	first.Status.Phase = corev1.PodRunning
	running, err := podsClient.UpdateStatus(t.Context(), first, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "update first "+running.ResourceVersion, <-podsHeard)
	_, err = podsClient.UpdateStatus(t.Context(), first, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), "its version is the one from before")
	require.NoError(t, podsClient.Delete(t.Context(), "first", metav1.DeleteOptions{}))
	require.Contains(t, <-podsHeard, "update first ")
	require.Contains(t, <-podsHeard, "delete first ")
	_, err = podsClient.Get(t.Context(), "first", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))

	w := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wire.example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w"}, "spec": map[string]any{"size": int64(2)},
	}}
	made, err := widgetsClient.Create(t.Context(), w, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, "add w "+made.GetResourceVersion(), <-widgetsHeard)
	require.NoError(t, unstructured.SetNestedField(made.Object, "Ready", "status", "phase"))
	made, err = widgetsClient.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "update w "+made.GetResourceVersion(), <-widgetsHeard)
	// A compaction and a cut connection do not disturb it for long.
	require.NoError(t, a.server.Compact(t.Context()))
	a.cutConnections()
	require.NoError(t, widgetsClient.Delete(t.Context(), "w", metav1.DeleteOptions{}))
	require.Contains(t, <-widgetsHeard, "delete w ")

	groups, err := clientset.Discovery().ServerPreferredResources()
	require.NoError(t, err)
	require.Len(t, groups, len(kinds.Table().GroupVersions())+3, "that of definitions, and the two of widgets")
}

// A kind that is defined while informers wait for it is followed by client-go's and by this library's.
func TestDefinedLater(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	_, untyped := clientsOf(t, a)
	resource := schema.GroupVersionResource{Group: "test.example.com", Version: "v1", Resource: "gadgets"}
	source, err := listwatchrest.New[listwatchrest.Object](a.server.URL()+"/apis/test.example.com/v1/gadgets", listwatchrest.Options{Client: a.client})
	require.NoError(t, err)
	ours := informer.New(source, informer.Options{Name: "gadgets", Logger: slog.New(slog.DiscardHandler)})
	heard := make(chan string, 100)
	_, err = ours.AddHandler(t.Context(), func(_ context.Context, c informer.Change[listwatchrest.Object]) {
		heard <- c.Key.Name
	}, informer.HandlerOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	group(t, func() { _ = ours.Run(ctx) })
	t.Cleanup(cancel)

	a.define(gadget(`{"type":"object"}`, ""), "Established", "True")
	factory := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0)
	theirs := told(t, factory.ForResource(resource).Informer())
	factory.Start(ctx.Done())
	t.Cleanup(factory.Shutdown)
	t.Cleanup(cancel)
	made := a.must("POST", gadgets, gadgetOf("g", `{}`))
	require.Equal(t, "add g "+made.Metadata.ResourceVersion, <-theirs)
	require.Equal(t, "g", <-heard)
	a.must("DELETE", definitions+"/gadgets.test.example.com", "")
	require.Contains(t, <-theirs, "delete g ")
	require.Equal(t, "g", <-heard)
}
