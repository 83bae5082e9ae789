package structural

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// maxDepth is how deep a schema may be nested. The API knows no bound; the deepest in use has about 30 levels.
const maxDepth = 200

// Schema is what a definition says about the objects of one version. It is made by [New].
type Schema struct {
	structure *schema.Structural
	// values is what values are checked by.
	values *spec.Schema
}

// New reads a schema, or says what is wrong with it at that path. It keeps nothing of p.
func New(p *apiextensionsv1.JSONSchemaProps, path *field.Path) (*Schema, field.ErrorList) {
	if errs := checkUse(p, path, 0); len(errs) > 0 {
		return nil, errs
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(p.DeepCopy(), &internal, nil); err != nil {
		return nil, field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	structure, err := schema.NewStructural(&internal)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	if p.Type != "object" {
		return nil, field.ErrorList{field.Invalid(path.Child("type"), p.Type, "must be object at the root")}
	}
	if errs := schema.ValidateStructural(path, structure); len(errs) > 0 {
		return nil, errs
	}
	s := &Schema{structure: structure, values: structure.ToKubeOpenAPI()}
	intOrString(s.values)
	if errs := checkDefaults(structure, path, true); len(errs) > 0 {
		return nil, errs
	}
	return s, nil
}

// OpenAPI returns the schema as it is published. It is the caller's.
func (s *Schema) OpenAPI() *spec.Schema { return s.structure.ToKubeOpenAPI() }

// part is a schema within another, and its place there.
type part struct {
	at    *field.Path
	props *apiextensionsv1.JSONSchemaProps
}

func parts(p *apiextensionsv1.JSONSchemaProps, path *field.Path) []part {
	var all []part
	for name := range p.Properties {
		child := p.Properties[name]
		all = append(all, part{path.Child("properties").Key(name), &child})
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		all = append(all, part{path.Child("additionalProperties"), p.AdditionalProperties.Schema})
	}
	if p.Items != nil && p.Items.Schema != nil {
		all = append(all, part{path.Child("items"), p.Items.Schema})
	}
	if p.Not != nil {
		all = append(all, part{path.Child("not"), p.Not})
	}
	for name, list := range map[string][]apiextensionsv1.JSONSchemaProps{"allOf": p.AllOf, "anyOf": p.AnyOf, "oneOf": p.OneOf} {
		for i := range list {
			all = append(all, part{path.Child(name).Index(i), &list[i]})
		}
	}
	return all
}

// checkUse refuses what can't be used, whatever the structure is.
func checkUse(p *apiextensionsv1.JSONSchemaProps, path *field.Path, depth int) field.ErrorList {
	if depth > maxDepth {
		return field.ErrorList{field.Invalid(path, "", fmt.Sprintf("must not be nested deeper than %d levels", maxDepth))}
	}
	var errs field.ErrorList
	forbidden := func(name string, is bool, why string) {
		if is {
			errs = append(errs, field.Forbidden(path.Child(name), why))
		}
	}
	forbidden("x-kubernetes-validations", len(p.XValidations) > 0, "rules in CEL are not evaluated by this server")
	forbidden("$ref", p.Ref != nil, "$ref is not supported")
	forbidden("uniqueItems", p.UniqueItems, "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
	forbidden("items", p.Items != nil && len(p.Items.JSONSchemas) > 0, "items must be a schema object and not an array")
	if p.AdditionalProperties != nil {
		forbidden("additionalProperties", p.AdditionalProperties.Schema == nil && !p.AdditionalProperties.Allows,
			"additionalProperties cannot be set to false")
		forbidden("additionalProperties", len(p.Properties) > 0 && depth > 0 && p.AdditionalProperties.Schema != nil,
			"additionalProperties and properties are mutual exclusive")
	}
	if p.Pattern != "" {
		if _, err := regexp.Compile(p.Pattern); err != nil {
			errs = append(errs, field.Invalid(path.Child("pattern"), p.Pattern, "must be a valid regular expression, but isn't: "+err.Error()))
		}
	}
	for _, part := range parts(p, path) {
		errs = append(errs, checkUse(part.props, part.at, depth+1)...)
	}
	return errs
}

// intOrString says of each value that is a number or a text that it is one of both.
func intOrString(s *spec.Schema) {
	if is, _ := s.Extensions.GetBool("x-kubernetes-int-or-string"); is {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	for name := range s.Properties {
		child := s.Properties[name]
		intOrString(&child)
		s.Properties[name] = child
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		intOrString(s.AdditionalProperties.Schema)
	}
	if s.Items != nil && s.Items.Schema != nil {
		intOrString(s.Items.Schema)
	}
}

// checkDefaults finds what is wrong with the defaults of a part of the schema and within.
func checkDefaults(structure *schema.Structural, path *field.Path, root bool) field.ErrorList {
	var errs field.ErrorList
	if value := structure.Default.Object; value != nil {
		of := &Schema{structure: structure, values: structure.ToKubeOpenAPI()}
		intOrString(of.values)
		completed := runtime.DeepCopyJSONValue(value)
		prune(completed, structure, false)
		if !reflect.DeepEqual(completed, value) {
			errs = append(errs, field.Invalid(path.Child("default"), value, "must not have unknown fields"))
		}
		fill(completed, structure)
		for _, wrong := range of.check(completed) {
			errs = append(errs, field.Invalid(path.Child("default"), value, wrong.Error()))
		}
		if root {
			errs = append(errs, field.Forbidden(path.Child("default"), "must not be set at the root"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(structure.Properties)) {
		child := structure.Properties[name]
		if root && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			continue
		}
		errs = append(errs, checkDefaults(&child, path.Child("properties").Key(name), false)...)
	}
	if structure.Items != nil {
		errs = append(errs, checkDefaults(structure.Items, path.Child("items"), false)...)
	}
	if structure.AdditionalProperties != nil && structure.AdditionalProperties.Structural != nil {
		errs = append(errs, checkDefaults(structure.AdditionalProperties.Structural, path.Child("additionalProperties"), false)...)
	}
	return errs
}
