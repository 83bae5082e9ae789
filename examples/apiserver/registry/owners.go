package registry

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// builtinTypes and guessedTypes know the structure of kinds that don't say it themselves.
var (
	builtinTypes = sync.OnceValue(func() managedfields.TypeConverter {
		return applyconfigurations.NewTypeConverter(scheme.Scheme)
	})
	guessedTypes = sync.OnceValue(managedfields.NewDeducedTypeConverter)
)

// view is one kind as it is seen at one place: itself or a subresource. Who owns which of its
// fields is kept there.
type view struct {
	kind   *kinds.Kind
	owners *managedfields.FieldManager
}

// viewKey names a view. A kind that is defined anew takes the place of the one before.
type viewKey struct {
	schema.GroupVersionKind
	subresource string
}

// view returns the view that the target is written through.
func (r *Registry) view(t Target) (view, error) {
	k := t.Shown()
	key := viewKey{k.GroupVersionKind(), t.Subresource}
	if v, ok := r.views.Load(key); ok && v.(view).kind == k {
		return v.(view), nil
	}
	owners, err := newOwners(k, t.Subresource)
	v := view{k, owners}
	if err == nil {
		r.views.Store(key, v)
	}
	return v, err
}

func newOwners(k *kinds.Kind, subresource string) (*managedfields.FieldManager, error) {
	gvk := k.GroupVersionKind()
	version := fieldpath.APIVersion(gvk.GroupVersion().String())
	reset := map[fieldpath.APIVersion]fieldpath.Filter{}
	switch {
	case subresource == "status":
		reset[version] = fieldpath.NewIncludeMatcherFilter(fieldpath.MakePrefixMatcherOrDie("status"))
	case k.CopyStatus != nil && subresource == "":
		reset[version] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
	}
	types, objects := k.Types, objectsOf{k.Knows(), k}
	if k.Custom {
		if types == nil {
			types = guessedTypes()
		}
		return managedfields.NewDefaultCRDFieldManager(types, objects, objects, objects, gvk, gvk.GroupVersion(), subresource, reset)
	}
	if types == nil {
		types = builtinTypes()
	}
	return managedfields.NewDefaultFieldManager(types, objects, objects, objects, gvk, gvk.GroupVersion(), subresource, reset)
}

// objectsOf makes, completes and converts objects of a kind.
type objectsOf struct {
	runtime.ObjectConvertor
	kind *kinds.Kind
}

// New returns an empty object.
func (o objectsOf) New(schema.GroupVersionKind) (runtime.Object, error) {
	return o.kind.Empty(true), nil
}

// Default fills in what was left out.
func (o objectsOf) Default(object runtime.Object) {
	if o.kind.Default != nil {
		o.kind.Default(object.(kinds.Object))
	}
}

// ConvertToVersion returns the object itself, named anew, when its kind has no Go type. A version
// that the kind has not is not known.
func (o objectsOf) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok || !o.kind.Custom {
		return o.ObjectConvertor.ConvertToVersion(in, gv)
	}
	gvk := o.kind.GroupVersionKind()
	if asked, ok := gv.(schema.GroupVersion); ok {
		gvk = asked.WithKind(gvk.Kind)
	}
	if gvk.Group != o.kind.Group || gvk.Version != o.kind.Version && !slices.Contains(o.kind.Versions, gvk.Version) {
		return nil, runtime.NewNotRegisteredErrForKind("the definition of "+o.kind.Resource, gvk)
	}
	if gvk != u.GroupVersionKind() {
		u = u.DeepCopy()
		u.SetGroupVersionKind(gvk)
	}
	return u, nil
}
