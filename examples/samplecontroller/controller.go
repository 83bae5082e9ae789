package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

var (
	widgetKind = schema.GroupVersionKind{Group: "wire.example.com", Version: "v1", Kind: "Widget"}
	widgets    = widgetKind.GroupVersion().WithResource("widgets")
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
)

// Widget is the custom kind, as far as the controller reads it; see crd.yaml.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size  int64  `json:"size"`
		Color string `json:"color"`
		Note  string `json:"note"`
	} `json:"spec"`
	Status WidgetStatus `json:"status"`
}

// WidgetStatus says that the config map is as the spec of that generation wants it.
type WidgetStatus struct {
	Phase              string `json:"phase"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// controller is what a step needs.
type controller struct {
	widgets    *informer.Informer[*Widget]
	configMaps *informer.Informer[*corev1.ConfigMap]
	writer     dynamic.Interface
}

// run reads through informers, writes through client-go, and blocks until ctx is done. Both use
// the same HTTP client.
func run(ctx context.Context, config *clientrest.Config, client *http.Client) error {
	base, _, err := clientrest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	var factory informer.Factory
	var c controller
	if c.writer, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	if c.widgets, err = follow[*Widget](&factory, "widgets", base.JoinPath("apis/wire.example.com/v1/widgets").String(), client); err != nil {
		return err
	}
	if c.configMaps, err = follow[*corev1.ConfigMap](&factory, "configmaps", base.JoinPath("api/v1/configmaps").String(), client); err != nil {
		return err
	}
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "widgets"})
	_, err1 := informer.Enqueue(ctx, c.widgets, queue)
	_, err2 := informer.EnqueueOf(ctx, c.configMaps, queue, ownerKeys)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	var ended error
	running.Go(func() { ended = factory.Run(ctx) })
	if err = factory.WaitForSync(ctx); err == nil {
		err = workqueue.Process(ctx, queue, 4, c.step)
	}
	cancel()
	running.Wait()
	return errors.Join(err, ended)
}

// follow makes an informer of a collection.
func follow[T listwatch.Object](f *informer.Factory, name, address string, client *http.Client) (*informer.Informer[T], error) {
	source, err := rest.New[T](address, rest.Options{Client: client})
	if err != nil {
		return nil, err
	}
	return informer.Of(f, name, source)
}

// ownerKeys returns the key of the widget that owns a config map.
func ownerKeys(m *corev1.ConfigMap) []listwatch.Key {
	if owner := metav1.GetControllerOf(m); owner != nil && owner.Kind == widgetKind.Kind {
		return []listwatch.Key{{Namespace: m.Namespace, Name: owner.Name}}
	}
	return nil
}

// step makes the world as the widget under key wants it. It looks at what is, not at what has
// happened, so it does not matter how often it runs.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	widget, found := c.widgets.Indexer().Get(key)
	held, exists := c.configMaps.Indexer().Get(key)
	switch {
	case exists && len(ownerKeys(held)) > 0 && (!found || !metav1.IsControlledBy(held, widget)):
		return workqueue.Result{}, c.remove(ctx, held)
	case !found || widget.DeletionTimestamp != nil:
		return workqueue.Result{}, nil
	case exists && !metav1.IsControlledBy(held, widget):
		return workqueue.Result{}, fmt.Errorf("config map %s is not ours", key)
	case !exists || !maps.Equal(held.Data, data(widget)):
		version, err := c.save(ctx, widget, held)
		if err != nil || version == "" {
			return workqueue.Result{}, err
		}
		return workqueue.Result{Await: c.configMaps.Reached(version)}, nil // the next step sees it
	}
	return workqueue.Result{}, c.report(ctx, widget)
}

// data is what the config map of a widget holds.
func data(w *Widget) map[string]string {
	return map[string]string{"size": fmt.Sprint(w.Spec.Size), "color": w.Spec.Color, "note": w.Spec.Note}
}

// save makes the config map of a widget, or restores the one that is held: a copy of it, since
// what comes from the cache is shared. It returns the version written.
func (c *controller) save(ctx context.Context, w *Widget, held *corev1.ConfigMap) (string, error) {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name}}
	if held != nil {
		m = held.DeepCopy()
	}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w, widgetKind)}
	m.Data = data(w)
	to := c.writer.Resource(configMaps).Namespace(w.Namespace)
	return send(m, func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if held == nil {
			return to.Create(ctx, o, metav1.CreateOptions{})
		}
		return to.Update(ctx, o, metav1.UpdateOptions{})
	})
}

// report writes into the widget's status that its config map is as it should be.
func (c *controller) report(ctx context.Context, w *Widget) error {
	reported := *w
	if reported.Status = (WidgetStatus{Phase: "Ready", ObservedGeneration: w.Generation}); reported.Status == w.Status {
		return nil
	}
	reported.SetGroupVersionKind(widgetKind)
	_, err := send(&reported, func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return c.writer.Resource(widgets).Namespace(w.Namespace).UpdateStatus(ctx, o, metav1.UpdateOptions{})
	})
	return err
}

// send writes an object and returns its new version; "" when the cache is behind.
func send(object any, write func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) (string, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", err
	}
	written, err := write(&unstructured.Unstructured{Object: content})
	if err != nil {
		return "", unlessBehind(err)
	}
	return written.GetResourceVersion(), nil
}

// unlessBehind drops refusals that mean that the cache is behind: what it has missed adds the key.
func unlessBehind(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// remove deletes a config map whose widget is gone, as a garbage collector would. The cache of
// widgets may be behind that of config maps, so the server is asked whether it really is.
func (c *controller) remove(ctx context.Context, held *corev1.ConfigMap) error {
	ref := metav1.GetControllerOf(held)
	owner, err := c.writer.Resource(widgets).Namespace(held.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err == nil && owner.GetUID() == ref.UID || err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return unlessBehind(c.writer.Resource(configMaps).Namespace(held.Namespace).Delete(ctx, held.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(held.UID))}))
}
