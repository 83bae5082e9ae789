package kube

import (
	"context"
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch"
)

// Client writes the objects of one type, and reads them from the server itself where a cache is not enough. Make one
// with [For]. Errors of its methods are those of k8s.io/apimachinery/pkg/api/errors.
type Client[T Object] struct {
	rest     *clientrest.RESTClient
	resource resource
}

// For returns the client of a type of object. It panics when T is of no API group that the package knows.
func For[T Object](c *Cluster) Client[T] {
	r := c.resourceOf(newOf[T]())
	return Client[T]{c.rest(r.GroupVersion()), r}
}

// newOf makes an empty object.
func newOf[T Object]() T { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) }

// at points a request to an object, or with an empty name to a collection.
func (c Client[T]) at(r *clientrest.Request, k listwatch.Key) *clientrest.Request {
	r = r.NamespaceIfScoped(k.Namespace, k.Namespace != "").Resource(c.resource.plural)
	if k.Name != "" {
		r = r.Name(k.Name)
	}
	return r
}

// send does a request and decodes the answer.
func (c Client[T]) send(ctx context.Context, r *clientrest.Request) (T, error) {
	into := newOf[T]()
	if err := r.Do(ctx).Into(into); err != nil {
		var none T
		return none, err
	}
	return into, nil
}

// keyOf is where an object is.
func keyOf(o metav1.Object) listwatch.Key {
	return listwatch.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// typed is a copy of an object that says its kind, as a body must.
func (c Client[T]) typed(o T) runtime.Object {
	copied := o.DeepCopyObject()
	copied.GetObjectKind().SetGroupVersionKind(c.resource.GroupVersionKind)
	return copied
}

// Get asks the server for the object as it is now.
func (c Client[T]) Get(ctx context.Context, k listwatch.Key) (T, error) {
	return c.send(ctx, c.at(c.rest.Get(), k))
}

// Create makes an object and returns it as the server has completed it. With an empty name and a GenerateName the
// server chooses the name.
func (c Client[T]) Create(ctx context.Context, o T) (T, error) {
	return c.send(ctx, c.at(c.rest.Post(), listwatch.Key{Namespace: o.GetNamespace()}).Body(c.typed(o)))
}

// Update replaces an object, but for its status where that is a subresource. The server refuses it with a conflict when
// the object has another resourceVersion than o by now.
func (c Client[T]) Update(ctx context.Context, o T) (T, error) {
	return c.send(ctx, c.at(c.rest.Put(), keyOf(o)).Body(c.typed(o)))
}

// UpdateStatus replaces the status of an object. Conflicts are as with Update.
func (c Client[T]) UpdateStatus(ctx context.Context, o T) (T, error) {
	return c.UpdateSubresource(ctx, o, "status")
}

// UpdateSubresource replaces a part of an object, such as "finalize" of a namespace. Conflicts are as with Update.
func (c Client[T]) UpdateSubresource(ctx context.Context, o T, subresource string) (T, error) {
	return c.send(ctx, c.at(c.rest.Put(), keyOf(o)).SubResource(subresource).Body(c.typed(o)))
}

// Patch is a change of some fields of an object.
type Patch struct {
	// Type says how Body is read. Defaults to a JSON merge patch.
	Type types.PatchType
	// Body is what is encoded as JSON. A metadata.uid or metadata.resourceVersion in it makes the server refuse the patch
	// with a conflict when the object is another one.
	Body any
	// Subresource is what is patched, such as "status". Defaults to the object.
	Subresource string
}

// Patch changes some fields of an object and returns it as it is then.
func (c Client[T]) Patch(ctx context.Context, k listwatch.Key, p Patch) (T, error) {
	body, err := json.Marshal(p.Body)
	if err != nil {
		var none T
		return none, err
	}
	if p.Type == "" {
		p.Type = types.MergePatchType
	}
	r := c.at(c.rest.Patch(p.Type), k)
	if p.Subresource != "" {
		r = r.SubResource(p.Subresource)
	}
	return c.send(ctx, r.Body(body))
}

// Delete deletes an object. Give it the UID of the object that is meant, by metav1.NewUIDPreconditions, so that one
// that has come under the same name stays.
func (c Client[T]) Delete(ctx context.Context, k listwatch.Key, o metav1.DeleteOptions) error {
	return c.at(c.rest.Delete(), k).Body(&o).Do(ctx).Error()
}

// Post creates a subresource of an object, such as the "binding" of a pod; into gets the answer and may be nil.
func (c Client[T]) Post(ctx context.Context, k listwatch.Key, subresource string, in, into runtime.Object) error {
	done := c.at(c.rest.Post(), k).SubResource(subresource).Body(in).Do(ctx)
	if into == nil {
		return done.Error()
	}
	return done.Into(into)
}

// UnlessBehind drops the refusals that mean that the cache which a step has read is behind, or that somebody else was
// faster: a conflict, that there is or isn't such an object, and those of [Ending]. What the cache has missed brings the key
// back.
func UnlessBehind(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || Ending(err) {
		return nil
	}
	return err
}

// Ending tells whether a refusal means that nothing can be made in a namespace any more, as it is on its way out.
func Ending(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }
