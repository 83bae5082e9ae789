package fakes

import (
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// Stamp is what a server writes into an object. The zero value stamps nothing.
type Stamp struct {
	// ResourceVersion is the version of the state.
	ResourceVersion string
	// UID is the identity that the object got when it was created.
	UID string
	// Created is when that was, in whole seconds.
	Created time.Time
	// Deleted is when the deletion of an object was asked for that finalizers still keep; zero:
	// it is not being deleted.
	Deleted time.Time
}

// StampMeta returns a stamp function for [New], for a pointer type that keeps a
// [listwatch.Meta]: clone makes a deep copy, and meta says where the Meta of the copy stands.
// Times are not stamped. The result is safe for concurrent use when clone and meta are.
func StampMeta[T listwatch.Object](clone func(T) T, meta func(T) *listwatch.Meta) func(T, Stamp) T {
	return func(object T, s Stamp) T {
		object = clone(object)
		m := meta(object)
		m.UID, m.ResourceVersion = s.UID, s.ResourceVersion
		return object
	}
}

// StampKubernetes is the stamp function of Kubernetes API types for [New], such as
// fakes.StampKubernetes[*corev1.Pod]: it needs nothing of them but their methods.
func StampKubernetes[T interface {
	listwatch.Object
	kubernetes[T, U, C]
}, U ~string, C ~struct {
	time.Time `protobuf:"-"`
}](object T, s Stamp) T {
	object = object.DeepCopy()
	object.SetResourceVersion(s.ResourceVersion)
	object.SetUID(U(s.UID))
	object.SetCreationTimestamp(C{Time: s.Created})
	object.SetDeletionTimestamp(nil)
	if !s.Deleted.IsZero() {
		object.SetDeletionTimestamp(&C{Time: s.Deleted})
	}
	return object
}

// kubernetes are the methods that [StampKubernetes] needs. U is the type of the UID, C that of a time.
type kubernetes[T, U, C any] interface {
	DeepCopy() T
	SetResourceVersion(string)
	SetUID(U)
	SetCreationTimestamp(C)
	SetDeletionTimestamp(*C)
}
