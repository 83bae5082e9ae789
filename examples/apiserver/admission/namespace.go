package admission

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// lasting are the namespaces that a cluster cannot do without.
var lasting = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

// admitNamespace refuses to delete what the cluster cannot do without, and to create something in a namespace that
// is not there or on its way out.
func admitNamespace(ctx context.Context, a registry.Admission) error {
	if a.Verb == "delete" && is(a, namespaces) && slices.Contains(lasting, a.Name) {
		return forbidden(a, "this namespace may not be deleted")
	}
	if a.Verb != "create" || a.Subresource != "" || !a.Kind.Namespaced {
		return nil
	}
	o, err := a.Registry.Get(ctx, registry.Target{Kind: namespaces, Name: a.Namespace}, "")
	if err != nil || o.GetDeletionTimestamp() == nil {
		return err
	}
	refused := forbidden(a, "unable to create new content in namespace "+a.Namespace+" because it is being terminated")
	refused.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: "NamespaceTerminating", Message: "namespace " + a.Namespace + " is being terminated", Field: "metadata.namespace",
	}}
	return refused
}
