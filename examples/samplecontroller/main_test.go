package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server with the controller on it, and a view of what is there.
type rig struct {
	t          *testing.T
	server     *apiserver.Server
	writer     dynamic.Interface
	widgets    view[*Widget]
	configMaps view[*corev1.ConfigMap]
}

// view hears the changes of one collection.
type view[T listwatch.Object] chan informer.Change[T]

func newRig(t *testing.T) *rig {
	t.Helper()
	server, err := apiserver.Start(t.Context(), apiserver.Options{Definitions: definitions()})
	require.NoError(t, err)
	config := &clientrest.Config{Host: server.URL()}
	client := &http.Client{Transport: &http.Transport{}}
	// Without connections that could be cut.
	writer, err := dynamic.NewForConfigAndClient(config, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		running.Wait()
		client.CloseIdleConnections()
		require.NoError(t, server.Close())
	})
	running.Go(func() {
		if err := run(ctx, config, client); err != nil {
			t.Error(err)
		}
	})
	r := &rig{t: t, server: server, writer: writer}
	r.widgets = look[*Widget](ctx, t, &running, client, server.URL()+"/apis/wire.example.com/v1/widgets")
	r.configMaps = look[*corev1.ConfigMap](ctx, t, &running, client, server.URL()+"/api/v1/configmaps")
	return r
}

// look runs an informer of the test's own.
func look[T listwatch.Object](ctx context.Context, t *testing.T, running *sync.WaitGroup, client *http.Client, url string) view[T] {
	t.Helper()
	source, err := rest.New[T](url, rest.Options{Client: client})
	require.NoError(t, err)
	v := make(view[T], 1000)
	i := informer.New(source, informer.Options{Name: "test"})
	_, err = i.AddHandler(ctx, func(_ context.Context, c informer.Change[T]) { v <- c }, informer.HandlerOptions{})
	require.NoError(t, err)
	running.Go(func() {
		if err := i.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return v
}

// until blocks until a state comes that is what is waited for.
func (v view[T]) until(t *testing.T, is func(T) bool) T {
	t.Helper()
	for {
		select {
		case c := <-v:
			if c.Type != informer.Delete && is(c.Object) {
				return c.Object
			}
		case <-t.Context().Done():
			require.FailNow(t, "nothing came")
		}
	}
}

// untilGone blocks until the object of that name is deleted.
func (v view[T]) untilGone(t *testing.T, name string) {
	t.Helper()
	for {
		select {
		case c := <-v:
			if c.Type == informer.Delete && c.Key.Name == name {
				return
			}
		case <-t.Context().Done():
			require.FailNow(t, "nothing came")
		}
	}
}

func (r *rig) widget(name string, size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wire.example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": size, "color": "red"},
	}}
}

func TestController(t *testing.T) {
	r := newRig(t)
	onWidgets, onConfigMaps := r.writer.Resource(widgets).Namespace("default"), r.writer.Resource(configMaps).Namespace("default")

	made, err := onWidgets.Create(t.Context(), r.widget("w", 5), metav1.CreateOptions{})
	require.NoError(t, err)
	m := r.configMaps.until(t, func(m *corev1.ConfigMap) bool { return m.Name == "w" })
	require.Equal(t, map[string]string{"size": "5", "color": "red", "note": ""}, m.Data)
	require.Equal(t, made.GetUID(), metav1.GetControllerOf(m).UID)
	ready := r.widgets.until(t, func(w *Widget) bool { return w.Status.Phase == "Ready" })
	require.Equal(t, int64(1), ready.Status.ObservedGeneration)

	// Somebody edits the config map.
	edited, err := onConfigMaps.Get(t.Context(), "w", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedField(edited.Object, "99", "data", "size"))
	_, err = onConfigMaps.Update(t.Context(), edited, metav1.UpdateOptions{})
	require.NoError(t, err)
	r.configMaps.until(t, func(m *corev1.ConfigMap) bool { return m.Data["size"] == "99" })
	r.configMaps.until(t, func(m *corev1.ConfigMap) bool { return m.Data["size"] == "5" })

	// Somebody deletes it.
	require.NoError(t, onConfigMaps.Delete(t.Context(), "w", metav1.DeleteOptions{}))
	r.configMaps.untilGone(t, "w")
	again := r.configMaps.until(t, func(m *corev1.ConfigMap) bool { return m.Name == "w" })
	require.NotEqual(t, m.UID, again.UID)

	// The user wants something else.
	current, err := onWidgets.Get(t.Context(), "w", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedField(current.Object, int64(7), "spec", "size"))
	_, err = onWidgets.Update(t.Context(), current, metav1.UpdateOptions{})
	require.NoError(t, err)
	r.configMaps.until(t, func(m *corev1.ConfigMap) bool { return m.Data["size"] == "7" })
	r.widgets.until(t, func(w *Widget) bool { return w.Status.ObservedGeneration == 2 })

	// The connection is cut, the history dropped, and the widget deleted meanwhile.
	r.server.CutConnections()
	require.NoError(t, onWidgets.Delete(t.Context(), "w", metav1.DeleteOptions{}))
	require.NoError(t, r.server.Compact(t.Context()))
	r.widgets.untilGone(t, "w")
	r.configMaps.untilGone(t, "w")
	_, err = onConfigMaps.Get(t.Context(), "w", metav1.GetOptions{})
	require.Error(t, err)
}

