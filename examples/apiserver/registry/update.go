package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// Update replaces an object, or what its subresource shows of it, and tells what is stored then.
// An object on its way out that loses its last finalizer is deleted; then the answer is the
// object with the version from before. Some kinds are created when they are not there. The
// object given is changed.
func (r *Registry) Update(ctx context.Context, t Target, o kinds.Object, options metav1.UpdateOptions) (Written, error) {
	if err := t.checkName(o); err != nil {
		return Written{}, err
	}
	if err := t.placeNamespace(o); err != nil {
		return Written{}, err
	}
	return r.write(ctx, t, write{
		wanted:  func(view, kinds.Object) (kinds.Object, error) { return o.DeepCopyObject().(kinds.Object), nil },
		manager: managerOr(options.FieldManager),
		create:  t.Kind.CreateOnUpdate && t.Subresource == "",
		dryRun:  len(options.DryRun) > 0,
	})
}

func managerOr(name string) string {
	if name == "" {
		return "unknown"
	}
	return name
}
