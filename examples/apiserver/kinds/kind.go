// Package kinds is the table of the kinds that the API server serves: a kind is a row, and
// what is particular to it stands in the row's functions.
//
// # Usage
//
//	kind, ok := kinds.Table().Find("", "v1", "pods")
//	object, err := kind.Decode(body)
//	errs := kind.Validate(object)
//
// # Guarantees
//
//  1. What was decoded and encoded once is encoded to the same bytes ever after.
//     (TestRecordedObjectsAreStable)
//  2. The bare form of a recorded object is completed to what was recorded.
//     (TestDefaultsAsRecorded)
//
// # Concurrency
//
// A [Kind] never changes and may be used by many goroutines; an [Object] may not.
//
// # Testing
//
// Rows are tested with recorded objects, without a server.
package kinds

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	openapi "k8s.io/kube-openapi/pkg/validation/spec"
)

// Object is what the server handles: a pointer to a Kubernetes API type, or an
// *unstructured.Unstructured for a custom kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is one row of the table. The functions may be nil where their comment says what that
// means; none of them keeps the object.
type Kind struct {
	// Group, Version and Kind name the type; Group is "" for the core group.
	Group, Version, Kind string
	// ListKind is the name of a list of objects. "": Kind with "List" behind.
	ListKind string
	// Resource is the name in paths, such as "pods"; Singular is for people.
	Resource, Singular string
	// ShortNames and Categories are for command lines.
	ShortNames, Categories []string
	// Namespaced says that objects live in namespaces.
	Namespaced bool
	// Custom kinds are written in alphabetical order of fields, with their kind in lists.
	Custom bool
	// Virtual objects are created and answered, and never stored: reviews.
	Virtual bool
	// Versions are those that objects of a custom kind may have been written in, and Stored is the
	// one in which they are stored. None: Version alone.
	Versions []string
	Stored   string
	// Served is done when the kind is served no more, or in another form. Nil: never.
	Served context.Context
	// Closed reports whether objects can be created no more. Nil: they can.
	Closed func() bool
	// Warning is told to all who ask for the kind. "": nothing.
	Warning string

	// CreateOnUpdate says that an update of what is not there creates it.
	CreateOnUpdate bool
	// NoDeleteCollection says that objects are deleted one by one only.
	NoDeleteCollection bool

	// New returns an empty object. Nil: an unstructured one.
	New func() Object
	// Scheme knows the Go type and its list. Nil: that of client-go.
	Scheme *runtime.Scheme
	// Schema describes the objects of a custom kind; the result is the caller's. Nil: nobody knows more
	// than their metadata.
	Schema func() *openapi.Schema
	// Types knows the structure of the kind, by which fields get owners. Nil: that of the Go
	// type, or what can be guessed of a custom kind.
	Types managedfields.TypeConverter
	// Orphans says that what an object owns stays when a delete says nothing about it.
	Orphans bool
	// Name finds what is wrong with a name, or with the beginning of a generated one. Nil: it
	// must be a DNS subdomain.
	Name func(name string, prefix bool) []string
	// Prune takes away what the kind has no place for in what a client sent, and tells it as problems;
	// the error is about what cannot be read. Nil: nothing.
	Prune func(Object) (problems []error, err error)
	// Recast makes what the kind is now of an object that may have been stored under another
	// definition of it. Nil: there was none.
	Recast func(Object)
	// Default fills in what a client may leave out; it is then as if the client had said so.
	// Nil: nothing.
	Default func(Object)
	// Prepare sets what the server decides, not the client, before next takes the place of old;
	// old is nil when the object is new. Nil: nothing.
	Prepare func(next, old Object)
	// Check finds what is wrong beside the metadata. Nil: nothing.
	Check func(Object) field.ErrorList
	// CheckUpdate finds what next must not change of old, which has the same name and identity. Nil: nothing.
	CheckUpdate func(next, old Object) field.ErrorList
	// Claims returns what the object has that no other object of any kind may have at the same time, such as
	// addresses, as keys. Nil: nothing.
	Claims func(Object) []string
	// Recheck finds what is wrong beside the metadata with next in place of old. Nil: what Check and CheckUpdate find.
	Recheck func(next, old Object) field.ErrorList
	// Spec returns the part whose change makes a new generation. Nil: no generation is kept.
	Spec func(Object) any
	// CopyStatus copies the status; it is then written by a subresource alone. Nil: the kind
	// has no status of its own.
	CopyStatus func(to, from Object)
	// BringsStatus says that an object is created with the status that it comes with, as a kubelet creates its node.
	BringsStatus bool
	// Fields returns the fields that can be selected by, beside name and namespace. Nil: none.
	Fields func(Object) map[string]string
	// Columns are what people see of the objects. Nil: their names and when they were created.
	Columns []Column
	// RowConditions says more about an object's row. Nil: nothing.
	RowConditions func(Object) []metav1.TableRowCondition
	// Scale returns how many copies an object asks for. Nil: the kind has no scale subresource.
	Scale func(Object) Scale
	// ScalePath are the names that lead to the field for the number that is wanted. Nil: spec.replicas.
	ScalePath []string
	// Holds reports whether something beside finalizers and grace keeps an object that is to be
	// deleted. Nil: nothing does.
	Holds func(Object) bool
	// Mark notes in the object, beside the time, that it is to be deleted. It has no grace
	// period then. Nil: nothing.
	Mark func(Object)
	// Grace returns for how many seconds an object lives on after a delete that asks for so
	// many, or doesn't say. Nil: deletes are never graceful.
	Grace func(o Object, asked *int64) int64
}

