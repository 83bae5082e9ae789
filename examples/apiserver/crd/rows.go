package crd

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/version"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/openapi"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/structural"
)

// life is what the rows of one state of a definition share.
type life struct {
	// served is done when they are served no more, and end ends it.
	served context.Context
	end    context.CancelFunc
	// closed is set when objects can be created no more.
	closed atomic.Bool
}

// Rows returns the rows of the versions of a definition, served or not, as if they had just been defined. It is for
// tests, and for tables that don't change.
func Rows(d *Definition) ([]*kinds.Kind, error) {
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&d.Spec)
	if errs := Check(d); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	rows, errs := rowsOf(d, &life{})
	return rows, errs.ToAggregate()
}

// rowsOf makes the rows of all versions of a definition, or says why there can't be any.
func rowsOf(d *Definition, l *life) ([]*kinds.Kind, field.ErrorList) {
	var rows []*kinds.Kind
	var errs field.ErrorList
	for i := range d.Spec.Versions {
		k, wrong := row(d, &d.Spec.Versions[i], field.NewPath("spec", "versions").Index(i))
		errs = append(errs, wrong...)
		rows = append(rows, k)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	types, err := openapi.Types(rows)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(field.NewPath("spec", "versions"), "", err.Error())}
	}
	for _, k := range rows {
		k.Types, k.Served, k.Closed = types, l.served, l.closed.Load
	}
	return rows, nil
}

// row makes the row of one version.
func row(d *Definition, v *apiextensionsv1.CustomResourceDefinitionVersion, at *field.Path) (*kinds.Kind, field.ErrorList) {
	s, errs := structural.New(v.Schema.OpenAPIV3Schema, at.Child("schema", "openAPIV3Schema"))
	if len(errs) > 0 {
		return nil, errs
	}
	names := d.Status.AcceptedNames
	if names.Plural == "" {
		names = d.Spec.Names
	}
	k := &kinds.Kind{
		Group: d.Spec.Group, Version: v.Name, Kind: names.Kind, ListKind: names.ListKind, Resource: names.Plural, Singular: names.Singular,
		ShortNames: names.ShortNames, Categories: names.Categories, Custom: true,
		Namespaced: d.Spec.Scope == apiextensionsv1.NamespaceScoped,
		Versions:   versionNames(d.Spec.Versions), Stored: storedVersion(d), Warning: warning(d, v), Schema: s.OpenAPI,
		Prune:   func(o kinds.Object) ([]error, error) { return s.Prune(content(o)) },
		Default: func(o kinds.Object) { s.Default(content(o)) },
		Check:   func(o kinds.Object) field.ErrorList { return s.Validate(content(o)) },
		Recheck: func(next, old kinds.Object) field.ErrorList {
			return s.ValidateUpdate(content(next), content(old))
		},
	}
	if d.Generation > 1 || len(d.Spec.Versions) > 1 {
		k.Recast = recast(k.GroupVersionKind(), s)
	}
	addSubresources(k, v)
	k.Fields = fieldsOf(v)
	var err error
	if k.Columns, err = kinds.CustomColumns(v.AdditionalPrinterColumns); err != nil {
		return nil, field.ErrorList{field.Invalid(at.Child("additionalPrinterColumns"), "", err.Error())}
	}
	return k, nil
}

func content(o kinds.Object) map[string]any { return o.(*unstructured.Unstructured).Object }

// recast shows an object that was stored in another version, or under another schema, as one of this. What does not fit
// is shown as it is.
func recast(gvk schema.GroupVersionKind, s *structural.Schema) func(kinds.Object) {
	return func(o kinds.Object) {
		o.GetObjectKind().SetGroupVersionKind(gvk)
		// Metadata that cannot be read was not stored.
		_, _ = s.Prune(content(o))
		s.Default(content(o))
	}
}

func storedVersion(d *Definition) string {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// warning is what users of a deprecated version are told: to take the best one that is not.
func warning(d *Definition, v *apiextensionsv1.CustomResourceDefinitionVersion) string {
	switch {
	case !v.Deprecated:
		return ""
	case v.DeprecationWarning != nil:
		return *v.DeprecationWarning
	}
	best := ""
	for _, other := range d.Spec.Versions {
		if other.Served && !other.Deprecated && (best == "" || version.CompareKubeAwareVersionStrings(other.Name, best) > 0) {
			best = other.Name
		}
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", d.Spec.Group, v.Name, d.Spec.Names.Kind)
	if best != "" {
		text += fmt.Sprintf("; use %s/%s %s", d.Spec.Group, best, d.Spec.Names.Kind)
	}
	return text
}

// addSubresources adds what the version has beside the object, and says what makes a generation.
func addSubresources(k *kinds.Kind, v *apiextensionsv1.CustomResourceDefinitionVersion) {
	status := v.Subresources != nil && v.Subresources.Status != nil
	k.Spec = func(o kinds.Object) any {
		spec := make(map[string]any)
		for name, value := range content(o) {
			if name != "metadata" && (name != "status" || !status) {
				spec[name] = value
			}
		}
		return spec
	}
	if status {
		k.CopyStatus = func(to, from kinds.Object) {
			delete(content(to), "status")
			if status, ok := content(from)["status"]; ok {
				content(to)["status"] = status
			}
		}
	}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		scale := v.Subresources.Scale
		k.ScalePath = names(scale.SpecReplicasPath)
		k.Scale = func(o kinds.Object) kinds.Scale { return scaleOf(content(o), scale) }
	}
}

// names takes a simple path apart.
func names(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

func scaleOf(o map[string]any, s *apiextensionsv1.CustomResourceSubresourceScale) kinds.Scale {
	number := func(path string) *int32 {
		// What is not a number is not there.
		n, found, _ := unstructured.NestedInt64(o, names(path)...)
		short := int32(n)
		if !found {
			return nil
		}
		return &short
	}
	scale := kinds.Scale{Replicas: number(s.SpecReplicasPath), Set: func(n int32) {
		// It fails where something else than an object is in the way, which the schema finds wrong.
		_ = unstructured.SetNestedField(o, int64(n), names(s.SpecReplicasPath)...)
	}}
	if current := number(s.StatusReplicasPath); current != nil {
		scale.Current = *current
	}
	if s.LabelSelectorPath != nil {
		scale.Selector, _, _ = unstructured.NestedString(o, names(*s.LabelSelectorPath)...)
	}
	return scale
}

// fieldsOf returns what reads the fields that a version can be selected by.
func fieldsOf(v *apiextensionsv1.CustomResourceDefinitionVersion) func(kinds.Object) map[string]string {
	if len(v.SelectableFields) == 0 {
		return func(kinds.Object) map[string]string { return map[string]string{} }
	}
	return func(o kinds.Object) map[string]string {
		fields := make(map[string]string)
		for _, f := range v.SelectableFields {
			path := names(f.JSONPath)
			text := ""
			if value, found, _ := unstructured.NestedFieldNoCopy(content(o), path...); found && value != nil {
				text = fmt.Sprint(value)
			}
			fields[strings.Join(path, ".")] = text
		}
		return fields
	}
}
