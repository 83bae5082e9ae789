package listwatch

import (
	"fmt"
	"strings"
)

// Object is anything that can be listed and watched: it has a key and a version.
//
// Every Kubernetes API type satisfies it as it is, by pointer. Types of your own implement
// the three methods or embed [Meta]. The methods are called once per received object, from
// one goroutine, and must return the same values for as long as the object lives. An object
// that has been handed to this library is shared and must not be changed afterwards.
//
// Prefer pointer types: a struct passed by value is copied at every hand-over.
type Object interface {
	// GetNamespace returns the namespace, or "" for a cluster-scoped object.
	GetNamespace() string
	// GetName returns the name, which is unique within the namespace and never empty.
	GetName() string
	// GetResourceVersion returns the version of this state of the object.
	GetResourceVersion() string
}

// Meta is an embeddable implementation of [Object] with an identity.
//
// Its methods have value receivers, so a struct that embeds it satisfies Object by value and
// by pointer. In a struct that is read from a Kubernetes API server the embedded field needs the
// tag `json:"metadata"`.
type Meta struct {
	// Namespace is "" for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	// Name is unique within Namespace.
	Name string `json:"name"`
	// UID tells two objects of one name apart. Empty: the name is the identity.
	UID string `json:"uid,omitempty"`
	// ResourceVersion is the version of this state.
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// GetNamespace returns the namespace.
func (m Meta) GetNamespace() string { return m.Namespace }

// GetName returns the name.
func (m Meta) GetName() string { return m.Name }

// GetUID returns the identity.
func (m Meta) GetUID() string { return m.UID }

// GetResourceVersion returns the version of this state.
func (m Meta) GetResourceVersion() string { return m.ResourceVersion }

// Key names an object within its collection. It is comparable: use it as a map key.
//
// A cluster-scoped object's key has no Namespace. Names may hold any character, so only keys
// whose parts are free of "/" survive a round trip through [Key.String] and [ParseKey].
type Key struct {
	// Namespace is "" for cluster-scoped objects.
	Namespace string
	// Name is never empty in the key of an object.
	Name string
}

// KeyOf returns the key of an object. It works on the last known state that a delete carries, too.
func KeyOf[T Object](o T) Key {
	return Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// String returns "namespace/name", or "name" alone for a cluster-scoped key.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Compare orders keys by namespace, then by name, bytewise.
func (k Key) Compare(other Key) int {
	if c := strings.Compare(k.Namespace, other.Namespace); c != 0 {
		return c
	}
	return strings.Compare(k.Name, other.Name)
}

// ParseKey reads what [Key.String] writes: "namespace/name" or "name".
//
// More than one slash, an empty string and an empty part are refused with an error that wraps
// [ErrBadKey].
func ParseKey(s string) (Key, error) {
	namespace, name, slash := strings.Cut(s, "/")
	if !slash {
		namespace, name = "", s
	}
	if name == "" || slash && namespace == "" || strings.Contains(name, "/") {
		return Key{}, fmt.Errorf("%w: %q is neither \"name\" nor \"namespace/name\"", ErrBadKey, s)
	}
	return Key{Namespace: namespace, Name: name}, nil
}

// Head is one state of an object without its body.
type Head struct {
	// Key names the object.
	Key Key
	// UID is the identity, or "" when the source has none.
	UID string
	// ResourceVersion is the version of the state.
	ResourceVersion string
}
