package admission_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/admission"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// as is a context of a user.
func as(ctx context.Context, name string, groups ...string) context.Context {
	return auth.With(ctx, &auth.User{Name: name, Groups: groups})
}

func asNode(ctx context.Context, name string) context.Context {
	return as(ctx, "system:node:"+name, "system:nodes")
}

// mirrorOf is a pod that a node runs by itself. What is to be different is replaced.
func mirrorOf(node, uid string, replace ...string) string {
	text := fmt.Sprintf(`{"metadata":{"name":"m","annotations":{"kubernetes.io/config.mirror":"x"},"ownerReferences":[
		{"apiVersion":"v1","kind":"Node","name":%q,"uid":%q,"controller":true}]},
		"spec":{"nodeName":%q,"containers":[{"name":"c","image":"i"}]}}`, node, uid, node)
	return strings.NewReplacer(replace...).Replace(text)
}

func TestNodes(t *testing.T) {
	c := newCluster(t, admission.Rules{})
	require.NoError(t, c.Ensure(t.Context(), registry.Target{Kind: kinds.Namespaces(), Name: "kube-node-lease"}))
	uid := string(c.make(kinds.Nodes(), `{"metadata":{"name":"n1"}}`).GetUID())
	c.make(kinds.Nodes(), `{"metadata":{"name":"n2"}}`)
	c.make(kinds.Pods(), `{"metadata":{"name":"mine"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}}`)
	c.make(kinds.Pods(), `{"metadata":{"name":"yours"},"spec":{"nodeName":"n2","containers":[{"name":"c","image":"i"}]}}`)
	n1 := asNode(t.Context(), "n1")
	dry := []string{metav1.DryRunAll}

	create := func(ctx context.Context, k *kinds.Kind, namespace, text string) error {
		target := registry.Target{Kind: k, Namespace: namespace}
		_, err := c.Create(ctx, target, read(t, k, text), metav1.CreateOptions{DryRun: dry})
		return err
	}
	update := func(ctx context.Context, k *kinds.Kind, name, subresource, change string) error {
		target := at(k, name)
		target.Subresource = subresource
		_, err := c.Patch(ctx, target, "application/merge-patch+json", []byte(change), metav1.PatchOptions{DryRun: dry})
		return err
	}
	remove := func(ctx context.Context, k *kinds.Kind, name string) error {
		_, _, err := c.Delete(ctx, at(k, name), metav1.DeleteOptions{DryRun: dry})
		return err
	}
	mirror := func(message string, replace ...string) [2]any {
		err := create(n1, kinds.Pods(), "default", mirrorOf("n1", uid, replace...))
		if message != "" {
			message = `pods "m" is forbidden: ` + message
		}
		return [2]any{message, err}
	}
	label := func(key string) string { return `{"metadata":{"labels":{"` + key + `":"x"}}}` }
	for name, got := range map[string][2]any{
		"a mirror pod": mirror(""),
		"a pod": mirror(`pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods`,
			"config.mirror", "config.other"),
		"a mirror pod elsewhere": mirror(`node "n1" can only create pods with spec.nodeName set to itself`, `"nodeName":"n1"`, `"nodeName":"n2"`),
		"no owner":               mirror(`node "n1" can only create pods with an owner reference set to itself`, "ownerReferences", "dropped"),
		"another owner":          mirror(`node "n1" can only create pods with an owner reference set to itself`, `"name":"n1","uid"`, `"name":"n2","uid"`),
		"two owners": mirror(`node "n1" can only create pods with a single owner reference set to itself`,
			`"ownerReferences":[`, `"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n2","uid":"u"},`),
		"no controller": mirror(`node "n1" can only create pods with a controller owner reference set to itself`, `,"controller":true`, ""),
		"an owner that waits": mirror(`node "n1" must not set blockOwnerDeletion on an owner reference`,
			`"controller":true`, `"controller":true,"blockOwnerDeletion":true`),
		"another identity": mirror(`node n1 UID mismatch: expected other got `+uid, uid, "other"),
		"an account": mirror(`node "n1" can not create pods that reference a service account`,
			`"nodeName":"n1"`, `"nodeName":"n1","serviceAccountName":"a"`),
		"a secret as a volume": mirror(`node "n1" can not create pods that reference secrets`,
			`"nodeName":"n1"`, `"nodeName":"n1","volumes":[{"name":"v","secret":{"secretName":"s"}}]`),
		"a secret in the environment": mirror(`node "n1" can not create pods that reference secrets`,
			`"image":"i"`, `"image":"i","env":[{"name":"e","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]`),
		"a config map": mirror(`node "n1" can not create pods that reference configmaps`,
			`"image":"i"`, `"image":"i","envFrom":[{"configMapRef":{"name":"s"}}]`),
		"a node that is not there": {`pods "m" is forbidden: node "n3" can only create pods for a node that exists`,
			create(asNode(t.Context(), "n3"), kinds.Pods(), "default", mirrorOf("n3", "u"))},

		"the status of its pod": {"", update(n1, kinds.Pods(), "mine", "status", `{"status":{"phase":"Running"}}`)},
		"the status of another": {`pods "yours" is forbidden: node "n1" can only update pod status for pods with spec.nodeName set to itself`,
			update(n1, kinds.Pods(), "yours", "status", `{"status":{"phase":"Running"}}`)},
		"its pod itself": {`pods "mine" is forbidden: unexpected operation "UPDATE", node "n1" can only create and delete mirror pods`,
			update(n1, kinds.Pods(), "mine", "", label("a"))},
		"deletes its pod": {"", remove(n1, kinds.Pods(), "mine")},
		"deletes another": {`pods "yours" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself`, remove(n1, kinds.Pods(), "yours")},

		"itself":              {"", update(n1, kinds.Nodes(), "n1", "", label("a"))},
		"its status":          {"", update(n1, kinds.Nodes(), "n1", "status", `{"status":{"phase":"Running"}}`)},
		"another node":        {`nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"`, update(n1, kinds.Nodes(), "n2", "", label("a"))},
		"another's status":    {`nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"`, update(n1, kinds.Nodes(), "n2", "status", `{"status":{"phase":"Running"}}`)},
		"deletes another one": {`nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"`, remove(n1, kinds.Nodes(), "n2")},
		"makes itself":        {"", create(asNode(t.Context(), "n4"), kinds.Nodes(), "", `{"metadata":{"name":"n4","labels":{"kubernetes.io/hostname":"h"}}}`)},
		"makes another":       {`nodes "n5" is forbidden: node "n4" is not allowed to modify node "n5"`, create(asNode(t.Context(), "n4"), kinds.Nodes(), "", `{"metadata":{"name":"n5"}}`)},
		"makes itself with a label": {`nodes "n4" is forbidden: is not allowed to set the following labels: a.node-restriction.kubernetes.io/x`,
			create(asNode(t.Context(), "n4"), kinds.Nodes(), "", `{"metadata":{"name":"n4","labels":{"a.node-restriction.kubernetes.io/x":""}}}`)},
		"a label of others": {`nodes "n1" is forbidden: is not allowed to modify labels: node-restriction.kubernetes.io/x`,
			update(n1, kinds.Nodes(), "n1", "", label("node-restriction.kubernetes.io/x"))},
		"a label of Kubernetes": {`nodes "n1" is forbidden: is not allowed to modify labels: node-role.kubernetes.io/control-plane`,
			update(n1, kinds.Nodes(), "n1", "", label("node-role.kubernetes.io/control-plane"))},
		"a label of its own": {"", update(n1, kinds.Nodes(), "n1", "", label("node.kubernetes.io/anything"))},
		"its taints":         {`nodes "n1" is forbidden: node "n1" is not allowed to modify taints`, update(n1, kinds.Nodes(), "n1", "", `{"spec":{"taints":null}}`)},

		"its lease": {"", create(n1, kinds.Leases(), "kube-node-lease", `{"metadata":{"name":"n1"}}`)},
		"another lease": {`leases.coordination.k8s.io "n2" is forbidden: can only access node lease with the same name as the requesting node`,
			create(n1, kinds.Leases(), "kube-node-lease", `{"metadata":{"name":"n2"}}`)},
		"a lease elsewhere": {`leases.coordination.k8s.io "n1" is forbidden: can only access leases in the "kube-node-lease" system namespace`,
			create(n1, kinds.Leases(), "default", `{"metadata":{"name":"n1"}}`)},

		"nobody's name":            {`nodes "n1" is forbidden: could not determine node from user "system:node:"`, update(asNode(t.Context(), ""), kinds.Nodes(), "n1", "", label("a"))},
		"what is left to others":   {"", create(n1, kinds.ConfigMaps(), "default", `{"metadata":{"name":"c"}}`)},
		"others":                   {"", update(as(t.Context(), "bob"), kinds.Nodes(), "n2", "", label("node-restriction.kubernetes.io/x"))},
		"a name that says little":  {"", update(as(t.Context(), "system:node:n1"), kinds.Nodes(), "n2", "", label("a"))},
		"a group that says little": {"", update(as(t.Context(), "bob", "system:nodes"), kinds.Nodes(), "n2", "", label("a"))},
	} {
		err, _ := got[1].(error)
		message := got[0].(string)
		if message == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, message, name)
	}
}

// A node gives no pod to itself, or to others.
func TestNodesDoNotBind(t *testing.T) {
	c := newCluster(t, admission.Rules{})
	c.make(kinds.Nodes(), `{"metadata":{"name":"n1"}}`)
	c.make(kinds.Pods(), pod("p", ""))
	target := at(kinds.Pods(), "p")
	target.Subresource = "binding"
	err := c.Bind(asNode(t.Context(), "n1"), target, binding("n1"), metav1.CreateOptions{})
	require.EqualError(t, err, `pods "p" is forbidden: unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`)
	require.NoError(t, c.Bind(t.Context(), target, binding("n1"), metav1.CreateOptions{}))
}

func binding(node string) *corev1.Binding {
	return &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
}
