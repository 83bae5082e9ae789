package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// Select says which objects of a type an informer follows. The zero value: all of them.
type Select struct {
	// Namespace is where they are. Defaults to everywhere.
	Namespace string
	// Labels selects by labels, such as "app=web". Defaults to everything.
	Labels string
	// Fields selects by fields, such as "spec.nodeName=n1". Defaults to everything.
	Fields string
}

// Follow returns the factory's informer of the objects of a type, and makes it on the first call: everybody who asks a
// factory for the same type and selection shares one. managedFields are left out.
func Follow[T Object](c *Cluster, f *informer.Factory, s Select) (*informer.Informer[T], error) {
	r := c.resourceOf(newOf[T]())
	name := r.plural
	for _, part := range []string{s.Namespace, s.Labels, s.Fields} {
		if part != "" {
			name += " " + part
		}
	}
	o := rest.Options{
		Client: c.client, Kind: r.Kind, LabelSelector: s.Labels, FieldSelector: s.Fields, Skip: []string{"metadata.managedFields"},
	}
	if s.Namespace != "" {
		o.Namespaces = []string{s.Namespace}
	}
	source, err := rest.New[T](c.base.JoinPath(r.path()).String(), o)
	if err != nil {
		return nil, err
	}
	return informer.Of(f, name, source)
}

// FollowMetadata is [Follow] for all objects of a resource of which only the metadata is read: their kind need not be known
// to this program.
func FollowMetadata(c *Cluster, f *informer.Factory, r schema.GroupVersionResource) (*informer.Informer[*metav1.PartialObjectMetadata], error) {
	at := resource{GroupVersionKind: r.GroupVersion().WithKind(""), plural: r.Resource}
	source, err := rest.New[*metav1.PartialObjectMetadata](c.base.JoinPath(at.path()).String(),
		rest.Options{Client: c.client, MetadataOnly: true, Skip: []string{"metadata.managedFields"}})
	if err != nil {
		return nil, err
	}
	return informer.Of(f, "metadata of "+r.GroupResource().String(), source)
}
