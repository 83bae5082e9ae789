package structural

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Validate returns what is wrong with an object, but for its own metadata.
func (s *Schema) Validate(object map[string]any) field.ErrorList {
	errs := s.check(object)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structure, object)...)
	// It never fails: what it is given doesn't.
	_ = eachMetadata(object, s.structure, nil, func(within map[string]any, at []string) error {
		if len(at) > 0 {
			errs = append(errs, checkEmbedded(within, field.NewPath(place(at)))...)
		}
		return nil
	})
	return errs
}

// ValidateUpdate returns what is wrong with an object, but for what was so before in what has not changed: a schema that
// has become stricter leaves alone what a client does not touch.
func (s *Schema) ValidateUpdate(next, old map[string]any) field.ErrorList {
	errs := s.Validate(next)
	if len(errs) == 0 {
		return nil
	}
	before := make(map[string]bool)
	for _, err := range s.Validate(old) {
		before[err.Error()] = true
	}
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		is, found := subject(next, err)
		was, _ := subject(old, err)
		return found && before[err.Error()] && reflect.DeepEqual(is, was)
	})
}

var step = regexp.MustCompile(`[^.\[\]]+`)

// subject returns what an error is about: what stands at its field, or the object in which that is missing.
func subject(object map[string]any, err *field.Error) (any, bool) {
	steps := step.FindAllString(err.Field, -1)
	switch {
	case err.Field == "<nil>":
		bare := maps.Clone(object)
		delete(bare, "metadata")
		return bare, true
	case err.Type == field.ErrorTypeRequired:
		steps = steps[:len(steps)-1]
	}
	var value any = object
	for _, step := range steps {
		switch within := value.(type) {
		case map[string]any:
			value = within[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(within) {
				return nil, false
			}
			value = within[i]
		default:
			return nil, false
		}
	}
	return value, value != nil
}

// check compares values with the schema. The result is sorted by field.
func (s *Schema) check(value any) field.ErrorList {
	var errs field.ErrorList
	for _, err := range validate.NewSchemaValidator(s.values, nil, "", strfmt.Default).Validate(value).Errors {
		errs = append(errs, wrong(err))
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return errs
}

// wrong words a problem as the API does.
func wrong(err error) *field.Error {
	known := (*openapierrors.Validation)(nil)
	if !errors.As(err, &known) {
		return field.Invalid((*field.Path)(nil), "", err.Error())
	}
	at := (*field.Path)(nil)
	if name := strings.TrimPrefix(known.Name, "."); name != "" {
		at = field.NewPath(name)
	}
	value := known.Value
	if value == nil {
		value = ""
	}
	number := func(v any) int {
		if n, ok := v.(int64); ok {
			return int(n)
		}
		return -1
	}
	switch known.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(at, "")
	case openapierrors.EnumFailCode:
		values := make([]string, len(known.Values))
		for i, v := range known.Values {
			values[i], _ = v.(string)
		}
		if slices.Contains(values, "") {
			return field.Invalid(at, value, err.Error())
		}
		return field.NotSupported(at, value, values)
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(at, value, err.Error())
	case openapierrors.TooLongFailCode:
		return field.TooLong(at, value, number(known.Valid))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		return field.TooMany(at, number(known.Value), number(known.Valid))
	}
	return field.Invalid(at, value, err.Error())
}

// checkEmbedded returns what is wrong with an embedded object as one of the API.
func checkEmbedded(object map[string]any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []string{"apiVersion", "kind"} {
		if text, _ := object[name].(string); text == "" {
			errs = append(errs, field.Required(at.Child(name), "must not be empty"))
		}
	}
	u := &unstructured.Unstructured{Object: object}
	if u.GetName() == "" {
		u = u.DeepCopy() // an embedded object may be one that has no name yet
		u.SetName("a")
	}
	return append(errs, validation.ValidateObjectMetaAccessor(u, u.GetNamespace() != "", pathName, at.Child("metadata"))...)
}

// pathName says what is wrong with a name that need be no more than a part of a path.
func pathName(name string, _ bool) []string { return content.IsPathSegmentName(name) }
