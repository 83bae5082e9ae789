package registry

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

// Names made of a generateName end in so many random letters, and are tried so often.
const (
	generatedLetters = 5
	generateAttempts = 8
)

// Create stores a new object and returns it. The object given is changed.
func (r *Registry) Create(ctx context.Context, t Target, o kinds.Object, options metav1.CreateOptions) (kinds.Object, error) {
	if o.GetResourceVersion() != "" {
		return nil, internal("resourceVersion should not be set on objects to be created")
	}
	v, err := r.view(t)
	if err != nil {
		return nil, err
	}
	if t.Kind.Default != nil {
		t.Kind.Default(o)
	}
	o = v.claim(t.Kind.Empty(false), o, managerOr(options.FieldManager))
	return r.createOwned(ctx, t, o, len(options.DryRun) > 0)
}

// createOwned creates an object whose fields have their owners.
func (r *Registry) createOwned(ctx context.Context, t Target, o kinds.Object, dryRun bool) (kinds.Object, error) {
	if t.Kind.Closed != nil && t.Kind.Closed() {
		err := apierrors.NewMethodNotSupported(t.Kind.GroupResource(), "create")
		err.ErrStatus.Message = "create not allowed while custom resource definition is terminating"
		return nil, err
	}
	if err := t.placeNamespace(o); err != nil {
		return nil, err
	}
	t.Namespace = o.GetNamespace()
	r.prepareCreate(t.Kind, o)
	if err := r.admit(ctx, Admission{Target: t, Verb: "create", Object: o, DryRun: dryRun}); err != nil {
		return nil, err
	}
	generate := o.GetName() == "" && o.GetGenerateName() != ""
	for attempt := 1; ; attempt++ {
		if generate {
			o.SetName(generateName(o.GetGenerateName()))
		}
		created, err := r.create(ctx, t, o.DeepCopyObject().(kinds.Object), dryRun)
		if errors.Is(err, storage.ErrClaimed) {
			continue // somebody was faster; what is left is looked for again
		}
		if generate && attempt < generateAttempts && apierrors.IsAlreadyExists(err) {
			continue
		}
		return created, err
	}
}

func (r *Registry) create(ctx context.Context, t Target, o kinds.Object, dryRun bool) (kinds.Object, error) {
	t.Name = o.GetName()
	if t.Kind.Prepare != nil {
		t.Kind.Prepare(o, nil)
	}
	if errs := t.Kind.Validate(o); len(errs) > 0 {
		return nil, t.invalid(errs)
	}
	if err := r.allocate(ctx, t, o, nil); err != nil {
		return nil, err
	}
	value, err := t.Kind.EncodeStored(o)
	if err != nil {
		return nil, err
	}
	release, err := r.reserve(ctx, Admission{Target: t, Verb: "create", Object: o, DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	if dryRun {
		_, err := r.store.Get(ctx, t.key())
		if err == nil {
			return nil, t.classify(storage.ErrExists)
		}
		if !errors.Is(err, storage.ErrNotFound) {
			return nil, err
		}
		return t.Kind.DecodeStored(value, "")
	}
	entry, err := r.store.Create(ctx, t.key(), value, t.claims(o)...)
	if errors.Is(err, storage.ErrExists) || errors.Is(err, storage.ErrClaimed) { // after another failure it may have been stored
		release()
	}
	if err != nil {
		return nil, t.classify(err)
	}
	return t.decode(entry)
}

// prepareCreate sets what only the server may set.
func (r *Registry) prepareCreate(k *kinds.Kind, o kinds.Object) {
	o.SetUID(uuid.NewUUID())
	o.SetCreationTimestamp(r.now())
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetSelfLink("")
	if k.Spec != nil {
		o.SetGeneration(1)
	}
	if k.CopyStatus != nil && !k.BringsStatus {
		k.CopyStatus(o, k.Empty(false))
	}
}

// now is the time as the API writes it, in whole seconds.
func (r *Registry) now() metav1.Time {
	return metav1.NewTime(r.options.Clock.Now().UTC().Truncate(time.Second))
}

func generateName(base string) string {
	base = base[:min(len(base), validation.DNS1123LabelMaxLength-generatedLetters)]
	return base + utilrand.String(generatedLetters)
}

// placeNamespace fills in the namespace of the path, and refuses another one.
func (t Target) placeNamespace(o kinds.Object) error {
	if !t.Kind.Namespaced {
		o.SetNamespace("")
		return nil
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(t.Namespace)
	}
	if t.Namespace == "" || o.GetNamespace() != t.Namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// Ensure creates an object of which there is nothing to say but its name, when it is not there.
func (r *Registry) Ensure(ctx context.Context, t Target) error {
	if _, err := r.store.Get(ctx, t.key()); !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	o := t.Kind.Empty(false)
	o.SetName(t.Name)
	_, err := r.Create(ctx, t, o, metav1.CreateOptions{FieldManager: "kube-apiserver"})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
