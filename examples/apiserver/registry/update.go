package registry

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

// Update replaces an object, or its status alone when the target says so, and returns what is
// stored then. An object on its way out that loses its last finalizer is deleted; then the
// answer is the object with the version from before.
func (r *Registry) Update(ctx context.Context, t Target, o kinds.Object) (kinds.Object, error) {
	if o.GetName() != t.Name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", o.GetName(), t.Name))
	}
	if err := t.placeNamespace(o); err != nil {
		return nil, err
	}
	var next kinds.Object
	deleted := false
	entry, err := r.store.GuaranteedUpdate(ctx, t.key(), func(e storage.Entry) (storage.Change, error) {
		old, err := t.decode(e)
		if err == nil {
			next, err = t.next(old, o)
		}
		if err != nil {
			return storage.Change{}, err
		}
		deleted = t.finished(next)
		value, err := t.Kind.EncodeStored(next)
		return storage.Change{Value: value, Delete: deleted}, err
	})
	if err != nil {
		return nil, t.classify(err)
	}
	if deleted {
		return next, nil
	}
	return t.decode(entry)
}

// finished reports whether nothing holds the object back from being gone.
func (t Target) finished(o kinds.Object) bool {
	grace := o.GetDeletionGracePeriodSeconds()
	return o.GetDeletionTimestamp() != nil && t.free(o) && (grace == nil || *grace == 0)
}

// next returns what an update with o makes of old. Neither is changed.
func (t Target) next(old, o kinds.Object) (kinds.Object, error) {
	if uid := o.GetUID(); uid != "" && uid != old.GetUID() {
		//lint:ignore ST1005 the wording of a real server
		return nil, apierrors.NewConflict(t.Kind.GroupResource(), t.Name, fmt.Errorf(
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, old.GetUID()))
	}
	if err := t.checkUpdateVersion(old, o); err != nil {
		return nil, err
	}
	next := t.merge(old, o)
	errs := t.Kind.Validate(next)
	if old.GetDeletionTimestamp() != nil {
		if added := without(next.GetFinalizers(), old.GetFinalizers()); len(added) > 0 {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "finalizers"), fmt.Sprintf(
				"no new finalizers can be added if the object is being deleted, found new finalizers %q", added)))
		}
	}
	if len(errs) > 0 {
		return nil, t.invalid(errs)
	}
	return next, nil
}

// checkUpdateVersion compares the version of an update with that of what is there.
func (t Target) checkUpdateVersion(old, o kinds.Object) error {
	version := o.GetResourceVersion()
	if version == "" || version == "0" {
		if !t.Kind.Custom {
			return nil
		}
		// This answer names the resource where others name the kind.
		return apierrors.NewInvalid(schema.GroupKind{Group: t.Kind.Group, Kind: t.Kind.Resource}, t.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	if _, err := strconv.ParseUint(version, 10, 64); err != nil {
		return internal(versionError(version, err))
	}
	if version != old.GetResourceVersion() {
		return t.conflict()
	}
	return nil
}

// merge takes from o what a client may change, and the rest from old.
func (t Target) merge(old, o kinds.Object) kinds.Object {
	k := t.Kind
	if t.Status {
		next := old.DeepCopyObject().(kinds.Object)
		k.CopyStatus(next, o)
		if k.Prepare != nil {
			k.Prepare(next, old)
		}
		return next
	}
	next := o.DeepCopyObject().(kinds.Object)
	next.SetUID(old.GetUID())
	next.SetCreationTimestamp(old.GetCreationTimestamp())
	next.SetDeletionTimestamp(old.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	next.SetSelfLink("")
	next.SetManagedFields(nil)
	next.SetResourceVersion(old.GetResourceVersion())
	if k.CopyStatus != nil {
		k.CopyStatus(next, old)
	}
	if k.Default != nil {
		k.Default(next)
	}
	if k.Prepare != nil {
		k.Prepare(next, old)
	}
	if k.Spec != nil {
		next.SetGeneration(old.GetGeneration())
		if !k.SpecEqual(old, next) {
			next.SetGeneration(old.GetGeneration() + 1)
		}
	}
	return next
}

func without(list, drop []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(drop, s) })
}
