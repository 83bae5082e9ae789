// Package identity finds out, once per type, how to read the identity of an object.
package identity

import (
	"reflect"
	"sync"
)

var functions sync.Map // by type

// Of returns a function that reads the UID of a T, or one that returns "" when T has none.
//
// A type has an identity when it has a method GetUID that takes nothing and returns a string
// kind, as every Kubernetes API type has. A method that returns string is called; otherwise a
// promoted field UID of a string kind is read; failing that the method is called by
// reflection, which is slow and allocates.
func Of[T any]() func(T) string {
	t := reflect.TypeFor[T]()
	of, ok := functions.Load(t)
	if !ok {
		of, _ = functions.LoadOrStore(t, find[T](t))
	}
	return of.(func(T) string)
}

func find[T any](t reflect.Type) func(T) string {
	if t.Implements(reflect.TypeFor[interface{ GetUID() string }]()) {
		return func(o T) string { return any(o).(interface{ GetUID() string }).GetUID() }
	}
	method, ok := t.MethodByName("GetUID")
	if !ok {
		return func(T) string { return "" }
	}
	inputs := 1
	if t.Kind() == reflect.Interface {
		inputs = 0
	}
	if method.Type.NumIn() != inputs || method.Type.NumOut() != 1 || method.Type.Out(0).Kind() != reflect.String {
		return func(T) string { return "" }
	}
	if index, ok := field(t); ok && returns(t, index) {
		return func(o T) string {
			v := reflect.ValueOf(o)
			if v.Kind() == reflect.Pointer {
				v = v.Elem()
			}
			return v.FieldByIndex(index).String()
		}
	}
	return func(o T) string { return reflect.ValueOf(o).MethodByName("GetUID").Call(nil)[0].String() }
}

// returns reports whether GetUID returns what stands in the field, by trying it.
func returns(t reflect.Type, index []int) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	pointer := t
	if t.Kind() != reflect.Pointer {
		pointer = reflect.PointerTo(t)
	}
	object := reflect.New(pointer.Elem())
	object.Elem().FieldByIndex(index).SetString("probe")
	if t.Kind() != reflect.Pointer {
		object = object.Elem()
	}
	return object.MethodByName("GetUID").Call(nil)[0].String() == "probe"
}

// field returns where the field UID stands, when there is one that can be reached without
// following a pointer.
func field(t reflect.Type) ([]int, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, false
	}
	f, ok := t.FieldByName("UID")
	if !ok || f.Type.Kind() != reflect.String {
		return nil, false
	}
	for i := 1; i < len(f.Index); i++ {
		t = t.Field(f.Index[i-1]).Type
		if t.Kind() != reflect.Struct {
			return nil, false
		}
	}
	return f.Index, true
}
