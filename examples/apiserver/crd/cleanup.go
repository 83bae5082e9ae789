package crd

import (
	"context"
	"errors"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// cleanUp deletes the objects of all definitions that are to be deleted, and lets those definitions go of which
// none is left.
func (c *Controller) cleanUp(ctx context.Context, all []*Definition) (workqueue.Result, error) {
	var again workqueue.Result
	var errs []error
	for _, d := range all {
		if d.DeletionTimestamp == nil || !slices.Contains(d.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
			continue
		}
		left, err := c.deleteObjects(ctx, d)
		if err == nil && left > 0 {
			again.After = leftWait
			continue
		}
		if err == nil {
			next := d.DeepCopy()
			next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == apiextensionsv1.CustomResourceCleanupFinalizer })
			_, err = c.write(ctx, next, "")
		}
		errs = append(errs, err)
	}
	return again, errors.Join(errs...)
}

// deleteObjects deletes the objects that a definition has, and returns how many stay for now.
func (c *Controller) deleteObjects(ctx context.Context, d *Definition) (left int, err error) {
	has := c.published.by[d.UID]
	if has == nil {
		return 0, nil // nobody could create any
	}
	stored := slices.IndexFunc(has.rows, func(k *kinds.Kind) bool { return k.Version == k.Stored })
	objects := registry.Target{Kind: has.rows[stored]}
	if _, err := c.registry.DeleteCollection(ctx, objects, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return 0, err
	}
	list, err := c.registry.List(ctx, objects, metav1.ListOptions{})
	return len(list.Objects), err
}
