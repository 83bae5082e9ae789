package kube

import (
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
