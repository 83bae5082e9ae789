// Package churn writes objects of several kinds to an API server, in a hurry and at random.
package churn

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object that can be written. It must not be changed.
type Kind struct {
	// Resource names the kind in requests.
	Resource schema.GroupVersionResource
	// Name is the kind in objects, such as "ConfigMap".
	Name string
	// Registry is the prefix of the keys under which etcd has the objects.
	Registry string
	// Cluster says that the objects have no namespace.
	Cluster bool
	// Body returns what an object has beside its metadata. It may ask for chance.
	Body func(r *rand.Rand) map[string]any
}

// Namespaces are those that objects are written to.
var Namespaces = []string{"n1", "n2", "n3"}

// Node is the name of the node that about half of the pods are on.
const Node = "node-0"

// Group is the API group of the custom kind.
const Group = "e2e.listwatch.invalid"

// The kinds that are written.
var (
	ConfigMaps = &Kind{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Name: "ConfigMap",
		Registry: "/registry/configmaps/",
		Body: func(r *rand.Rand) map[string]any {
			return map[string]any{"data": map[string]any{"v": text(r), "big": strings.Repeat("b", r.IntN(3000))}}
		},
	}
	Pods = &Kind{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Name: "Pod",
		Registry: "/registry/pods/",
		Body: func(r *rand.Rand) map[string]any {
			spec := podSpec()
			if r.IntN(2) == 0 {
				spec["nodeName"] = Node
			}
			return map[string]any{"spec": spec}
		},
	}
	Nodes = &Kind{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Name: "Node", Cluster: true,
		Registry: "/registry/minions/",
		Body: func(*rand.Rand) map[string]any {
			return map[string]any{"spec": map[string]any{"podCIDR": "10.1.0.0/24"}}
		},
	}
	Deployments = &Kind{
		Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Name: "Deployment",
		Registry: "/registry/deployments/",
		Body: func(r *rand.Rand) map[string]any {
			labels := map[string]any{"pod": "yes"}
			return map[string]any{"spec": map[string]any{
				"replicas": int64(r.IntN(9)), "selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": podSpec()},
			}}
		},
	}
	Widgets = &Kind{
		Resource: schema.GroupVersionResource{Group: Group, Version: "v1", Resource: "widgets"}, Name: "Widget",
		Registry: "/registry/" + Group + "/widgets/",
		Body: func(r *rand.Rand) map[string]any {
			return map[string]any{"spec": map[string]any{"size": int64(r.IntN(100)), "share": 0.5 + float64(r.IntN(100)), "text": text(r)}}
		},
	}
)

func podSpec() map[string]any {
	return map[string]any{
		"automountServiceAccountToken": false,
		"containers":                   []any{map[string]any{"name": "c", "image": "i"}},
	}
}

// text has what decoders get wrong: escapes, characters of three and four bytes.
func text(r *rand.Rand) string { return fmt.Sprintf("%d \"ü\\\u2028<&>\U0001F600\n", r.Uint64()) }

// object returns a whole object, with a label that is x or y.
func (k *Kind) object(r *rand.Rand, namespace, name string) map[string]any {
	o := k.Body(r)
	meta := map[string]any{"name": name, "labels": label(r)}
	if !k.Cluster {
		meta["namespace"] = namespace
	}
	o["apiVersion"], o["kind"], o["metadata"] = k.Resource.GroupVersion().String(), k.Name, meta
	return o
}

func label(r *rand.Rand) map[string]any { return map[string]any{"app": []string{"x", "y"}[r.IntN(2)]} }
