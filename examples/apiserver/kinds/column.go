package kinds

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
)

// What cells say where there is nothing.
const (
	none    = "<none>"
	unknown = "<unknown>"
	unset   = "<unset>"
)

// Column is a column of the table in which people see the objects of a kind.
type Column struct {
	metav1.TableColumnDefinition
	// Cell returns the text or the number to show of an object at a time, nil for nothing. It
	// doesn't change or keep the object.
	Cell func(o Object, now time.Time) any
}

// column makes a column of texts. Its numbers are aligned like texts, as the API has it.
func column(name, description string, cell func(Object) any) Column {
	return timed(name, description, func(o Object, _ time.Time) any { return cell(o) })
}

// timed makes a column of texts that change with time.
func timed(name, description string, cell func(o Object, now time.Time) any) Column {
	return Column{metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}, cell}
}

// wide returns the column as one of those that people must ask for.
func (c Column) wide() Column {
	c.Priority = 1
	return c
}

// as returns the column with another type than string.
func (c Column) as(t string) Column {
	c.Type = t
	return c
}

func metaDoc(field string) string { return metav1.ObjectMeta{}.SwaggerDoc()[field] }

func nameColumn() Column {
	c := column("Name", metaDoc("name"), func(o Object) any { return o.GetName() })
	c.Format = "name"
	return c
}

func ageColumn() Column {
	return timed("Age", metaDoc("creationTimestamp"), func(o Object, now time.Time) any {
		return since(o.GetCreationTimestamp().Time, now)
	})
}

// createdColumn shows when an object was created to the clients that don't show an age instead.
func createdColumn() Column {
	return column("Created At", metaDoc("creationTimestamp"), func(o Object) any {
		return o.GetCreationTimestamp().UTC().Format(time.RFC3339)
	}).as("date")
}

// TableColumns returns the columns of the kind, which are name and time of creation by default.
func (k *Kind) TableColumns() []Column {
	if k.Columns == nil {
		return []Column{nameColumn(), createdColumn()}
	}
	return k.Columns
}

// nameAnd returns the columns of most kinds: those given between name and age.
func nameAnd(columns ...Column) []Column {
	return append(append([]Column{nameColumn()}, columns...), ageColumn())
}

// since says how long ago something happened.
func since(t, now time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(t))
}

// or returns the text, or what stands for an empty one.
func or(text, empty string) string {
	if text == "" {
		return empty
	}
	return text
}

func orZero(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// atMost joins the first few texts and says how many more there are.
func atMost(n int, texts []string, more func(int) string) string {
	if len(texts) <= n {
		return strings.Join(texts, ",")
	}
	return strings.Join(texts[:n], ",") + more(len(texts)-n)
}

func selectorText(s map[string]string) string { return labels.FormatLabels(s) }
