package openapi

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// Types returns what knows the structure of custom kinds by their schemas.
func Types(rows []*kinds.Kind) (managedfields.TypeConverter, error) {
	all := schemas{}
	for _, k := range rows {
		all.addCustom(k)
	}
	return managedfields.NewTypeConverter(all, false)
}

// addCustom describes the objects of a custom kind, and lists of them. Of one without a schema only the metadata
// is known.
func (all schemas) addCustom(k *kinds.Kind) {
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
	if k.Schema == nil {
		s.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	} else {
		s = k.Schema()
		all.embed(s)
	}
	all.asObject(s, "Standard object's metadata. More info: "+conventions+"#metadata")
	s.AddExtension(groupVersionKind, []any{gvk(k)})
	parts := strings.Split(k.Group, ".")
	slices.Reverse(parts)
	name := strings.Join(parts, ".") + "." + k.Version + "."
	all[name+k.Kind] = s

	items := spec.ArrayProperty(spec.RefSchema(refs + name + k.Kind))
	items.Description = "List of " + k.Resource + ". More info: " + conventions
	list := &spec.Schema{SchemaProps: spec.SchemaProps{
		Description: k.ListName() + " is a list of " + k.Kind, Type: spec.StringOrArray{"object"}, Required: []string{"items"}}}
	all.fields(reflect.TypeFor[metav1.TypeMeta](), list)
	list.SetProperty("items", *items)
	metadata := *all.describe(reflect.TypeFor[metav1.ListMeta]())
	metadata.Description = "Standard list metadata. More info: " + conventions + "#types-kinds"
	list.SetProperty("metadata", metadata)
	named := gvk(k)
	named["kind"] = k.ListName()
	list.AddExtension(groupVersionKind, []any{named})
	if fields := selectable(k); len(fields) > 0 {
		s.AddExtension("x-kubernetes-selectable-fields", fields)
		list.AddExtension("x-kubernetes-selectable-fields", fields)
	}
	all[name+k.ListName()] = list
}

// selectable are the fields that objects can be selected by, beside name and namespace.
func selectable(k *kinds.Kind) []any {
	var fields []any
	if k.Fields == nil {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(k.Fields(k.Empty(false)))) {
		fields = append(fields, map[string]any{"fieldPath": path})
	}
	return fields
}

const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"

// asObject adds what all objects of the API have.
func (all schemas) asObject(s *spec.Schema, about string) {
	all.fields(reflect.TypeFor[metav1.TypeMeta](), s)
	metadata := *all.describe(reflect.TypeFor[metav1.ObjectMeta]())
	metadata.Description = about
	s.SetProperty("metadata", metadata)
}

// embed adds to each embedded object within a schema, which it changes, what all objects have.
func (all schemas) embed(s *spec.Schema) {
	for name, property := range s.Properties {
		all.embed(&property)
		s.Properties[name] = property
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		all.embed(s.AdditionalProperties.Schema)
	}
	if s.Items != nil && s.Items.Schema != nil {
		all.embed(s.Items.Schema)
	}
	if is, _ := s.Extensions.GetBool("x-kubernetes-embedded-resource"); is {
		all.asObject(s, "Standard object's metadata. More info: "+conventions+"#metadata")
	}
}
