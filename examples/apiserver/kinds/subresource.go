package kinds

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Subresource is what stands below the name of an object in a path.
type Subresource struct {
	// Name is the last part of the path, such as "status".
	Name string
	// GroupVersionKind is the type of what is read and written.
	GroupVersionKind schema.GroupVersionKind
	// Verbs are what can be done with it, sorted.
	Verbs []string
	// Connect says that the kubelet of a node answers it.
	Connect bool
}

// coreSubresources are what kinds of the core group have of their own.
var coreSubresources = map[string][]Subresource{
	"namespaces": {{Name: "finalize", GroupVersionKind: core("Namespace"), Verbs: []string{"update"}}},
	"nodes": {{Name: "proxy", GroupVersionKind: core("NodeProxyOptions"), Connect: true,
		Verbs: []string{"create", "delete", "get", "patch", "update"}}},
	"pods": {
		{Name: "attach", GroupVersionKind: core("PodAttachOptions"), Connect: true, Verbs: []string{"create", "get"}},
		{Name: "binding", GroupVersionKind: core("Binding"), Verbs: []string{"create"}},
		{Name: "eviction", GroupVersionKind: Evictions().GroupVersionKind(), Verbs: []string{"create"}},
		{Name: "exec", GroupVersionKind: core("PodExecOptions"), Connect: true, Verbs: []string{"create", "get"}},
		{Name: "log", GroupVersionKind: core("Pod"), Connect: true, Verbs: []string{"get"}},
		{Name: "portforward", GroupVersionKind: core("PodPortForwardOptions"), Connect: true, Verbs: []string{"create", "get"}},
	},
	"serviceaccounts": {{Name: "token", GroupVersionKind: TokenRequests().GroupVersionKind(), Verbs: []string{"create"}}},
}

func core(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

// Subresources returns what the kind has, sorted by name but for custom kinds.
func (k *Kind) Subresources() []Subresource {
	var all []Subresource
	if k.Group == "" {
		all = append(all, coreSubresources[k.Resource]...)
	}
	verbs := []string{"get", "patch", "update"}
	if k.Scale != nil {
		all = append(all, Subresource{
			Name: "scale", GroupVersionKind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, Verbs: verbs})
	}
	if k.CopyStatus != nil && !k.Virtual {
		all = append(all, Subresource{Name: "status", GroupVersionKind: k.GroupVersionKind(), Verbs: verbs})
	}
	slices.SortFunc(all, func(a, b Subresource) int { return strings.Compare(a.Name, b.Name) })
	if k.Custom {
		slices.Reverse(all)
	}
	return all
}
