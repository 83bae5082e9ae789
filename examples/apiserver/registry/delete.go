package registry

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

// Delete deletes an object, or marks it as to be deleted when finalizers or a grace period
// keep it, and returns its last state. gone tells that nothing keeps it.
func (r *Registry) Delete(ctx context.Context, t Target, o metav1.DeleteOptions) (last kinds.Object, gone bool, err error) {
	dryRun := len(o.DryRun) > 0
	plain := false // nothing is to be stored before it goes
	entry, err := r.change(ctx, t, dryRun, func(e storage.Entry) (storage.Change, error) {
		object, err := t.decode(e)
		if err == nil {
			err = t.checkPreconditions(object, o.Preconditions)
		}
		if err == nil {
			err = r.admit(ctx, Admission{Target: t, Verb: "delete", Old: object, DryRun: dryRun})
		}
		if err != nil {
			return storage.Change{}, err
		}
		setFinalizers(t.Kind, object, o)
		if plain = t.Kind.Grace == nil && t.free(object); plain {
			return storage.Change{Delete: true, Release: t.claims(object)}, nil
		}
		r.mark(t.Kind, object, o.GracePeriodSeconds)
		value, err := t.Kind.EncodeStored(object)
		return storage.Change{Value: value}, err
	})
	if err != nil {
		return nil, false, t.classify(err)
	}
	last, err = t.decode(entry)
	gone = plain || err == nil && t.finished(last)
	if err != nil || !gone || plain || dryRun {
		return last, gone, err
	}
	finished, err := r.finish(ctx, t, last)
	if apierrors.IsNotFound(err) { // somebody has written it since it was marked, and so ended it
		return last, true, nil
	}
	return finished, true, err
}

// DeleteCollection deletes the objects that the list options select, each as [Registry.Delete]
// does, and returns them as they were before.
func (r *Registry) DeleteCollection(ctx context.Context, t Target, o metav1.DeleteOptions, selected metav1.ListOptions) (List, error) {
	list, err := r.List(ctx, t, selected)
	if err != nil {
		return List{}, err
	}
	for _, object := range list.Objects {
		one := Target{Kind: t.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
		if _, _, err := r.Delete(ctx, one, o); err != nil && !apierrors.IsNotFound(err) {
			return List{}, err
		}
	}
	return list, nil
}

// setFinalizers notes in the finalizers what shall become of what the object owns. They are for
// the garbage collector, which takes them away when it has seen to that.
func setFinalizers(k *kinds.Kind, object kinds.Object, o metav1.DeleteOptions) {
	policy := metav1.DeletePropagationBackground
	orphan := o.OrphanDependents //lint:ignore SA1019 clients may still say it so
	switch {
	case o.PropagationPolicy != nil:
		policy = *o.PropagationPolicy
	case orphan != nil && *orphan, orphan == nil && k.Orphans:
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents),
		slices.Contains(object.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return // somebody has decided before
	}
	finalizers := without(object.GetFinalizers(), []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents})
	switch policy {
	case metav1.DeletePropagationOrphan:
		finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
	}
	if len(finalizers) == 0 {
		finalizers = nil
	}
	object.SetFinalizers(finalizers)
}

// finished reports whether nothing holds the object back from being gone.
func (t Target) finished(o kinds.Object) bool {
	grace := o.GetDeletionGracePeriodSeconds()
	return o.GetDeletionTimestamp() != nil && t.free(o) && (grace == nil || *grace == 0)
}

// free reports whether neither finalizers nor what the kind has of its own keep an object.
func (t Target) free(o kinds.Object) bool {
	return len(o.GetFinalizers()) == 0 && (t.Kind.Holds == nil || !t.Kind.Holds(o))
}

// mark notes in the object that it is to be deleted. A mark that is there stays, but a
// shorter grace takes the place of a longer one.
func (r *Registry) mark(k *kinds.Kind, o kinds.Object, asked *int64) {
	grace := int64(0)
	if k.Grace != nil {
		grace = k.Grace(o, asked)
	}
	since := r.now()
	if marked := o.GetDeletionTimestamp(); marked != nil {
		before := int64(0)
		if g := o.GetDeletionGracePeriodSeconds(); g != nil {
			before = *g
		}
		if k.Grace == nil || asked == nil || grace >= before {
			return
		}
		since = metav1.NewTime(marked.Add(-time.Duration(before) * time.Second))
	} else if k.Spec != nil {
		o.SetGeneration(o.GetGeneration() + 1)
	}
	if k.Mark != nil {
		k.Mark(o)
		o.SetDeletionTimestamp(&since)
		return
	}
	until := metav1.NewTime(since.Add(time.Duration(grace) * time.Second))
	o.SetDeletionTimestamp(&until)
	o.SetDeletionGracePeriodSeconds(&grace)
}

// finish removes a marked object that nothing holds back any more. Somebody else may have
// done so.
func (r *Registry) finish(ctx context.Context, t Target, marked kinds.Object) (kinds.Object, error) {
	entry, err := r.store.GuaranteedUpdate(ctx, t.key(), func(e storage.Entry) (storage.Change, error) {
		current, err := t.decode(e)
		if err != nil {
			return storage.Change{}, err
		}
		if current.GetUID() != marked.GetUID() {
			return storage.Change{}, storage.ErrNotFound
		}
		return storage.Change{Delete: true, Release: t.claims(current)}, nil
	})
	if err != nil {
		return nil, t.classify(err)
	}
	return t.decode(entry)
}

func (t Target) checkPreconditions(o kinds.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	var problem error
	switch {
	case p.UID != nil && *p.UID != o.GetUID():
		problem = fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", *p.UID, o.GetUID())
	case p.ResourceVersion != nil && *p.ResourceVersion != o.GetResourceVersion():
		problem = fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified", *p.ResourceVersion, o.GetResourceVersion())
	default:
		return nil
	}
	// This answer names the kind where others name the resource.
	kind := schema.GroupResource{Group: t.Kind.Group, Resource: t.Kind.Kind}
	return apierrors.NewConflict(kind, t.Name, problem)
}
