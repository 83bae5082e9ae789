package kinds

import (
	"strings"
	"time"

	"k8s.io/client-go/util/jsonpath"
)

// CustomColumn makes a column of a custom kind, of what stands at a path such as ".spec.size".
// The types are those of CustomResourceDefinitions, "date" among them, which is shown as an age.
// An error says what is wrong with the path.
func CustomColumn(name, kind, path string) (Column, error) {
	if _, err := parsePath(path); err != nil {
		return Column{}, err
	}
	c := timed(name, "Custom resource definition column (in JSONPath format): "+path, func(o Object, now time.Time) any {
		parsed, err := parsePath(path) // it has a state: it finds its way through one object at a time
		if err != nil {
			return nil
		}
		found, err := parsed.FindResults(content(o))
		if err != nil || len(found) == 0 || len(found[0]) == 0 || !found[0][0].CanInterface() {
			return nil
		}
		return customCell(kind, found[0][0].Interface(), now)
	})
	return c.as(kind), nil
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
