package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/bootstrap"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/node"
	"github.com/seed3bce33ad/listwatch/indexer"
)

func user(name string) *auth.User {
	return &auth.User{Name: auth.NodePrefix + name, Groups: []string{auth.Nodes, auth.Authenticated}}
}

// nodeRules are those of the role system:node.
func nodeRules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	roles, _, err := bootstrap.Policy()
	require.NoError(t, err)
	for _, r := range roles {
		if r.Name == "system:node" {
			return r.Rules
		}
	}
	require.Fail(t, "no role system:node")
	return nil
}

func newAuthorizer(t *testing.T, fresh func(context.Context) error) (*indexer.Indexer[*corev1.Pod], *node.Authorizer) {
	t.Helper()
	pods := indexer.New[*corev1.Pod](indexer.Options{})
	z, err := node.New(node.Options{Pods: pods.Reader(), Rules: nodeRules(t), Fresh: fresh})
	require.NoError(t, err)
	return pods, z
}

// pod is one with a reference of each kind, whose names end in its own.
func pod(t *testing.T, name, on string) *corev1.Pod {
	t.Helper()
	key := corev1.LocalObjectReference{Name: "key-" + name}
	env := corev1.LocalObjectReference{Name: "env-" + name}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: corev1.PodSpec{
		NodeName: on, ServiceAccountName: "account-" + name, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull-" + name}},
		Volumes: []corev1.Volume{
			{Name: "1", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "volume-" + name}}},
			{Name: "2", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "volume-" + name}}}},
			{Name: "3", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "4", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "projected-" + name}}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "projected-" + name}}},
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}}}}},
		},
		InitContainers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: env}}, {ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: env}}}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{
			{Value: "x"}, {ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: key}}},
			{ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: key}}}}}},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{EnvFrom: []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "debug-" + name}}}}}}},
	}}
	trimmed, err := node.Trim(p)
	require.NoError(t, err)
	return trimmed
}

// ask asks whether a user may do "VERB [GROUP//]RESOURCE[/SUB] [NAMESPACE/]NAME [FIELDS]", of which a dash is nothing.
func ask(t *testing.T, z auth.Authorizer, u *auth.User, line string) (bool, string) {
	t.Helper()
	words := append(strings.Fields(line), "-", "-")
	a := auth.Attributes{User: u, Verb: words[0], Version: "v1"}
	what := words[1]
	if group, rest, ok := strings.Cut(what, "//"); ok {
		a.Group, what = group, rest
	}
	a.Resource, a.Subresource, _ = strings.Cut(what, "/")
	if words[2] != "-" {
		a.Namespace, a.Name, _ = strings.Cut(words[2], "/")
		if !strings.Contains(words[2], "/") {
			a.Namespace, a.Name = "", words[2]
		}
	}
	if words[3] != "-" {
		var err error
		a.FieldSelector, err = fields.ParseSelector(words[3])
		require.NoError(t, err)
	}
	allowed, reason, err := z.Authorize(t.Context(), a)
	require.NoError(t, err)
	return allowed, reason
}

const leases = "coordination.k8s.io//leases"

