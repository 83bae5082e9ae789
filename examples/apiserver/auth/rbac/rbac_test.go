package rbac_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/rbac"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// stores are filled by hand.
type stores struct {
	roles           *indexer.Indexer[*rbacv1.Role]
	clusterRoles    *indexer.Indexer[*rbacv1.ClusterRole]
	bindings        *indexer.Indexer[*rbacv1.RoleBinding]
	clusterBindings *indexer.Indexer[*rbacv1.ClusterRoleBinding]
}

func newStores(t testing.TB) (*stores, *rbac.Authorizer) {
	t.Helper()
	s := &stores{
		indexer.New[*rbacv1.Role](indexer.Options{}), indexer.New[*rbacv1.ClusterRole](indexer.Options{}),
		indexer.New[*rbacv1.RoleBinding](indexer.Options{}), indexer.New[*rbacv1.ClusterRoleBinding](indexer.Options{}),
	}
	z, err := rbac.New(rbac.Stores{Roles: s.roles.Reader(), ClusterRoles: s.clusterRoles.Reader(),
		RoleBindings: s.bindings.Reader(), ClusterRoleBindings: s.clusterBindings.Reader()})
	require.NoError(t, err)
	return s, z
}

func in(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func rule(verbs, groups, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Fields(verbs), APIGroups: strings.Split(groups, " "), Resources: strings.Fields(resources), ResourceNames: names}
}

func urls(verbs string, urls ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Fields(verbs), NonResourceURLs: urls}
}

func (s *stores) role(namespace, name string, rules ...rbacv1.PolicyRule) {
	s.roles.Put(&rbacv1.Role{ObjectMeta: in(namespace, name), Rules: rules})
}

func (s *stores) clusterRole(name string, rules ...rbacv1.PolicyRule) {
	s.clusterRoles.Put(&rbacv1.ClusterRole{ObjectMeta: in("", name), Rules: rules})
}

// bind binds a role, "Kind/name", in a namespace or, when that is "", everywhere.
func (s *stores) bind(namespace, role string, subjects ...rbacv1.Subject) {
	kind, name, _ := strings.Cut(role, "/")
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	binding := strings.ToLower(kind) + "-" + name
	if namespace == "" {
		s.clusterBindings.Put(&rbacv1.ClusterRoleBinding{ObjectMeta: in("", binding), RoleRef: ref, Subjects: subjects})
		return
	}
	s.bindings.Put(&rbacv1.RoleBinding{ObjectMeta: in(namespace, binding), RoleRef: ref, Subjects: subjects})
}

func user(name string) rbacv1.Subject  { return rbacv1.Subject{Kind: "User", Name: name} }
func group(name string) rbacv1.Subject { return rbacv1.Subject{Kind: "Group", Name: name} }

// want is "VERB [GROUP/]RESOURCE[/SUB][:NAME]", or "VERB /path".
func want(line string) auth.Attributes {
	verb, what, _ := strings.Cut(line, " ")
	a := auth.Attributes{Verb: verb}
	if strings.HasPrefix(what, "/") {
		a.Path = what
		return a
	}
	what, a.Name, _ = strings.Cut(what, ":")
	if group, rest, ok := strings.Cut(what, "//"); ok {
		a.Group, what = group, rest
	}
	a.Resource, a.Subresource, _ = strings.Cut(what, "/")
	return a
}

