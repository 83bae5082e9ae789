package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

// Written is what a write has done.
type Written struct {
	// Object is what is there now, as the target shows it.
	Object kinds.Object
	// Created tells that nothing was there before.
	Created bool
	// Warnings are what the client should know, such as fields that were ignored.
	Warnings []string
}

// write is one request that changes an object.
type write struct {
	// wanted returns what the client wants in place of old, which it must not change; old is
	// empty when nothing is there. It may be called several times.
	wanted func(v view, old kinds.Object) (kinds.Object, error)
	// manager owns what the client changes. "": wanted has seen to that.
	manager string
	// create says that what is not there is to be created.
	create bool
	// dryRun says that nothing is to be stored.
	dryRun bool
}

// write does it, on what is stored at the moment when it succeeds.
func (r *Registry) write(ctx context.Context, t Target, w write) (Written, error) {
	v, err := r.view(t)
	if err != nil {
		return Written{}, err
	}
	var next kinds.Object
	deleted, release := false, func() {}
	change := func(e storage.Entry) (storage.Change, error) {
		release() // the attempt before was not stored
		release = func() {}
		old, err := t.decode(e)
		if err == nil {
			next, err = r.next(ctx, t, v, w, old)
		}
		if err == nil {
			release, err = r.reserve(ctx, Admission{Target: t, Verb: "update", Object: next, Old: old, DryRun: w.dryRun})
		}
		if err != nil {
			return storage.Change{}, err
		}
		deleted = t.finished(next)
		value, err := t.Kind.EncodeStored(next)
		had, has := t.claims(old), t.claims(next)
		if deleted {
			has = nil
		}
		return storage.Change{Value: value, Delete: deleted, Claim: without(has, had), Release: without(had, has)}, err
	}
	entry, err := r.change(ctx, t, w.dryRun, change)
	if errors.Is(err, storage.ErrNotFound) { // after another failure it may have been stored
		release()
	}
	switch {
	case errors.Is(err, storage.ErrNotFound) && w.create:
		created, err := r.createWanted(ctx, t, v, w)
		if apierrors.IsAlreadyExists(err) {
			return r.write(ctx, t, w)
		}
		return Written{Object: created, Created: true}, err
	case err != nil:
		return Written{}, t.classify(err)
	case deleted:
		return Written{Object: t.show(next)}, nil
	}
	stored, err := t.decode(entry)
	if err != nil {
		return Written{}, err
	}
	return Written{Object: t.show(stored)}, nil
}

// change is an update of the store, or what it would be.
func (r *Registry) change(ctx context.Context, t Target, dryRun bool, change func(storage.Entry) (storage.Change, error)) (storage.Entry, error) {
	if !dryRun {
		return r.store.GuaranteedUpdate(ctx, t.key(), change)
	}
	entry, err := r.store.Get(ctx, t.key())
	if err != nil {
		return entry, err
	}
	to, err := change(entry)
	if !to.Delete {
		entry.Value = to.Value
	}
	return entry, err
}

