package kube

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch"
)

// Metadata reads and writes what all objects have in common, whatever their kind is. Make one with [Cluster.Metadata]. Errors
// of its methods are those of k8s.io/apimachinery/pkg/api/errors.
type Metadata struct {
	rest     *clientrest.RESTClient
	resource string
}

// Metadata returns the client of the metadata of a resource.
func (c *Cluster) Metadata(r schema.GroupVersionResource) Metadata {
	return Metadata{c.rest(r.GroupVersion()), r.Resource}
}

// MetadataOnly is the media type by which a server leaves out all but the metadata, and MetadataListOnly that of lists.
const (
	MetadataOnly     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	MetadataListOnly = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// at points a request to an object, or with an empty name to a collection.
func (m Metadata) at(r *clientrest.Request, k listwatch.Key) *clientrest.Request {
	r = r.NamespaceIfScoped(k.Namespace, k.Namespace != "").Resource(m.resource).SetHeader("Accept", MetadataOnly)
	if k.Name != "" {
		r = r.Name(k.Name)
	}
	return r
}

// answer does a request and decodes what comes.
func answer(ctx context.Context, r *clientrest.Request, into any) error {
	data, err := r.Do(ctx).Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Get asks the server for an object as it is now.
func (m Metadata) Get(ctx context.Context, k listwatch.Key) (*metav1.PartialObjectMetadata, error) {
	into := &metav1.PartialObjectMetadata{}
	return into, answer(ctx, m.at(m.rest.Get(), k), into)
}

// List asks the server for the objects in a namespace, or with an empty one for all.
func (m Metadata) List(ctx context.Context, namespace string) (*metav1.PartialObjectMetadataList, error) {
	into := &metav1.PartialObjectMetadataList{}
	return into, answer(ctx, m.at(m.rest.Get(), listwatch.Key{Namespace: namespace}).SetHeader("Accept", MetadataListOnly), into)
}

// Patch changes some fields of the metadata of an object and returns it as it is then.
func (m Metadata) Patch(ctx context.Context, k listwatch.Key, p Patch) (*metav1.PartialObjectMetadata, error) {
	body, err := json.Marshal(p.Body)
	if err != nil {
		return nil, err
	}
	if p.Type == "" {
		p.Type = types.MergePatchType
	}
	into := &metav1.PartialObjectMetadata{}
	return into, answer(ctx, m.at(m.rest.Patch(p.Type), k).Body(body), into)
}

// Delete deletes an object: see [Client.Delete].
func (m Metadata) Delete(ctx context.Context, k listwatch.Key, o metav1.DeleteOptions) error {
	return m.at(m.rest.Delete(), k).Body(&o).Do(ctx).Error()
}

// DeleteAll deletes the objects in a namespace, each by itself: some may be there still when it fails.
func (m Metadata) DeleteAll(ctx context.Context, namespace string, o metav1.DeleteOptions) error {
	return m.at(m.rest.Delete(), listwatch.Key{Namespace: namespace}).SetHeader("Accept", MetadataListOnly).Body(&o).Do(ctx).Error()
}