func TestAuthorize(t *testing.T) {
	pods, z := newAuthorizer(t, nil)
	pods.Put(pod(t, "mine", "n1"), pod(t, "other", "n2"), pod(t, "none", ""))
	only, relation := `can only access leases in the "kube-node-lease" system namespace`, "no relationship found between node 'n1' and this object"
	named := "can only access node lease with the same name as the requesting node"
	selector := "can only list/watch pods with spec.nodeName field selector"
	for line, reason := range map[string]string{ // "": allowed
		"create nodes": "", "get nodes n1": "", "list nodes n1": "", "patch nodes/status n1": "", "update nodes n1": "",
		"get nodes n2":                           "node 'n1' cannot read 'n2', only its own Node object",
		"list nodes":                             "node 'n1' cannot read all nodes, only its own Node object",
		"patch nodes/status n2":                  "node 'n1' cannot change 'n2', only its own Node object",
		"create " + leases + " kube-node-lease/": "", "update " + leases + " kube-node-lease/n1": "", "get " + leases + " kube-node-lease/n1": "",
		"get " + leases + " kube-node-lease/n2": named, "patch " + leases + " kube-node-lease/n2": named,
		"get " + leases + " kube-system/n1": only, "create " + leases + " kube-system/": only,
		"list pods - spec.nodeName=n1": "", "watch pods - spec.nodeName=n1,status.phase!=Failed": "", "watch pods a/ spec.nodeName=n1": "",
		"list pods": selector, "list pods - spec.nodeName=n2": selector, "list pods - spec.nodeName!=n1": selector, "watch pods a/mine metadata.name=mine": selector,
		"get pods a/mine": "", "get pods a/other": relation, "get pods a/none": relation, "get pods b/mine": relation,
		"create pods a/": "", "delete pods a/mine": "", "patch pods/status a/mine": "",
		"create serviceaccounts/token a/account-mine": "", "create serviceaccounts/token a/account-other": relation, "create serviceaccounts/token b/account-mine": relation,
		"get secrets a/key-mine": "", "watch secrets a/key-mine metadata.name=key-mine": "", "get configmaps a/env-mine": "",
		"get secrets a/key-other": relation, "list secrets a/": "No Object name found", "watch configmaps": "No Object name found",
		"create events a/": "", "list services": "", "create authentication.k8s.io//tokenreviews": "",
	} {
		allowed, got := ask(t, z, user("n1"), line)
		require.Equal(t, reason, got, line)
		require.Equal(t, reason == "", allowed, line)
	}
	for _, line := range []string{
		"delete nodes n1", "deletecollection pods a/", "update pods a/mine", "delete secrets a/key-mine", "update configmaps a/key-mine",
		"get serviceaccounts a/account-mine", "list " + leases + " kube-node-lease/", "list namespaces", "get apps//deployments a/x", "create pods/binding a/mine",
	} {
		allowed, _ := ask(t, z, user("n1"), line)
		require.False(t, allowed, line)
	}
	for _, u := range []*auth.User{
		{Name: "n1", Groups: []string{auth.Nodes}}, {Name: "system:node:n1"}, {Name: "system:node:", Groups: []string{auth.Nodes}},
		{Name: "system:serviceaccount:a:account-mine", Groups: []string{auth.Authenticated}},
	} {
		allowed, reason := ask(t, z, u, "get nodes n1")
		require.False(t, allowed, u.Name)
		require.Empty(t, reason, "others are not its business")
	}
}

func TestReferences(t *testing.T) {
	pods, z := newAuthorizer(t, nil)
	may := func(line string) bool {
		allowed, _ := ask(t, z, user("n1"), line)
		return allowed
	}
	pods.Put(pod(t, "p", "n1"), pod(t, "q", "n1"))
	for _, what := range []string{
		"secrets a/pull-p", "secrets a/volume-p", "configmaps a/volume-p", "secrets a/projected-p", "configmaps a/projected-p",
		"secrets a/env-p", "configmaps a/env-p", "secrets a/key-p", "configmaps a/key-p", "secrets a/debug-p", "pods a/p",
	} {
		require.True(t, may("get "+what), what)
	}
	require.False(t, may("get configmaps a/pull-p"), "a secret of that name")
	pods.Delete(pods.Reader().Keys()...)
	require.False(t, may("get secrets a/key-p"))

	mirror := pod(t, "p", "n1")
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x", "other": "y"}
	trimmed, err := node.Trim(mirror)
	require.NoError(t, err)
	pods.Put(trimmed)
	require.True(t, may("get pods a/p"))
	require.False(t, may("get secrets a/volume-p"))
	require.False(t, may("create serviceaccounts/token a/account-p"))
}

func TestFresh(t *testing.T) {
	calls, failure := 0, error(nil)
	var pods *indexer.Indexer[*corev1.Pod]
	late := pod(t, "late", "n1")
	pods, z := newAuthorizer(t, func(context.Context) error {
		calls++
		pods.Put(late)
		return failure
	})
	allowed, _ := ask(t, z, user("n1"), "get secrets a/key-late")
	require.True(t, allowed, "the store was behind")
	allowed, _ = ask(t, z, user("n1"), "get configmaps a/key-late")
	require.True(t, allowed)
	require.Equal(t, 1, calls, "what is there need not be waited for")
	failure = errors.New("no etcd")
	_, _, err := z.Authorize(t.Context(), auth.Attributes{User: user("n1"), Verb: "get", Resource: "secrets", Namespace: "a", Name: "x"})
	require.ErrorIs(t, err, failure)
}