// createWanted creates what is not there.
func (r *Registry) createWanted(ctx context.Context, t Target, v view, w write) (kinds.Object, error) {
	empty := t.Kind.Empty(false)
	o, err := v.want(w, empty)
	if err != nil {
		return nil, err
	}
	if o.GetName() == "" {
		o.SetName(t.Name)
	}
	if err := t.checkName(o); err != nil {
		return nil, err
	}
	if uid := o.GetUID(); uid != "" {
		return nil, apierrors.NewConflict(t.Kind.GroupResource(), t.Name, fmt.Errorf(
			"uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	return r.createOwned(ctx, t, o, w.dryRun)
}

// want returns what the client wants, completed, and with the fields that it changes as its own.
func (v view) want(w write, old kinds.Object) (kinds.Object, error) {
	o, err := w.wanted(v, old)
	if err != nil {
		return nil, err
	}
	if v.kind.Default != nil {
		v.kind.Default(o)
	}
	if w.manager != "" {
		o = v.claim(old, o, w.manager)
	}
	return o, nil
}

// claim notes that the manager owns what is new in o.
func (v view) claim(old, o kinds.Object, manager string) kinds.Object {
	o = v.owners.UpdateNoErrors(old, o, manager).(kinds.Object)
	v.kind.Tidy(o)
	return o
}

// next returns what is to be stored in place of old, which stays as it is.
func (r *Registry) next(ctx context.Context, t Target, v view, w write, old kinds.Object) (kinds.Object, error) {
	o, err := t.wanted(v, w, old)
	if err != nil {
		return nil, err
	}
	if err := t.checkIdentity(old, o); err != nil {
		return nil, err
	}
	if err := t.checkUpdateVersion(old, o); err != nil {
		return nil, err
	}
	next := t.merge(old, o)
	if err := r.admit(ctx, Admission{Target: t, Verb: "update", Object: next, Old: old, DryRun: w.dryRun}); err != nil {
		return nil, err
	}
	errs := t.Kind.ValidateNext(next, old)
	if old.GetDeletionTimestamp() != nil {
		if added := without(next.GetFinalizers(), old.GetFinalizers()); len(added) > 0 {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "finalizers"), fmt.Sprintf(
				"no new finalizers can be added if the object is being deleted, found new finalizers %q", added)))
		}
	}
	if len(errs) > 0 {
		return nil, t.invalid(errs)
	}
	if err := r.allocate(ctx, t, next, old); err != nil {
		return nil, err
	}
	return t.withOldTimes(old, next)
}

// checkIdentity refuses to make another object of one.
func (t Target) checkIdentity(old, o kinds.Object) error {
	if uid := o.GetUID(); uid != "" && uid != old.GetUID() {
		//lint:ignore ST1005 the wording of a real server
		return apierrors.NewConflict(t.Kind.GroupResource(), t.Name, fmt.Errorf(
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, old.GetUID()))
	}
	if err := t.checkName(o); err != nil {
		return err
	}
	return t.placeNamespace(o)
}

func (t Target) checkName(o kinds.Object) error {
	if o.GetName() != t.Name {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", o.GetName(), t.Name))
	}
	return nil
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
	if t.Subresource == "status" || t.Subresource == "finalize" {
		return t.mergePart(old, o)
	}
	next := o.DeepCopyObject().(kinds.Object)
	next.SetUID(old.GetUID())
	next.SetCreationTimestamp(old.GetCreationTimestamp())
	next.SetDeletionTimestamp(old.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	next.SetSelfLink("")
	next.SetResourceVersion(old.GetResourceVersion())
	if k.CopyStatus != nil {
		k.CopyStatus(next, old)
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

// mergePart takes from o the one thing that the subresource is about.
func (t Target) mergePart(old, o kinds.Object) kinds.Object {
	next := old.DeepCopyObject().(kinds.Object)
	next.SetManagedFields(o.GetManagedFields())
	if t.Subresource == "finalize" {
		next.(*corev1.Namespace).Spec.Finalizers = o.(*corev1.Namespace).Spec.Finalizers
		return next
	}
	t.Kind.CopyStatus(next, o)
	if t.Kind.Prepare != nil {
		t.Kind.Prepare(next, old)
	}
	return next
}

// withOldTimes gives fields back their old owners when nothing but the times at which they
// became that is new: so a write that changes nothing stores nothing.
func (t Target) withOldTimes(old, next kinds.Object) (kinds.Object, error) {
	fields := next.GetManagedFields()
	timeless := func(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
		entries = slices.Clone(entries)
		for i := range entries {
			entries[i].Time = nil
		}
		return entries
	}
	encode := func(o kinds.Object) ([]byte, error) {
		kept := o.GetManagedFields()
		defer o.SetManagedFields(kept)
		o.SetManagedFields(timeless(kept))
		return t.Kind.EncodeStored(o)
	}
	before, err := encode(old)
	if err != nil {
		return nil, err
	}
	after, err := encode(next)
	if err == nil && string(before) == string(after) {
		fields = old.GetManagedFields()
	}
	next.SetManagedFields(fields)
	return next, err
}

func without(list, drop []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(drop, s) })
}
