package kinds

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// widgetSizeMax is the maximum of spec.size in the kind's schema.
const widgetSizeMax = 100

// Widgets returns the row of wire.example.com/v1 Widgets, which stands for any custom kind with
// a status subresource. Its spec has a size from 1 to 100, a color (red, green or blue) and a
// note.
func Widgets() *Kind {
	return &Kind{
		Group: "wire.example.com", Version: "v1", Kind: "Widget", Resource: "widgets", Singular: "widget",
		ShortNames: []string{"wd"}, Categories: []string{"all"}, Namespaced: true, Custom: true,
		Columns: widgetColumns(),
		Default: func(o Object) {
			if spec, ok := content(o)["spec"].(map[string]any); ok && spec["color"] == nil {
				spec["color"] = "blue"
			}
		},
		Check: checkWidget,
		// Everything but metadata and status counts.
		Spec: func(o Object) any {
			spec := make(map[string]any)
			for k, v := range content(o) {
				if k != "metadata" && k != "status" {
					spec[k] = v
				}
			}
			return spec
		},
		CopyStatus: func(to, from Object) {
			delete(content(to), "status")
			if status, ok := content(from)["status"]; ok {
				content(to)["status"] = status
			}
		},
		Fields: func(o Object) map[string]string {
			color, _, _ := unstructured.NestedString(content(o), "spec", "color")
			return map[string]string{"spec.color": color}
		},
	}
}

func content(o Object) map[string]any { return o.(*unstructured.Unstructured).Object }

func checkWidget(o Object) field.ErrorList {
	spec, ok := content(o)["spec"].(map[string]any)
	path := field.NewPath("spec")
	if !ok {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	switch spec["color"] {
	case "red", "green", "blue":
	default:
		errs = append(errs, field.NotSupported(path.Child("color"), spec["color"], []string{"red", "green", "blue"}))
	}
	size, ok := spec["size"].(int64)
	switch path := path.Child("size"); {
	case spec["size"] == nil:
		errs = append(errs, field.Required(path, ""))
	case !ok:
		errs = append(errs, field.TypeInvalid(path, spec["size"], "spec.size in body must be of type integer"))
	case size > widgetSizeMax:
		errs = append(errs, field.Invalid(path, size, "spec.size in body should be less than or equal to 100"))
	case size < 1:
		errs = append(errs, field.Invalid(path, size, "spec.size in body should be greater than or equal to 1"))
	}
	return errs
}

func widgetColumns() []Column {
	columns := []Column{nameColumn()}
	for _, c := range []struct{ name, kind, path string }{
		{"Size", "integer", ".spec.size"}, {"Color", "string", ".spec.color"},
		{"Phase", "string", ".status.phase"}, {"Age", "date", ".metadata.creationTimestamp"},
	} {
		column, err := CustomColumn(c.name, c.kind, c.path)
		if err != nil {
			panic(err) // the paths are those above
		}
		if c.name == "Phase" {
			column = column.wide()
		}
		columns = append(columns, column)
	}
	return columns
}
