package e2e_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
)

// account is the service account of all informers, in namespace home.
const (
	home    = "e2e"
	account = "reader"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// populate writes what there is before the first pair: namespaces, the custom kind, and the
// account with its rights and its token.
func (r *rig) populate(t *testing.T) {
	c := r.kubernetes(t)
	for _, n := range append([]string{home}, churn.Namespaces...) {
		_, err := c.CoreV1().Namespaces().Create(r.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	_, err := c.CoreV1().ServiceAccounts(home).Create(r.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.RbacV1().ClusterRoles().Create(r.ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.grant(t)
	r.useToken(t, r.newToken(t, "token-0"))
	r.define(t)
}

func (r *rig) kubernetes(t *testing.T) *kubernetes.Clientset {
	c, err := kubernetes.NewForConfig(r.cluster.Admin())
	require.NoError(t, err)
	return c
}

// grant gives the account its rights.
func (r *rig) grant(t *testing.T) {
	_, err := r.kubernetes(t).RbacV1().ClusterRoleBindings().Create(r.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: home}},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: account},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// newToken returns a token of the account that lives as long as a secret of that name.
func (r *rig) newToken(t *testing.T, name string) string {
	c := r.kubernetes(t).CoreV1()
	secret, err := c.Secrets(home).Create(r.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	got, err := c.ServiceAccounts(home).CreateToken(r.ctx, account, &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		BoundObjectRef: &authv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: name, UID: secret.UID},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return got.Status.Token
}

// useToken replaces the token's file, as a kubelet does.
func (r *rig) useToken(t *testing.T, token string) {
	made := r.access.TokenFile + ".new"
	require.NoError(t, os.WriteFile(made, []byte(token), 0o600))
	require.NoError(t, os.Rename(made, r.access.TokenFile))
}

// define makes the custom kind, and blocks until it is served.
func (r *rig) define(t *testing.T) {
	name := churn.Widgets.Resource.Resource + "." + churn.Group
	object := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": churn.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": churn.Widgets.Name, "plural": churn.Widgets.Resource.Resource},
			"versions": []any{map[string]any{
				"name": churn.Widgets.Resource.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
					"spec": map[string]any{"type": "object", "properties": map[string]any{
						"size": map[string]any{"type": "integer"}, "share": map[string]any{"type": "number"}, "text": map[string]any{"type": "string"},
					}},
				}}},
			}},
		},
	}
	_, err := r.client.Resource(definitions).Create(r.ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	require.NoError(t, err)
	// That it is served is told by nothing but a request that succeeds.
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	for {
		_, err := r.client.Resource(churn.Widgets.Resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			return
		}
		require.NoError(t, ctx.Err(), "the custom kind is not served: %v", err)
		r.hold(50 * time.Millisecond)
	}
}

// undefine deletes the custom kind and all of its objects, and blocks until they are gone.
func (r *rig) undefine(t *testing.T) {
	c := r.client.Resource(definitions)
	name := churn.Widgets.Resource.Resource + "." + churn.Group
	at, err := c.List(r.ctx, metav1.ListOptions{})
	require.NoError(t, err)
	w, err := c.Watch(r.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: at.GetResourceVersion()})
	require.NoError(t, err)
	defer w.Stop()
	require.NoError(t, c.Delete(r.ctx, name, metav1.DeleteOptions{}))
	for e := range w.ResultChan() {
		if e.Type == "DELETED" {
			return
		}
	}
	t.Fatal("the definition was not deleted")
}