// A config map of the same name that belongs to nobody, or to an earlier widget.
func TestConfigMapOfAnother(t *testing.T) {
	r := newRig(t)
	onWidgets, onConfigMaps := r.writer.Resource(widgets).Namespace("default"), r.writer.Resource(configMaps).Namespace("default")
	configMap := func(name string, owners ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"mine": "yes"},
			"metadata": map[string]any{"name": name, "ownerReferences": owners},
		}}
	}
	_, err := onConfigMaps.Create(t.Context(), configMap("foreign"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = onConfigMaps.Create(t.Context(), configMap("stale", map[string]any{
		"apiVersion": "wire.example.com/v1", "kind": "Widget", "name": "stale", "uid": "earlier", "controller": true,
	}), metav1.CreateOptions{})
	require.NoError(t, err)
	for _, name := range []string{"foreign", "stale"} {
		_, err := onWidgets.Create(t.Context(), r.widget(name, 1), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	r.configMaps.until(t, func(m *corev1.ConfigMap) bool { return m.Name == "stale" && m.Data["size"] == "1" })
	r.widgets.until(t, func(w *Widget) bool { return w.Name == "stale" && w.Status.Phase == "Ready" })
	kept, err := onConfigMaps.Get(t.Context(), "foreign", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"mine": "yes"}, kept.Object["data"])
}

// kubeconfig writes the file of a user who reaches the server with a token.
func kubeconfig(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, url), 0o600))
	return file
}

// The three lines that lead from a kubeconfig file to a source.
func TestKubeconfig(t *testing.T) {
	server, err := apiserver.Start(t.Context(), apiserver.Options{Definitions: definitions()})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()

	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig(t, server.URL()))
	require.NoError(t, err)
	client, err := clientrest.HTTPClientFor(config)
	require.NoError(t, err)
	namespaces, err := rest.New[*corev1.Namespace](config.Host+"/api/v1/namespaces", rest.Options{Client: client})
	require.NoError(t, err)

	defer client.CloseIdleConnections()
	var names []string
	meta, err := namespaces.List(t.Context(), listwatch.ListOptions{}, func(some ...*corev1.Namespace) error {
		for _, n := range some {
			names = append(names, n.Name)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"default"}, names)
	require.NotEmpty(t, meta.ResourceVersion)
}

func TestStart(t *testing.T) {
	server, err := apiserver.Start(t.Context(), apiserver.Options{Definitions: definitions()})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	for name, args := range map[string][2]string{
		"server": {server.URL(), ""}, "kubeconfig": {"", kubeconfig(t, server.URL())}, "own": {"", ""},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, start(ctx, args[0], args[1]), context.Canceled, name)
	}
	require.Error(t, start(t.Context(), "", filepath.Join(t.TempDir(), "missing")))
}