func TestAllows(t *testing.T) {
	for _, c := range []struct {
		rule    rbacv1.PolicyRule
		yes, no string
	}{
		{rule("get", "", "pods"), "get pods, get pods:a", "list pods, get pods/status, get apps//pods, get Pods, get /pods"},
		{rule("*", "", "pods"), "get pods, deletecollection pods, frob pods", "get secrets"},
		{rule("get", "*", "pods"), "get pods, get apps//pods", "get apps//deployments"},
		{rule("get", "", "*"), "get pods, get pods/status, get what", "get apps//pods, list pods"},
		{rule("get", "", "pods/status"), "get pods/status", "get pods, get pods/log, get nodes/status"},
		{rule("get", "*", "*/scale"), "get apps//deployments/scale, get what/scale", "get apps//deployments, get apps//deployments/status"},
		{rule("get", "", "pods/*"), "", "get pods, get pods/status"},
		{rule("get list", "", "pods", "a", "b"), "get pods:a, list pods:b", "get pods:c, get pods, list pods"},
		{rule("get", "apps", "deployments"), "get apps//deployments", "get deployments"},
		{urls("get", "/api", "/apis/*"), "get /api, get /apis/, get /apis/apps/v1", "get /api/, get /apis, post /api, get api"},
		{urls("*", "*"), "get /x, post /", "get pods"},
		{rule("", "", "pods"), "", "get pods"},
		{rbacv1.PolicyRule{Verbs: []string{"*"}}, "", "get pods, get /x"},
	} {
		for line := range strings.SplitSeq(c.yes, ", ") {
			if a := want(line); line != "" {
				require.True(t, rbac.Allows(&c.rule, &a), "%s by %v", line, c.rule)
			}
		}
		for line := range strings.SplitSeq(c.no, ", ") {
			a := want(line)
			require.False(t, rbac.Allows(&c.rule, &a), "%s by %v", line, c.rule)
		}
	}
}

func TestAuthorize(t *testing.T) {
	s, z := newStores(t)
	s.role("a", "pods", rule("get", "", "pods"))
	s.role("b", "pods", rule("*", "*", "*"))
	s.clusterRole("secrets", rule("get", "", "secrets"), urls("get", "/metrics"))
	s.bind("a", "Role/pods", user("ann"), group("dev"), rbacv1.Subject{Kind: "ServiceAccount", Name: "robot", Namespace: "b"})
	s.bind("a", "ClusterRole/secrets", user("ann"))
	s.bind("", "ClusterRole/secrets", group("ops"))
	s.bind("a", "Role/gone", user("lost"))
	ann, dev := auth.User{Name: "ann"}, auth.User{Name: "x", Groups: []string{"y", "dev"}}
	ops, lost := auth.User{Name: "x", Groups: []string{"ops"}}, auth.User{Name: "lost"}
	for _, c := range []struct {
		user            auth.User
		namespace, line string
		reason          string // "": denied
	}{
		{ann, "a", "get pods", `RBAC: allowed by RoleBinding "role-pods/a" of Role "pods" to User "ann"`},
		{ann, "b", "get pods", ""},
		{ann, "", "get pods", ""},
		{ann, "a", "get secrets", `RBAC: allowed by RoleBinding "clusterrole-secrets/a" of ClusterRole "secrets" to User "ann"`},
		{ann, "b", "get secrets", ""},
		{ann, "", "get /metrics", ""},
		{dev, "a", "get pods", `RBAC: allowed by RoleBinding "role-pods/a" of Role "pods" to Group "dev"`},
		{auth.User{Name: "dev"}, "a", "get pods", ""},
		{auth.User{Name: "x", Groups: []string{"ann"}}, "a", "get pods", ""},
		{auth.User{Name: "system:serviceaccount:b:robot"}, "a", "get pods", `RBAC: allowed by RoleBinding "role-pods/a" of Role "pods" to User "system:serviceaccount:b:robot"`},
		{auth.User{Name: "system:serviceaccount:a:robot"}, "a", "get pods", ""},
		{auth.User{Name: "robot"}, "a", "get pods", ""},
		{ops, "b", "get secrets", `RBAC: allowed by ClusterRoleBinding "clusterrole-secrets" of ClusterRole "secrets" to Group "ops"`},
		{ops, "", "get secrets", `RBAC: allowed by ClusterRoleBinding "clusterrole-secrets" of ClusterRole "secrets" to Group "ops"`},
		{ops, "", "get /metrics", `RBAC: allowed by ClusterRoleBinding "clusterrole-secrets" of ClusterRole "secrets" to Group "ops"`},
		{ops, "b", "list secrets", ""},
	} {
		a := want(c.line)
		a.User, a.Namespace = &c.user, c.namespace
		allowed, reason, err := z.Authorize(t.Context(), a)
		require.NoError(t, err)
		require.Equal(t, c.reason != "", allowed, "%v", c)
		require.Equal(t, c.reason, reason)
	}
	a := want("get pods")
	a.User, a.Namespace = &lost, "a"
	allowed, reason, err := z.Authorize(t.Context(), a)
	require.NoError(t, err)
	require.False(t, allowed)
	require.Equal(t, `RBAC: roles.rbac.authorization.k8s.io "gone" not found`, reason)

	a.User, a.Namespace = &auth.User{Name: "boss", Groups: []string{auth.Masters}}, ""
	allowed, _, err = z.Authorize(t.Context(), a)
	require.NoError(t, err)
	require.True(t, allowed)
}

