package structural

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	sigsjson "sigs.k8s.io/json"
)

// Prune takes away all of an object that the schema does not know, and returns it as problems, sorted by place. The
// error is about metadata that cannot be read: of the object, or of one embedded in it.
func (s *Schema) Prune(object map[string]any) (problems []error, err error) {
	for _, at := range prune(object, s.structure, true) {
		problems = append(problems, fmt.Errorf("unknown field %q", at))
	}
	err = eachMetadata(object, s.structure, nil, func(within map[string]any, at []string) error {
		unknown, err := tidyMetadata(within, at)
		problems = append(problems, unknown...)
		return err
	})
	return problems, err
}

func prune(value any, s *schema.Structural, root bool) []string {
	unknown := pruning.PruneWithOptions(value, s, root, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	slices.Sort(unknown)
	return unknown
}

// eachMetadata calls f with every object that has metadata: the root, and those embedded.
func eachMetadata(value any, s *schema.Structural, at []string, f func(object map[string]any, at []string) error) error {
	var errs []error
	switch value := value.(type) {
	case map[string]any:
		if at == nil || s.XEmbeddedResource {
			errs = append(errs, f(value, at))
		}
		for name, child := range children(value, s) {
			errs = append(errs, eachMetadata(value[name], child, append(at[:len(at):len(at)], name), f))
		}
	case []any:
		if s.Items == nil {
			return nil
		}
		for i := range value {
			errs = append(errs, eachMetadata(value[i], s.Items, append(at[:len(at):len(at)], fmt.Sprintf("[%d]", i)), f))
		}
	}
	return errors.Join(errs...)
}

// children are the fields of an object that the schema has something to say about, in order of their names.
func children(value map[string]any, s *schema.Structural) iter.Seq2[string, *schema.Structural] {
	return func(yield func(string, *schema.Structural) bool) {
		for _, name := range slices.Sorted(maps.Keys(value)) {
			child, known := s.Properties[name]
			switch {
			case known:
			case s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil:
				child = *s.AdditionalProperties.Structural
			default:
				continue
			}
			if !yield(name, &child) {
				return
			}
		}
	}
}

// tidyMetadata leaves of an object's metadata what the API knows, and tells the rest.
func tidyMetadata(object map[string]any, at []string) (problems []error, err error) {
	found, ok := object["metadata"]
	if !ok {
		return nil, nil
	}
	data, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	var meta metav1.ObjectMeta
	place := place(append(at[:len(at):len(at)], "metadata"))
	strict, err := sigsjson.UnmarshalStrict(data, &meta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	for _, problem := range strict {
		if known := sigsjson.FieldError(nil); errors.As(problem, &known) {
			known.SetFieldPath(place + "." + known.FieldPath())
		}
		problems = append(problems, problem)
	}
	tidied, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&meta)
	if tidied["creationTimestamp"] == nil {
		delete(tidied, "creationTimestamp")
	}
	object["metadata"] = tidied
	return problems, err
}

// place writes where something stands.
func place(at []string) string {
	return strings.ReplaceAll(strings.Join(at, "."), ".[", "[")
}

// Default fills in what an object leaves out and the schema has a default for. Nulls where the schema knows none are
// as if they had been left out.
func (s *Schema) Default(object map[string]any) { fill(object, s.structure) }

func fill(value any, s *schema.Structural) {
	switch value := value.(type) {
	case map[string]any:
		for name, child := range children(value, s) {
			if value[name] == nil && !child.Nullable && !child.XPreserveUnknownFields {
				delete(value, name)
			}
		}
		for name, child := range s.Properties {
			if _, there := value[name]; !there && child.Default.Object != nil {
				value[name] = runtime.DeepCopyJSONValue(child.Default.Object)
			}
		}
		for name, child := range children(value, s) {
			fill(value[name], child)
		}
	case []any:
		if s.Items == nil {
			return
		}
		for i := range value {
			fill(value[i], s.Items)
		}
	}
}
