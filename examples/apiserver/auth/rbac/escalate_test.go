package rbac_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/rbac"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

func TestMissing(t *testing.T) {
	for _, c := range []struct {
		name         string
		held, wanted []rbacv1.PolicyRule
		missing      []rbacv1.PolicyRule
	}{
		{name: "nothing wanted", held: []rbacv1.PolicyRule{rule("get", "", "pods")}},
		{name: "the same", held: []rbacv1.PolicyRule{rule("get list", "", "pods secrets")}, wanted: []rbacv1.PolicyRule{rule("list", "", "secrets")}},
		{name: "by two rules", held: []rbacv1.PolicyRule{rule("get", "", "pods"), rule("list", "", "pods")}, wanted: []rbacv1.PolicyRule{rule("get list", "", "pods")}},
		{name: "one verb more", held: []rbacv1.PolicyRule{rule("get", "", "pods")}, wanted: []rbacv1.PolicyRule{rule("get list", "", "pods")},
			missing: []rbacv1.PolicyRule{rule("list", "", "pods")}},
		{name: "a star is more than all names", held: []rbacv1.PolicyRule{rule("get list watch", "", "pods")}, wanted: []rbacv1.PolicyRule{rule("*", "", "pods")},
			missing: []rbacv1.PolicyRule{rule("*", "", "pods")}},
		{name: "stars", held: []rbacv1.PolicyRule{rule("*", "*", "*")}, wanted: []rbacv1.PolicyRule{rule("*", "*", "*"), rule("get", "apps", "*/scale", "a")}},
		{name: "subresources", held: []rbacv1.PolicyRule{rule("get", "", "*/scale")}, wanted: []rbacv1.PolicyRule{rule("get", "", "pods/scale pods")},
			missing: []rbacv1.PolicyRule{rule("get", "", "pods")}},
		{name: "all of a subresource", held: []rbacv1.PolicyRule{rule("get", "", "pods/scale")}, wanted: []rbacv1.PolicyRule{rule("get", "", "*/scale")},
			missing: []rbacv1.PolicyRule{rule("get", "", "*/scale")}},
		{name: "names", held: []rbacv1.PolicyRule{rule("get", "", "pods", "a")}, wanted: []rbacv1.PolicyRule{rule("get", "", "pods", "a", "b")},
			missing: []rbacv1.PolicyRule{rule("get", "", "pods", "b")}},
		{name: "all names", held: []rbacv1.PolicyRule{rule("get", "", "pods", "a")}, wanted: []rbacv1.PolicyRule{rule("get", "", "pods")},
			missing: []rbacv1.PolicyRule{rule("get", "", "pods")}},
		{name: "urls", held: []rbacv1.PolicyRule{urls("get", "/a/*")}, wanted: []rbacv1.PolicyRule{urls("get", "/a/b", "/a/*", "/a/b/*", "/a", "/*")},
			missing: []rbacv1.PolicyRule{urls("get", "/a"), urls("get", "/*")}},
		{name: "another kind of rule", held: []rbacv1.PolicyRule{rule("*", "*", "*")}, wanted: []rbacv1.PolicyRule{urls("get", "/a")},
			missing: []rbacv1.PolicyRule{urls("get", "/a")}},
	} {
		require.Equal(t, c.missing, rbac.Missing(c.held, c.wanted), c.name)
	}
	require.Equal(t, []rbacv1.PolicyRule{rule("get list", "", "pods"), rule("get", "", "nodes")},
		rbac.Compact([]rbacv1.PolicyRule{rule("get", "", "pods"), rule("get", "", "nodes"), rule("list", "", "pods"), rule("get", "", "pods")}))
}

