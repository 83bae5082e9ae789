package kinds

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// typed completes the row of a kind whose type is a Go struct: its names come from the type, a
// Status field makes the status subresource, and a group of "core" types is "".
func typed[T any, P interface {
	*T
	Object
}](gv schema.GroupVersion, k Kind) *Kind {
	k.Group, k.Version, k.Kind = gv.Group, gv.Version, reflect.TypeFor[T]().Name()
	if k.Singular == "" {
		k.Singular = strings.ToLower(k.Kind)
	}
	k.New = func() Object { return P(new(T)) }
	if _, ok := reflect.TypeFor[T]().FieldByName("Status"); ok {
		k.CopyStatus = copyStatus
	}
	return &k
}

// specOf is [Kind.Spec] of a type with a field of that name.
func specOf(o Object) any { return reflect.ValueOf(o).Elem().FieldByName("Spec").Interface() }

func copyStatus(to, from Object) {
	reflect.ValueOf(to).Elem().FieldByName("Status").Set(reflect.ValueOf(from).Elem().FieldByName("Status"))
}

// on, of and both let a row's functions name the type that they are for.
func on[P Object](f func(P)) func(Object) { return func(o Object) { f(o.(P)) } }

func of[P Object, R any](f func(P) R) func(Object) R { return func(o Object) R { return f(o.(P)) } }

func both[P Object](f func(next, old P)) func(next, old Object) {
	return func(next, old Object) {
		before, _ := old.(P)
		f(next.(P), before)
	}
}
