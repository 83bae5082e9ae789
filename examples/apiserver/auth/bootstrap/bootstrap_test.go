package bootstrap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/bootstrap"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/rbac"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// stores hold what the registry had when they were filled.
type stores struct {
	rbac.Stores
	roles    *indexer.Indexer[*rbacv1.ClusterRole]
	bindings *indexer.Indexer[*rbacv1.ClusterRoleBinding]
}

func newStores() stores {
	s := stores{roles: indexer.New[*rbacv1.ClusterRole](indexer.Options{}), bindings: indexer.New[*rbacv1.ClusterRoleBinding](indexer.Options{})}
	s.Stores = rbac.Stores{
		Roles: indexer.New[*rbacv1.Role](indexer.Options{}).Reader(), ClusterRoles: s.roles.Reader(),
		RoleBindings: indexer.New[*rbacv1.RoleBinding](indexer.Options{}).Reader(), ClusterRoleBindings: s.bindings.Reader(),
	}
	return s
}

func fill[T kinds.Object](t *testing.T, r *registry.Registry, k *kinds.Kind, x *indexer.Indexer[T]) string {
	t.Helper()
	var objects []T
	meta, err := registry.NewSource[T](r, k).List(t.Context(), listwatch.ListOptions{}, func(o ...T) error { objects = append(objects, o...); return nil })
	require.NoError(t, err)
	x.Replace(meta.ResourceVersion, objects...)
	return meta.ResourceVersion
}

