package rest

// Object is an object of any kind, as it is on the wire. As everywhere in what a [Source]
// decodes, a whole number is an int64 in it, or a float64 when it is out of range, as any
// number with a fraction is: what a Kubernetes server sends is kept exactly.
//
// It may be read by several goroutines at once. The zero value is an object without name.
type Object map[string]any

// GetNamespace returns metadata.namespace.
func (o Object) GetNamespace() string { return o.meta("namespace") }

// GetName returns metadata.name.
func (o Object) GetName() string { return o.meta("name") }

// GetUID returns metadata.uid.
func (o Object) GetUID() string { return o.meta("uid") }

// GetResourceVersion returns metadata.resourceVersion.
func (o Object) GetResourceVersion() string { return o.meta("resourceVersion") }

func (o Object) meta(name string) string {
	metadata, _ := o["metadata"].(map[string]any)
	value, _ := metadata[name].(string)
	return value
}
