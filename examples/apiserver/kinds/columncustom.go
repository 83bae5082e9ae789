package kinds

import (
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
)

// CustomColumns returns the columns of a custom kind whose definition names those: the name of the object, and what is
// found at their paths, such as ".spec.size". None: its age. What is of the type "date" is shown as an age. An error
// says what is wrong with a path.
func CustomColumns(defined []apiextensionsv1.CustomResourceColumnDefinition) ([]Column, error) {
	if len(defined) == 0 {
		age := timed("Age", metaDoc("creationTimestamp"), customCells("date", ".metadata.creationTimestamp"))
		return []Column{nameColumn(), age.as("date")}, nil
	}
	columns := []Column{nameColumn()}
	for _, d := range defined {
		if _, err := parsePath(d.JSONPath); err != nil {
			return nil, err
		}
		if d.Description == "" {
			d.Description = "Custom resource definition column (in JSONPath format): " + d.JSONPath
		}
		c := timed(d.Name, d.Description, customCells(d.Type, d.JSONPath)).as(d.Type)
		c.Format, c.Priority = d.Format, d.Priority
		columns = append(columns, c)
	}
	return columns, nil
}

func customCells(kind, path string) func(Object, time.Time) any {
	return func(o Object, now time.Time) any {
		parsed, err := parsePath(path) // it has a state: it finds its way through one object at a time
		if err != nil {
			return nil
		}
		found, err := parsed.FindResults(o.(*unstructured.Unstructured).Object)
		if err != nil || len(found) == 0 || len(found[0]) == 0 || !found[0][0].CanInterface() {
			return nil
		}
		return customCell(kind, found[0][0].Interface(), now)
	}
}

func parsePath(path string) (*jsonpath.JSONPath, error) {
	p := jsonpath.New(path).AllowMissingKeys(true)
	return p, p.Parse("{" + path + "}")
}

// customCell returns what to show of a value; nil when it isn't of the column's type.
func customCell(kind string, value any, now time.Time) any {
	text, isText := value.(string)
	switch {
	case kind == "date":
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return "<invalid>"
		}
		return since(at, now)
	case kind == "string" && isText:
		return strings.TrimSpace(text)
	case kind == "string":
		return nil
	}
	return value
}