func TestEnsure(t *testing.T) {
	server, err := etcd.Start(t.Context(), etcd.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	store, err := storage.New(server.Client(), storage.Options{})
	require.NoError(t, err)
	r := registry.New(store, registry.Options{})
	t.Cleanup(r.Close)
	s := newStores()
	ensure := func() string {
		t.Helper()
		require.NoError(t, bootstrap.Ensure(t.Context(), r, s.Stores))
		fill(t, r, kinds.ClusterRoles(), s.roles)
		return fill(t, r, kinds.ClusterRoleBindings(), s.bindings)
	}
	ensure()
	role := func(name string) *rbacv1.ClusterRole {
		o, ok := s.ClusterRoles.Get(listwatch.Key{Name: name})
		require.True(t, ok, name)
		return o.DeepCopy()
	}
	update := func(k *kinds.Kind, o kinds.Object) {
		_, err := r.Update(t.Context(), registry.Target{Kind: k, Name: o.GetName()}, o, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	first := ensure()
	require.Equal(t, first, ensure(), "nothing is missing, nothing is written")

	scheduler := role("system:kube-scheduler")
	whole := scheduler.DeepCopy()
	added := rbacv1.PolicyRule{Verbs: []string{"frob"}, APIGroups: []string{"x"}, Resources: []string{"y"}}
	scheduler.Rules = append(scheduler.Rules[:2:2], added)
	scheduler.Labels = map[string]string{"mine": "too"}
	update(kinds.ClusterRoles(), scheduler)
	proxier := role("system:node-proxier")
	proxier.Rules, proxier.Annotations = nil, map[string]string{rbacv1.AutoUpdateAnnotationKey: "false"}
	update(kinds.ClusterRoles(), proxier)
	binding, ok := s.ClusterRoleBindings.Get(listwatch.Key{Name: "system:kube-scheduler"})
	require.True(t, ok)
	binding = binding.DeepCopy()
	binding.Subjects = []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "me"}}
	update(kinds.ClusterRoleBindings(), binding)
	view := role("view")
	view.AggregationRule, view.Rules = nil, []rbacv1.PolicyRule{added}
	update(kinds.ClusterRoles(), view)
	_, _, err = r.Delete(t.Context(), registry.Target{Kind: kinds.ClusterRoles(), Name: "edit"}, metav1.DeleteOptions{})
	require.NoError(t, err)
	fill(t, r, kinds.ClusterRoles(), s.roles)
	fill(t, r, kinds.ClusterRoleBindings(), s.bindings)
	ensure()

	got := role("system:kube-scheduler")
	require.Empty(t, rbac.Missing(got.Rules, whole.Rules), "what was taken away is back")
	require.Contains(t, got.Rules, added, "what was added stays")
	require.Equal(t, map[string]string{"mine": "too", "kubernetes.io/bootstrapping": "rbac-defaults"}, got.Labels)
	require.Empty(t, role("system:node-proxier").Rules, "is left alone")
	require.NotNil(t, role("view").AggregationRule)
	require.NotNil(t, role("edit").AggregationRule)
	require.Equal(t, "true", role("edit").Labels["rbac.authorization.k8s.io/aggregate-to-admin"])
	binding, _ = s.ClusterRoleBindings.Get(listwatch.Key{Name: "system:kube-scheduler"})
	require.Len(t, binding.Subjects, 2)
	for _, name := range bootstrap.Namespaces() {
		_, err := r.Get(t.Context(), registry.Target{Kind: kinds.Namespaces(), Name: name}, "")
		require.NoError(t, err, name)
	}
}

// What some may do is written down here again, so that nobody gets a right by a slip in the table.
func TestRolesAreWhatTheyWere(t *testing.T) {
	s := newStores()
	roles, bindings, err := bootstrap.Policy()
	require.NoError(t, err)
	for i := range roles {
		s.roles.Put(&roles[i])
		s.bindings.Put(&bindings[i])
	}
	for _, role := range []string{"admin", "edit", "view"} {
		s.bindings.Put(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "people-" + role},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: role}}})
	}
	z, err := rbac.New(s.Stores)
	require.NoError(t, err)
	read := []string{"get", "list", "watch"}
	all := []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	for user, want := range map[string]map[string][]string{
		"view":                           {"pods": read, "pods/log": {"get", "list", "watch"}, "configmaps": read, "secrets": nil, "roles": nil, "nodes": nil, "namespaces": read, "pods/exec": nil, "serviceaccounts/token": nil},
		"edit":                           {"pods": all, "configmaps": all, "secrets": all, "roles": nil, "nodes": nil, "namespaces": read, "resourcequotas": read, "serviceaccounts/token": {"create"}},
		"admin":                          {"pods": all, "secrets": all, "roles": all, "rolebindings": all, "nodes": nil, "resourcequotas": read, "clusterroles": nil},
		"system:kube-scheduler":          {"pods": {"delete", "get", "list", "watch"}, "pods/binding": {"create"}, "pods/status": {"patch", "update"}, "nodes": read, "secrets": nil, "events": {"create", "patch", "update"}},
		"system:kube-proxy":              {"pods": nil, "services": {"list", "watch"}, "endpointslices": {"list", "watch"}, "nodes": read, "secrets": nil},
		"system:kube-controller-manager": {"pods": {"create", "delete", "get", "list", "patch", "update", "watch"}, "secrets": {"create", "delete", "get", "list", "patch", "update", "watch"}, "pods/binding": {"delete", "get", "list", "patch", "update", "watch"}, "nodes": {"delete", "get", "list", "patch", "update", "watch"}, "roles": {"delete", "get", "list", "patch", "update", "watch"}},
		"system:serviceaccount:kube-system:job-controller": {"pods": {"create", "delete", "get", "list", "patch", "watch"}, "jobs": {"get", "list", "patch", "update", "watch"}, "secrets": nil},
		"system:serviceaccount:default:job-controller":     {"pods": nil, "jobs": nil},
		"system:node:n1": {"pods": nil, "nodes": nil, "secrets": nil},
		"anybody":        {"pods": nil, "selfsubjectaccessreviews": {"create"}, "subjectaccessreviews": nil},
	} {
		for resource, verbs := range want {
			var got []string
			for _, verb := range all {
				name, sub, _ := strings.Cut(resource, "/")
				a := auth.Attributes{User: &auth.User{Name: user, Groups: []string{auth.Authenticated, auth.Nodes}}, Verb: verb, Resource: name, Subresource: sub, Namespace: "x"}
				a.Group = groupOf(name)
				allowed, _, err := z.Authorize(t.Context(), a)
				require.NoError(t, err)
				if allowed {
					got = append(got, verb)
				}
			}
			require.Equal(t, verbs, got, "%s %s", user, resource)
		}
	}
	names := map[string]bool{}
	for _, r := range roles {
		require.False(t, names[r.Name], fmt.Sprint(r.Name, " is there twice"))
		names[r.Name] = true
	}
	for _, b := range bindings {
		for _, subject := range b.Subjects {
			if subject.Name == "system:unauthenticated" {
				require.Equal(t, "system:public-info-viewer", b.Name)
			}
			if b.RoleRef.Name == "cluster-admin" {
				require.Equal(t, auth.Masters, subject.Name)
			}
		}
	}
}

// groupOf returns the API group of a resource.
func groupOf(resource string) string {
	for group, resources := range map[string][]string{
		"rbac.authorization.k8s.io": {"roles", "rolebindings", "clusterroles"}, "batch": {"jobs"}, "discovery.k8s.io": {"endpointslices"},
		"authorization.k8s.io": {"selfsubjectaccessreviews", "subjectaccessreviews"},
	} {
		if slices.Contains(resources, resource) {
			return group
		}
	}
	return ""
}