// Scale is what the scale subresource shows of an object.
type Scale struct {
	// Replicas is the number that is wanted. It is nil when the object doesn't say.
	Replicas *int32
	// Set changes that number in the object.
	Set func(int32)
	// Current is the number that there is.
	Current int32
	// Selector selects the copies. It may be empty.
	Selector string
}

// scaleOf is the scale of an object of a Go type.
func scaleOf(wanted **int32, current int32, selector *metav1.LabelSelector) Scale {
	s := Scale{Replicas: *wanted, Set: func(n int32) { *wanted = &n }, Current: current}
	if parsed, err := metav1.LabelSelectorAsSelector(selector); err == nil && selector != nil {
		s.Selector = parsed.String()
	}
	return s
}

// Verbs returns what can be done with objects of the kind, in the order of the API: sorted, but for
// custom kinds.
func (k *Kind) Verbs() []string {
	switch {
	case k.Virtual:
		return []string{"create"}
	case k.Custom:
		return []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	}
	verbs := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	if k.NoDeleteCollection {
		verbs = slices.Delete(verbs, 2, 3)
	}
	return verbs
}

// GroupResource returns the name that error messages use.
func (k *Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// GroupVersionKind returns the name of the type.
func (k *Kind) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// ListName returns the name of a list of objects.
func (k *Kind) ListName() string {
	if k.ListKind == "" {
		return k.Kind + "List"
	}
	return k.ListKind
}

// Knows returns what knows the Go type of the kind.
func (k *Kind) Knows() *runtime.Scheme {
	if k.Scheme == nil {
		return scheme.Scheme
	}
	return k.Scheme
}

// Empty returns an object without contents. When named is true it carries its kind.
func (k *Kind) Empty(named bool) Object {
	var o Object = &unstructured.Unstructured{Object: map[string]any{}}
	if k.New != nil {
		o = k.New()
	}
	if named || k.Custom {
		o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind())
	}
	return o
}

// EncodeStored writes an object as it is stored: without its version, and in the version of the
// kind that is stored.
func (k *Kind) EncodeStored(o Object) ([]byte, error) {
	version := o.GetResourceVersion()
	o.SetResourceVersion("")
	defer o.SetResourceVersion(version)
	if k.Stored != "" && k.Stored != k.Version {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: k.Group, Version: k.Stored, Kind: k.Kind})
		defer o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind())
	}
	return k.EncodeItem(o)
}

// EncodeItem writes an object as it stands in a list: a built-in one without its kind.
func (k *Kind) EncodeItem(o Object) ([]byte, error) { return k.encode(o, k.Custom) }

// Encode writes an object as it stands alone or in a watch, with its kind.
func (k *Kind) Encode(o Object) ([]byte, error) { return k.encode(o, true) }

func (k *Kind) encode(o Object, named bool) ([]byte, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return json.Marshal(u.Object)
	}
	gvk := schema.GroupVersionKind{}
	if named {
		gvk = k.GroupVersionKind()
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	defer o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return json.Marshal(o)
}

// SpecEqual reports whether two objects are of one generation.
func (k *Kind) SpecEqual(a, b Object) bool {
	if k.Spec == nil || reflect.DeepEqual(k.Spec(a), k.Spec(b)) {
		return true
	}
	// An empty list and none differ in memory and not in what is stored.
	encodedA, errA := json.Marshal(k.Spec(a))
	encodedB, errB := json.Marshal(k.Spec(b))
	return errA == nil && errB == nil && bytes.Equal(encodedA, encodedB)
}
