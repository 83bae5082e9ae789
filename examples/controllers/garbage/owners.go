package garbage

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/workqueue"
)

// owners are the references of an object, by what is known of the owners.
type owners struct {
	// there are those that stay, gone those that are no more, and going those that wait for their dependents to go first.
	there, gone, going []metav1.OwnerReference
}

// owners finds out about the owners of an object. It returns for what to wait when that isn't known yet.
func (c *controller) owners(ctx context.Context, m *monitor, o *object) (all owners, wait workqueue.Result, err error) {
	for _, ref := range o.OwnerReferences {
		of := c.monitorOf(ref)
		switch {
		case of == nil: // a kind that nobody knows, or not yet
			return all, workqueue.Result{After: discover}, nil
		case of.Namespaced && !m.Namespaced:
			c.warn(ctx, m, o, fmt.Sprintf("%s %q is in a namespace, and can't own what is in none", ref.Kind, ref.Name))
			all.there = append(all.there, ref)
			continue
		case !of.objects.Synced().Fired():
			return all, workqueue.Result{Await: of.objects.Synced()}, nil
		}
		owner, err := c.owner(ctx, of, o, ref)
		if err != nil {
			return all, workqueue.Result{}, err
		}
		switch {
		case owner == nil:
			all.gone = append(all.gone, ref)
		case owner.DeletionTimestamp != nil && slices.Contains(owner.Finalizers, metav1.FinalizerDeleteDependents):
			all.going = append(all.going, ref)
		default:
			all.there = append(all.there, ref)
		}
	}
	return all, workqueue.Result{}, nil
}

// owner returns who a reference points to, or nil when the server says that there is nobody.
func (c *controller) owner(ctx context.Context, m *monitor, o *object, ref metav1.OwnerReference) (*object, error) {
	who := id{m.GroupResource(), m.keyOf(o, ref), ref.UID}
	if cached, found := m.objects.Indexer().Get(who.key); found && cached.UID == ref.UID {
		return cached, nil
	}
	if c.absent.Contains(who) { // a UID never comes again
		return nil, nil
	}
	now, err := c.env.Cluster.Metadata(m.GroupVersionResource).Get(ctx, who.key)
	switch {
	case apierrors.IsNotFound(err), err == nil && now.UID != ref.UID:
		c.absent.Add(who, struct{}{})
		return nil, nil
	case err != nil:
		return nil, err
	}
	return now, nil
}
