package garbage

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// step looks at one object: at what its own deletion asks for, or at its owners.
func (c *controller) step(ctx context.Context, which id) (workqueue.Result, error) {
	m := c.monitor(which.resource)
	if m == nil {
		return workqueue.Result{}, nil
	}
	o, found := m.objects.Indexer().Get(which.key)
	if !found || o.UID != which.uid {
		return workqueue.Result{}, nil
	}
	switch {
	case o.DeletionTimestamp != nil && slices.Contains(o.Finalizers, metav1.FinalizerOrphanDependents):
		return workqueue.Result{}, c.orphan(ctx, m, o)
	case o.DeletionTimestamp != nil && slices.Contains(o.Finalizers, metav1.FinalizerDeleteDependents):
		return workqueue.Result{}, c.letDependentsGo(ctx, m, o)
	case o.DeletionTimestamp != nil || len(o.OwnerReferences) == 0:
		return workqueue.Result{}, nil
	}
	all, wait, err := c.owners(ctx, m, o)
	if err != nil || wait != (workqueue.Result{}) {
		return wait, err
	}
	return workqueue.Result{}, c.decide(ctx, m, o, all)
}

// decide does with an object what its owners ask for.
func (c *controller) decide(ctx context.Context, m *monitor, o *object, all owners) error {
	if len(all.there) > 0 {
		if len(all.gone)+len(all.going) == 0 {
			return nil
		}
		return c.patch(ctx, m, o, map[string]any{"ownerReferences": all.there})
	}
	policy := metav1.DeletePropagationBackground
	if len(all.going) > 0 {
		// What depends on it goes before it, as it goes before its owner; but in a circle none could go first.
		for _, d := range c.dependents(o.UID) {
			if d.DeletionTimestamp != nil {
				if err := c.unblock(ctx, m, o); err != nil {
					return err
				}
			}
			policy = metav1.DeletePropagationForeground
		}
	}
	switch {
	case slices.Contains(o.Finalizers, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(o.Finalizers, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	}
	options := metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion}}
	err := c.env.Cluster.Metadata(m.GroupVersionResource).Delete(ctx, idOf(m, o).key, options)
	if err == nil {
		c.env.Logger.Info("deleted what has no owner", "resource", m.GroupResource().String(), "object", idOf(m, o).key.String())
	}
	return kube.UnlessBehind(err)
}

// unblock lets owners of an object go before it.
func (c *controller) unblock(ctx context.Context, m *monitor, o *object) error {
	refs := slices.Clone(o.OwnerReferences)
	changed := false
	for i := range refs {
		changed = changed || ptr.Deref(refs[i].BlockOwnerDeletion, false)
		refs[i].BlockOwnerDeletion = ptr.To(false)
	}
	if !changed {
		return nil
	}
	return c.patch(ctx, m, o, map[string]any{"ownerReferences": refs})
}

// patch changes the metadata of an object, if it is as it was seen.
func (c *controller) patch(ctx context.Context, m *monitor, o *object, body map[string]any) error {
	body["uid"], body["resourceVersion"] = o.UID, o.ResourceVersion
	_, err := c.env.Cluster.Metadata(m.GroupVersionResource).Patch(ctx, idOf(m, o).key, kube.Patch{Body: map[string]any{"metadata": body}})
	return kube.UnlessBehind(err)
}

// release takes a finalizer from an object.
func (c *controller) release(ctx context.Context, m *monitor, o *object, finalizer string) error {
	left := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f == finalizer })
	return c.patch(ctx, m, o, map[string]any{"finalizers": left})
}

// letDependentsGo has the dependents of an owner looked at that is to go after them, and lets it go when none blocks it.
func (c *controller) letDependentsGo(ctx context.Context, m *monitor, o *object) error {
	blocked := false
	for _, d := range c.dependents(o.UID) {
		if d.DeletionTimestamp == nil {
			c.queue.Add(idOf(d.monitor, d.object))
		}
		blocked = blocked || slices.ContainsFunc(d.OwnerReferences, func(ref metav1.OwnerReference) bool {
			return ref.UID == o.UID && ptr.Deref(ref.BlockOwnerDeletion, false)
		})
	}
	if blocked {
		return nil // the last one leads back
	}
	return c.release(ctx, m, o, metav1.FinalizerDeleteDependents)
}

// orphan takes an owner that is to go out of the references of its dependents, and lets it go when none is left.
func (c *controller) orphan(ctx context.Context, m *monitor, o *object) error {
	all := c.dependents(o.UID)
	for _, d := range all {
		refs := slices.DeleteFunc(slices.Clone(d.OwnerReferences), func(ref metav1.OwnerReference) bool { return ref.UID == o.UID })
		if err := c.patch(ctx, d.monitor, d.object, map[string]any{"ownerReferences": refs}); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		return nil // each of them leads back
	}
	return c.release(ctx, m, o, metav1.FinalizerOrphanDependents)
}

// warn says of an object that a reference of it can't be.
func (c *controller) warn(ctx context.Context, m *monitor, o *object, message string) {
	about := &corev1.ObjectReference{
		APIVersion: m.GroupVersion().String(), Kind: m.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
	}
	if err := c.events.EventOf(ctx, about, corev1.EventTypeWarning, "OwnerRefInvalidNamespace", message); err != nil {
		c.env.Logger.Debug("told nobody", "object", idOf(m, o).key.String(), "error", err)
	}
}