func TestAggregation(t *testing.T) {
	s, z := newStores(t)
	put := func(name, from string, labels []string, rules ...rbacv1.PolicyRule) {
		r := &rbacv1.ClusterRole{ObjectMeta: in("", name), Rules: rules}
		r.Labels = map[string]string{}
		for _, l := range labels {
			r.Labels["to-"+l] = "true"
		}
		if from != "" {
			r.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"to-" + from: "true"}}}}
		}
		s.clusterRoles.Put(r)
	}
	put("view", "view", []string{"edit"}, rule("*", "*", "*"))
	put("edit", "edit", []string{"view", "edit"}) // a circle
	put("pods", "", []string{"view"}, rule("get", "", "pods"))
	put("alone", "", nil, rule("get", "", "nodes"))
	s.bind("a", "ClusterRole/edit", user("ann"))
	s.bind("a", "ClusterRole/view", user("bob"))
	may := func(name, line string) bool {
		a := want(line)
		a.User, a.Namespace = &auth.User{Name: name}, "a"
		allowed, _, err := z.Authorize(t.Context(), a)
		require.NoError(t, err)
		return allowed
	}
	require.True(t, may("ann", "get pods"), "by two steps")
	require.True(t, may("bob", "get pods"))
	require.False(t, may("ann", "get nodes"), "not selected")
	require.False(t, may("bob", "get secrets"), "rules of an aggregated role itself do not count")
	put("secrets", "", []string{"edit"}, rule("get", "", "secrets"))
	require.True(t, may("ann", "get secrets"), "at once")
	require.True(t, may("bob", "get secrets"), "the circle is whole")

	everywhere := &rbacv1.ClusterRole{ObjectMeta: in("", "all"), AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
		{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "to-view", Operator: metav1.LabelSelectorOpDoesNotExist}}},
		{MatchLabels: map[string]string{"to-view": "true"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "to-edit", Operator: "Bogus"}}},
	}}}
	s.clusterRoles.Put(everywhere)
	s.bind("a", "ClusterRole/all", user("cid"))
	require.True(t, may("cid", "get nodes"))
	require.True(t, may("cid", "get secrets"))

	rules, err := z.Rules(&auth.User{Name: "bob"}, "a")
	require.NoError(t, err)
	require.Equal(t, []rbacv1.PolicyRule{rule("get", "", "secrets"), rule("get", "", "pods")}, rules)
	rules, err = z.Rules(&auth.User{Name: "bob"}, "")
	require.NoError(t, err)
	require.Empty(t, rules)
}

// One who is bound once among a thousand other bindings, and one who is bound a thousand times.
func BenchmarkAuthorize(b *testing.B) {
	s, z := newStores(b)
	for i := range 1000 {
		s.clusterRole(fmt.Sprint("role", i), rule("get list watch", "", "pods services"), rule("get", "apps", "deployments"))
		s.bind("a", fmt.Sprint("ClusterRole/role", i), user(fmt.Sprint("user", i)), user("many"), group(fmt.Sprint("group", i)))
		s.bind("", fmt.Sprint("ClusterRole/role", i), user(fmt.Sprint("everywhere", i)))
	}
	for name, c := range map[string]struct{ user, line string }{
		"allowed": {"user500", "get apps//deployments"}, "denied": {"user500", "delete apps//deployments"},
		"bound a thousand times, denied": {"many", "delete apps//deployments"},
	} {
		b.Run(name, func(b *testing.B) {
			a := want(c.line)
			a.User, a.Namespace = &auth.User{Name: c.user, Groups: []string{"group7", auth.Authenticated}}, "a"
			b.ReportAllocs()
			for b.Loop() {
				if allowed, _, err := z.Authorize(context.Background(), a); err != nil || allowed != (name == "allowed") {
					b.Fatal(allowed, err)
				}
			}
		})
	}
}
