package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// create makes the config map of a widget and returns its version.
func (c *controller) create(ctx context.Context, w *Widget) (string, error) {
	return c.write(&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: w.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w, widgetKind)},
		},
		Data: data(w),
	}, func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return c.writer.Resource(configMaps).Namespace(w.Namespace).Create(ctx, o, metav1.CreateOptions{})
	})
}

// restore gives a config map the contents that the widget wants. What comes from the cache is
// shared, so it changes a copy.
func (c *controller) restore(ctx context.Context, w *Widget, held *corev1.ConfigMap) (string, error) {
	m := held.DeepCopy()
	m.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	m.Data = data(w)
	return c.write(m, func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return c.writer.Resource(configMaps).Namespace(w.Namespace).Update(ctx, o, metav1.UpdateOptions{})
	})
}

// report writes into the widget's status that its config map is as it should be.
func (c *controller) report(ctx context.Context, w *Widget) error {
	status := WidgetStatus{Phase: "Ready", ObservedGeneration: w.Generation}
	if w.Status == status {
		return nil
	}
	reported := *w
	reported.Status = status
	reported.SetGroupVersionKind(widgetKind)
	_, err := c.write(&reported, func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return c.writer.Resource(widgets).Namespace(w.Namespace).UpdateStatus(ctx, o, metav1.UpdateOptions{})
	})
	return err
}

// write sends an object and returns its new version. A refusal because the cache is behind is
// no error, and yields no version: what the cache has missed adds the key when it comes.
func (c *controller) write(
	object any, send func(*unstructured.Unstructured) (*unstructured.Unstructured, error),
) (string, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", err
	}
	written, err := send(&unstructured.Unstructured{Object: content})
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return written.GetResourceVersion(), nil
}

// remove deletes a config map whose widget is gone. In a cluster with a garbage collector that
// would do it, too. The cache of widgets may be behind that of config maps, so the server is
// asked first whether the owner really is gone.
func (c *controller) remove(ctx context.Context, held *corev1.ConfigMap) error {
	ref := metav1.GetControllerOf(held)
	owner, err := c.writer.Resource(widgets).Namespace(held.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err == nil && owner.GetUID() == ref.UID {
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	err = c.writer.Resource(configMaps).Namespace(held.Namespace).Delete(ctx, held.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(held.UID))})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
