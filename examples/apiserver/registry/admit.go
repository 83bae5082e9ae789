package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

// Admission is a write that is about to be done.
type Admission struct {
	Target
	// Registry is where it is to be stored, for those who decide by what else is there.
	Registry *Registry
	// Verb is "create", "update" or "delete".
	Verb string
	// Object is what is to be stored, or to be done when Subresource is "binding". It may be changed. It is nil
	// for a delete.
	Object kinds.Object
	// Old is what is there, and must not be changed. It is nil for a create, but for that of a binding: the pod.
	Old kinds.Object
	// DryRun says that nothing will be stored.
	DryRun bool
}

// admit asks whether a write, completed but not yet checked, is to be done.
func (r *Registry) admit(ctx context.Context, a Admission) error {
	if r.options.Admit == nil {
		return nil
	}
	a.Registry = r
	return r.options.Admit(ctx, a)
}

// reserve asks for what a write will use, when nothing but the store can refuse it any more.
func (r *Registry) reserve(ctx context.Context, a Admission) (release func(), err error) {
	release = func() {}
	if r.options.Reserve != nil {
		a.Registry = r
		if made, failed := r.options.Reserve(ctx, a); failed != nil {
			err = failed
		} else {
			release = made
		}
	}
	return release, err
}

// Stored returns the objects of a collection as etcd has them when it is called, decoded anew.
func (r *Registry) Stored(ctx context.Context, t Target) ([]kinds.Object, error) {
	list, err := r.listOld(ctx, t, selector{kind: t.Kind, labels: labels.Everything(), fields: fields.Everything()}, storage.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Decode()
}

// Revise changes what is stored by the server's own decision: nobody is asked, and no field gets another owner. The
// change may be tried several times; its error ends the call and is returned.
func (r *Registry) Revise(ctx context.Context, t Target, change func(kinds.Object) error) error {
	_, err := r.store.GuaranteedUpdate(ctx, t.key(), func(e storage.Entry) (storage.Change, error) {
		o, err := t.decode(e)
		if err == nil {
			err = change(o)
		}
		if err != nil {
			return storage.Change{}, err
		}
		value, err := t.Kind.EncodeStored(o)
		return storage.Change{Value: value}, err
	})
	return t.classify(err)
}