func TestEscalation(t *testing.T) {
	s, z := newStores(t)
	s.role("a", "low", rule("get", "", "pods"), rule("create update", "rbac.authorization.k8s.io", "roles rolebindings"))
	s.clusterRole("high", rule("get", "", "secrets"))
	s.clusterRole("allowed", rule("get", "", "secrets"))
	s.bind("a", "Role/low", user("ann"))
	s.clusterRole("binder", rule("bind", "rbac.authorization.k8s.io", "clusterroles", "allowed"), rule("escalate", "rbac.authorization.k8s.io", "roles", "free"))
	s.bind("a", "ClusterRole/binder", user("bob"))
	role := func(name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: in("a", name), Rules: rules}
	}
	binding := func(name string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: in("a", "x"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}, Subjects: []rbacv1.Subject{user("me")}}
	}
	try := func(name string, k *kinds.Kind, o, old kinds.Object) error {
		namespace := "a"
		if !k.Namespaced {
			namespace = ""
		}
		ctx := auth.With(t.Context(), &auth.User{Name: name, Groups: []string{"g"}})
		return z.Admit(ctx, registry.Admission{Target: registry.Target{Kind: k, Namespace: namespace}, Verb: "create", Object: o, Old: old})
	}
	more := role("r", rule("get list", "", "pods secrets"))
	require.NoError(t, try("ann", kinds.Roles(), role("r", rule("get", "", "pods")), nil))
	require.EqualError(t, try("ann", kinds.Roles(), more, nil), `roles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["g"]) is `+
		"attempting to grant RBAC permissions not currently held:\n"+
		"{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}")
	require.Error(t, try("ann", kinds.Roles(), more, role("r", rule("get", "", "pods"))))
	require.NoError(t, try("ann", kinds.Roles(), more, more.DeepCopy()), "the rules stay")
	require.NoError(t, try("bob", kinds.Roles(), role("free", rule("*", "*", "*")), nil), "escalate")
	require.Error(t, try("bob", kinds.Roles(), role("other", rule("get", "", "pods")), nil))

	require.Error(t, try("ann", kinds.RoleBindings(), binding("high"), nil))
	require.True(t, apierrors.IsNotFound(try("ann", kinds.RoleBindings(), binding("none"), nil)))
	require.NoError(t, try("bob", kinds.RoleBindings(), binding("allowed"), nil), "bind")
	require.Error(t, try("bob", kinds.RoleBindings(), binding("high"), nil))
	moved := binding("high")
	moved.Subjects = []rbacv1.Subject{user("you")}
	require.Error(t, try("ann", kinds.RoleBindings(), moved, binding("high")), "to another subject")
	require.NoError(t, try("ann", kinds.RoleBindings(), binding("high"), binding("high")))

	clusterBinding := &rbacv1.ClusterRoleBinding{ObjectMeta: in("", "x"), RoleRef: binding("allowed").RoleRef}
	require.Error(t, try("bob", kinds.ClusterRoleBindings(), clusterBinding, nil), "bind is allowed in the namespace alone")
	require.NoError(t, try("bob", kinds.ClusterRoleBindings(), clusterBinding, clusterBinding.DeepCopy()))
	s.bind("", "ClusterRole/high", user("cid"))
	clusterRole := &rbacv1.ClusterRole{ObjectMeta: in("", "x"), Rules: []rbacv1.PolicyRule{rule("get", "", "secrets")}}
	require.NoError(t, try("cid", kinds.ClusterRoles(), clusterRole, nil))
	aggregated := clusterRole.DeepCopy()
	aggregated.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{}}}
	require.Error(t, try("cid", kinds.ClusterRoles(), aggregated, clusterRole), "what will be selected is not known")
	require.NoError(t, try("cid", kinds.ClusterRoles(), aggregated, aggregated.DeepCopy()))

	all := registry.Admission{Target: registry.Target{Kind: kinds.Roles(), Namespace: "a"}, Verb: "create", Object: role("r", rule("*", "*", "*"))}
	require.NoError(t, z.Admit(t.Context(), all), "the server itself")
	require.NoError(t, z.Admit(auth.With(t.Context(), &auth.User{Groups: []string{auth.Masters}}), all))
	s.bind("a", "Role/gone", user("ann"))
	require.ErrorContains(t, try("ann", kinds.Roles(), more, nil), `; resolution errors: roles.rbac.authorization.k8s.io "gone" not found`)
	pod := registry.Admission{Target: registry.Target{Kind: kinds.Pods()}, Verb: "delete"}
	require.NoError(t, z.Admit(auth.With(t.Context(), &auth.User{Name: "ann"}), pod))
}
