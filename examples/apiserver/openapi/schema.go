package openapi

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const refs = "#/components/schemas/"

// schemas are what has been described, by name.
type schemas map[string]*spec.Schema

// nameOf returns the name of a type's schema, such as "io.k8s.api.core.v1.Pod".
func nameOf(t reflect.Type) string { return util.ToRESTFriendlyName(t.PkgPath() + "." + t.Name()) }

// add describes a struct, and what it is made of, and returns a reference to it.
func (all schemas) add(t reflect.Type) spec.Ref {
	name := nameOf(t)
	if all[name] == nil {
		s := &spec.Schema{}
		all[name] = s // before its fields, which may refer to it
		s.Description = docs(t)[""]
		if !scalar(t, s) {
			s.Type = spec.StringOrArray{"object"}
			all.fields(t, s)
		}
	}
	return spec.MustCreateRef(refs + name)
}

// scalar describes a struct that is written as something else; false when it is none.
func scalar(t reflect.Type, s *spec.Schema) bool {
	switch v := reflect.Zero(t).Interface().(type) {
	case interface{ OpenAPIV3OneOfTypes() []string }:
		for _, each := range v.OpenAPIV3OneOfTypes() {
			s.OneOf = append(s.OneOf, spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{each}}})
		}
	case interface{ OpenAPISchemaType() []string }:
		s.Type = v.OpenAPISchemaType()
	default:
		return false
	}
	if v, ok := reflect.Zero(t).Interface().(interface{ OpenAPISchemaFormat() string }); ok {
		s.Format = v.OpenAPISchemaFormat()
	}
	return true
}

// docs returns the descriptions of a type, "", and of its fields.
func docs(t reflect.Type) map[string]string {
	if v, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return v.SwaggerDoc()
	}
	return nil
}

func (all schemas) fields(t reflect.Type, s *spec.Schema) {
	doc := docs(t)
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			all.fields(field.Type, s)
			continue
		}
		if name == "-" || name == "" {
			continue
		}
		property := all.describe(field.Type)
		property.Description = doc[name]
		if t == reflect.TypeFor[metav1.ObjectMeta]() {
			merged(name, property)
		}
		s.SetProperty(name, *property)
		if !strings.Contains(options, "omit") {
			s.Required = append(s.Required, name)
		}
	}
}

// merged says how a field of the metadata is merged; managed fields depend on it.
func merged(name string, property *spec.Schema) {
	switch name {
	case "finalizers":
		property.AddExtension("x-kubernetes-list-type", "set")
	case "ownerReferences":
		property.AddExtension("x-kubernetes-list-type", "map")
		property.AddExtension("x-kubernetes-list-map-keys", []any{"uid"})
	case "managedFields":
		property.AddExtension("x-kubernetes-list-type", "atomic")
	}
}

// describe describes what a field holds.
func (all schemas) describe(t reflect.Type) *spec.Schema {
	switch t.Kind() {
	case reflect.Pointer:
		return all.describe(t.Elem())
	case reflect.Struct:
		return &spec.Schema{SchemaProps: spec.SchemaProps{AllOf: []spec.Schema{{SchemaProps: spec.SchemaProps{Ref: all.add(t)}}}}}
	case reflect.Map:
		return spec.MapProperty(all.describe(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return spec.StrFmtProperty("byte")
		}
		return spec.ArrayProperty(all.describe(t.Elem()))
	case reflect.Bool:
		return spec.BoolProperty()
	case reflect.String:
		return spec.StringProperty()
	case reflect.Float32, reflect.Float64:
		return spec.Float64Property()
	case reflect.Int64, reflect.Int:
		return spec.Int64Property()
	}
	return spec.Int32Property()
}
