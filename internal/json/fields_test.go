package json_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
)

type A struct {
	X string
	Y string `json:"Y"`
	Z string
}

type B struct {
	X string
	Y string
	W string `json:"Z"`
}

type C struct {
	B
	Z string
	V int
}

type ViaA struct{ A }

type AlsoViaA struct{ A }

type Cycle struct {
	*Cycle
	X string
	V int
}

// Names that more than one field has belong to the field that encoding/json gives them to.
func TestDominantFields(t *testing.T) {
	fresh := []func() any{
		// Two of one level: nobody, or the one with a tag.
		func() any {
			return new(struct {
				A
				B
			})
		},
		func() any {
			return new(struct {
				B
				A
			})
		},
		// Two levels: the upper one, although the lower one has a tag.
		func() any { return new(C) },
		func() any {
			return new(struct {
				C
				A
			})
		},
		// A name that is lost above hides the ones below.
		structOf(
			reflect.StructField{Name: "P", Type: reflect.TypeFor[string](), Tag: `json:"V"`},
			reflect.StructField{Name: "Q", Type: reflect.TypeFor[int](), Tag: `json:"V"`},
			embed[C](),
		),
		// One type twice at one level, and at two.
		structOf(embed[ViaA](), embed[AlsoViaA]()),
		structOf(embed[ViaA](), embed[AlsoViaA](), embed[B]()),
		structOf(embed[ViaA](), embed[A]()),
		func() any { return new(Cycle) },
		// An embedded struct with a name is a field, one without is not.
		func() any {
			return new(struct {
				A `json:"X"`
				*B
			})
		},
		func() any {
			return new(struct {
				*A `json:"-"`
				*B `json:",omitempty"`
			})
		},
		// Embedded types that aren't structs.
		func() any {
			return new(struct {
				Shout shout `json:"Y"`
				rank
				Strings
			})
		},
		// Names that differ in case alone.
		func() any {
			return new(struct {
				One   string `json:"xX"`
				Two   string `json:"xx"`
				Three string `json:"XX"`
			})
		},
	}
	names := []string{"A", "B", "C", "V", "W", "X", "Y", "Z", "x", "y", "z", "P", "Q", "rank", "Strings", "xX", "Xx", "xx", "XX", "Cycle"}
	for _, f := range fresh {
		for _, name := range names {
			for _, value := range []string{`"s"`, `1`, `{"X":"x","Z":"z"}`, `["a"]`, `null`} {
				same(t, fmt.Appendf(nil, `{%q:%s}`, name, value), f)
			}
			for _, second := range names {
				same(t, fmt.Appendf(nil, `{%q:"first",%q:"second"}`, name, second), f)
			}
		}
	}
}

type Strings []string

// hiddenA and hiddenB read themselves; a struct that embeds both does not.
type hiddenA struct{ X string }

func (*hiddenA) UnmarshalJSON([]byte) error { return errors.New("called") }

type hiddenB struct{ Y string }

func (*hiddenB) UnmarshalJSON([]byte) error { return errors.New("called") }

// The methods of an embedded struct that isn't exported are not called, its fields are read.
func TestHiddenMethodsAreNotCalled(t *testing.T) {
	type hidden struct {
		hiddenA  `json:"a"`
		*hiddenB `json:"b"`
	}
	for _, document := range []string{`{"a":{"X":"x"}}`, `{"a":null}`, `{"a":5}`, `{"b":{"Y":"y"},"a":{}}`, `{"b":null}`} {
		same(t, []byte(document), func() any { return &hidden{hiddenB: new(hiddenB)} })
	}
}

// structOf makes structs that a check of the source would warn of.
func structOf(fields ...reflect.StructField) func() any {
	t := reflect.StructOf(fields)
	return func() any { return reflect.New(t).Interface() }
}

func embed[T any]() reflect.StructField {
	t := reflect.TypeFor[T]()
	return reflect.StructField{Name: t.Name(), Type: t, Anonymous: true}
}
