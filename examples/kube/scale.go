package kube

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch"
)

// GetScale reads how many replicas an object has and shall have, whatever its kind is, by its subresource "scale".
func (c *Cluster) GetScale(ctx context.Context, kind schema.GroupVersionKind, k listwatch.Key) (*autoscalingv1.Scale, error) {
	into := &autoscalingv1.Scale{}
	return into, c.scaleOf(c.rest(kind.GroupVersion()).Get(), kind, k).Do(ctx).Into(into)
}

// SetScale changes how many replicas an object shall have. The server refuses it with a conflict when the object is
// another than that which scale was read of, by its resourceVersion.
func (c *Cluster) SetScale(ctx context.Context, kind schema.GroupVersionKind, scale *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	into, body := &autoscalingv1.Scale{}, scale.DeepCopy()
	body.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	return into, c.scaleOf(c.rest(kind.GroupVersion()).Put(), kind, listwatch.KeyOf(scale)).Body(body).Do(ctx).Into(into)
}

// scaleOf points a request to the scale of an object.
func (c *Cluster) scaleOf(r *clientrest.Request, kind schema.GroupVersionKind, k listwatch.Key) *clientrest.Request {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return r.NamespaceIfScoped(k.Namespace, k.Namespace != "").Resource(plural.Resource).Name(k.Name).SubResource("scale")
}
