package registry

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// scales is the row of what the scale subresource shows.
var scales = kinds.Scales()

// Shown returns the kind of what the target shows: that of a subresource may differ.
func (t Target) Shown() *kinds.Kind {
	if t.Subresource == "scale" {
		return scales
	}
	return t.Kind
}

// show returns an object as the target shows it.
func (t Target) show(o kinds.Object) kinds.Object {
	if t.Subresource != "scale" {
		return o
	}
	shown := t.Kind.Scale(o)
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
			CreationTimestamp: o.GetCreationTimestamp(),
		},
		Status: autoscalingv1.ScaleStatus{Replicas: shown.Current, Selector: shown.Selector},
	}
	if shown.Replicas != nil {
		scale.Spec.Replicas = *shown.Replicas
	}
	return scale
}

// wanted returns what the client wants of the whole object.
func (t Target) wanted(v view, w write, old kinds.Object) (kinds.Object, error) {
	if t.Subresource != "scale" {
		return v.want(w, old)
	}
	gv := t.Kind.GroupVersionKind().GroupVersion()
	fields := managedfields.NewScaleHandler(old.GetManagedFields(), gv,
		managedfields.ResourcePathMappings{gv.String(): t.scalePath()})
	shown := t.show(old)
	owned, err := fields.ToSubresource()
	if err != nil {
		return nil, err
	}
	shown.SetManagedFields(owned)
	wanted, err := v.want(w, shown)
	if err != nil {
		return nil, err
	}
	if errs := v.kind.Validate(wanted); len(errs) > 0 {
		return nil, Target{Kind: v.kind, Name: t.Name}.invalid(errs)
	}
	next := old.DeepCopyObject().(kinds.Object)
	t.Kind.Scale(next).Set(wanted.(*autoscalingv1.Scale).Spec.Replicas)
	next.SetUID(wanted.GetUID())
	next.SetResourceVersion(wanted.GetResourceVersion())
	if owned, err = fields.ToParent(wanted.GetManagedFields()); err != nil {
		return nil, err
	}
	next.SetManagedFields(owned)
	return next, nil
}

// scalePath is where the number that is wanted stands.
func (t Target) scalePath() fieldpath.Path {
	if t.Kind.ScalePath == nil {
		return fieldpath.MakePathOrDie("spec", "replicas")
	}
	path := fieldpath.Path{}
	for _, name := range t.Kind.ScalePath {
		path = append(path, fieldpath.PathElement{FieldName: &name})
	}
	return path
}
