package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// byHeader believes the header "User", which is a name and, behind a space, the groups. Who has none is an administrator.
type byHeader struct{}

func (byHeader) Authenticate(r *http.Request) (*auth.User, error) {
	name, groups, _ := strings.Cut(r.Header.Get("User"), " ")
	if name == "" {
		name, groups = "admin", auth.Masters
	}
	return &auth.User{Name: name, Groups: append(strings.Fields(groups), auth.Authenticated)}, nil
}

// newRoleAPI returns a server that knows roles.
func newRoleAPI(t testing.TB) *api {
	t.Helper()
	return newAPI(t, apiserver.Options{RBAC: true, Authenticator: byHeader{}, Namespaces: []string{"default", "other"}})
}

func roleOf(kind, name, rules string) string {
	return fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":%q,"metadata":{"name":%q},"rules":[%s]}`, kind, name, rules)
}

func ruleOf(verbs, group, resources string) string {
	return fmt.Sprintf(`{"verbs":["%s"],"apiGroups":[%q],"resources":["%s"]}`,
		strings.ReplaceAll(verbs, " ", `","`), group, strings.ReplaceAll(resources, " ", `","`))
}

// bindingOf binds "Kind/name" to a subject, "User/name", "Group/name" or "ServiceAccount/name" of the namespace default.
func bindingOf(name, role, subject string) string {
	kind, of, _ := strings.Cut(role, "/")
	subjectKind, to, _ := strings.Cut(subject, "/")
	namespace := ""
	if subjectKind == "ServiceAccount" {
		namespace = `,"namespace":"default"`
	}
	return fmt.Sprintf(`{"metadata":{"name":%q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":%q,"name":%q},"subjects":[{"kind":%q,"name":%q%s}]}`,
		name, kind, of, subjectKind, to, namespace)
}

const (
	rbacAPI      = "/apis/rbac.authorization.k8s.io/v1"
	roles        = rbacAPI + "/namespaces/default/roles"
	roleBindings = rbacAPI + "/namespaces/default/rolebindings"
)

// The body is what the real API server was recorded to send, byte for byte; other wordings are built like it.
func TestRecordedForbidden(t *testing.T) {
	a := newRoleAPI(t)
	got := a.do("GET", pods, "", "User", "bob")
	require.Equal(t, 403, got.code)
	require.Equal(t, recorded(t, "status-403.json")+"\n", got.body)
	require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	require.Equal(t, "application/json", got.header.Get("Content-Type"))

	const user = `User "bob" cannot `
	for _, c := range []struct{ request, message, details string }{
		{"GET /api/v1/pods", `pods is forbidden: ` + user + `list resource "pods" in API group "" at the cluster scope`, `{"kind":"pods"}`},
		{"GET /api/v1/pods?watch=1", `pods is forbidden: ` + user + `watch resource "pods" in API group "" at the cluster scope`, `{"kind":"pods"}`},
		{"GET " + pods + "/a", `pods "a" is forbidden: ` + user + `get resource "pods" in API group "" in the namespace "default"`, `{"name":"a","kind":"pods"}`},
		{"PUT " + pods + "/a/status", `pods "a" is forbidden: ` + user + `update resource "pods/status" in API group "" in the namespace "default"`, `{"name":"a","kind":"pods"}`},
		{"DELETE " + pods, `pods is forbidden: ` + user + `deletecollection resource "pods" in API group "" in the namespace "default"`, `{"kind":"pods"}`},
		{"POST /apis/apps/v1/namespaces/default/deployments", `deployments.apps is forbidden: ` + user + `create resource "deployments" in API group "apps" in the namespace "default"`,
			`{"group":"apps","kind":"deployments"}`},
		{"GET /api/v1/namespaces/default", `namespaces "default" is forbidden: ` + user + `get resource "namespaces" in API group "" in the namespace "default"`,
			`{"name":"default","kind":"namespaces"}`},
		{"GET /api/v1/nodes/n1", `nodes "n1" is forbidden: ` + user + `get resource "nodes" in API group "" at the cluster scope`, `{"name":"n1","kind":"nodes"}`},
		{"GET /api/v1/namespaces/default/foos", `foos is forbidden: ` + user + `list resource "foos" in API group "" in the namespace "default"`, `{"kind":"foos"}`},
		{"GET /apis/nope.io/v1/foos", `foos.nope.io is forbidden: ` + user + `list resource "foos" in API group "nope.io" at the cluster scope`, `{"group":"nope.io","kind":"foos"}`},
		{"GET /metrics", `forbidden: ` + user + `get path "/metrics"`, `{}`},
		{"POST /nope", `forbidden: ` + user + `post path "/nope"`, `{}`},
		{"GET /", `forbidden: ` + user + `get path "/"`, `{}`},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		got := a.do(method, path, "", "User", "bob")
		require.Equal(t, 403, got.code, c.request)
		want := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":"Forbidden","details":%s,"code":403}`+"\n", c.message, c.details)
		require.Equal(t, want, got.body, c.request)
	}
	for path, code := range map[string]int{
		"/api/v1/namespaces/default/foos": 404, "/apis/nope.io/v1/foos": 404, "/nope": 404, "/": 200, "/api": 200,
	} {
		require.Equal(t, code, a.do("GET", path, "").code, path)
	}
	for _, path := range []string{"/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/healthz", "/livez", "/readyz", "/openapi/v3", "/openapi/v3/api/v1"} {
		require.Equal(t, 200, a.do("GET", path, "", "User", "bob").code, path)
	}
}

// What was written about roles holds when the answer has come, for more and for less.
func TestRolesAreInForceAtOnce(t *testing.T) {
	a := newRoleAPI(t)
	may := func(want bool) {
		t.Helper()
		require.Equal(t, want, a.do("GET", pods, "", "User", "bob").code == 200)
	}
	for range 3 {
		may(false)
		a.must("POST", roles, roleOf("Role", "reader", ruleOf("list", "", "pods")))
		may(false)
		a.must("POST", roleBindings, bindingOf("readers", "Role/reader", "User/bob"))
		may(true)
		a.must("PUT", roles+"/reader", roleOf("Role", "reader", ruleOf("get", "", "pods")))
		may(false)
		require.Equal(t, 200, a.do("PATCH", roles+"/reader", `{"rules":[`+ruleOf("*", "*", "*")+`]}`, "Content-Type", "application/merge-patch+json").code)
		may(true)
		a.must("DELETE", roleBindings+"/readers", "")
		may(false)
		a.must("POST", roleBindings, bindingOf("readers", "Role/reader", "Group/system:authenticated"))
		may(true)
		a.must("DELETE", roleBindings, "")
		may(false)
		a.must("DELETE", roles+"/reader", "")
	}
}

func TestEscalationIsForbidden(t *testing.T) {
	a := newRoleAPI(t)
	a.must("POST", roleBindings, bindingOf("admins", "ClusterRole/admin", "User/ann"))
	require.Equal(t, 201, a.do("POST", roles, roleOf("Role", "low", ruleOf("get list", "", "pods")), "User", "ann").code)
	got := a.do("POST", roles, roleOf("Role", "high", ruleOf("get list", "", "nodes")), "User", "ann")
	require.Equal(t, 403, got.code)
	require.JSONEq(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"roles.rbac.authorization.k8s.io \"high\" is forbidden: `+
		`user \"ann\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n`+
		`{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\" \"list\"]}","reason":"Forbidden",`+
		`"details":{"name":"high","group":"rbac.authorization.k8s.io","kind":"roles"},"code":403}`, got.body)
	more := `{"rules":[` + ruleOf("*", "*", "*") + `]}`
	require.Equal(t, 403, a.do("PATCH", roles+"/low", more, "User", "ann", "Content-Type", "application/merge-patch+json").code)
	require.Equal(t, 403, a.do("PUT", roles+"/low", roleOf("Role", "low", ruleOf("*", "*", "*")), "User", "ann").code)
	require.Equal(t, 403, a.do("PATCH", roles+"/new?fieldManager=m", roleOf("Role", "new", ruleOf("*", "*", "*")), "User", "ann", "Content-Type", "application/apply-patch+yaml").code)
	require.Equal(t, 200, a.do("PATCH", roles+"/low", `{"metadata":{"labels":{"a":"b"}}}`, "User", "ann", "Content-Type", "application/merge-patch+json").code)
	require.Equal(t, 403, a.do("POST", roleBindings, bindingOf("all", "ClusterRole/cluster-admin", "User/ann"), "User", "ann").code)
	require.Equal(t, 201, a.do("POST", roleBindings, bindingOf("views", "ClusterRole/view", "User/bob"), "User", "ann").code)
	require.Equal(t, 404, a.do("POST", roleBindings, bindingOf("none", "Role/none", "User/bob"), "User", "ann").code)
	require.Equal(t, 403, a.do("POST", rbacAPI+"/namespaces/other/rolebindings", bindingOf("views", "ClusterRole/view", "User/ann"), "User", "ann").code)
	require.Equal(t, 201, a.do("POST", roleBindings, bindingOf("all", "ClusterRole/cluster-admin", "User/cid")).code, "who has all may give all")
}

// A request that says it is from somebody else is taken so when its sender may do that.
func TestImpersonationNeedsRights(t *testing.T) {
	a := newRoleAPI(t)
	a.must("POST", roleBindings, bindingOf("views", "ClusterRole/view", "User/bob"))
	a.must("POST", roleBindings, bindingOf("group", "ClusterRole/view", "Group/dev"))
	a.must("POST", roleBindings, bindingOf("robots", "ClusterRole/view", "Group/system:serviceaccounts:default"))
	a.must("POST", roleBindings, bindingOf("edits", "ClusterRole/edit", "User/ann"))
	const user, group, robot = "Impersonate-User", "Impersonate-Group", "system:serviceaccount:default:robot"
	for _, c := range []struct {
		code   int
		header []string
	}{
		{200, nil}, {200, []string{user, "bob"}}, {403, []string{user, "nobody"}}, {200, []string{user, "nobody", group, "dev"}},
		{200, []string{user, robot}}, {403, []string{user, robot, group, "other"}}, {403, []string{user, "system:anonymous"}},
		{400, []string{group, auth.Masters}}, {400, []string{"Impersonate-Uid", "1"}}, {400, []string{"Impersonate-Extra-Scopes", "1"}},
		{200, []string{"User", "ann", user, robot}}, {403, []string{"User", "ann", user, "bob"}}, {403, []string{"User", "ann", user, robot, group, auth.Masters}},
		{403, []string{"User", "ann", user, robot, "Impersonate-Uid", "1"}}, {403, []string{"User", "ann", user, robot, "Impersonate-Extra-Scopes", "all"}},
		{403, []string{"User", "nobody", user, "admin", group, auth.Masters}},
	} {
		got := a.do("GET", pods, "", c.header...)
		require.Equal(t, c.code, got.code, "%v %s", c.header, got.body)
	}
	got := a.do("GET", pods, "", "User", "ann", user, "bob")
	require.Equal(t, `users "bob" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope`, got.object(t).Message)
	got = a.do("GET", pods, "", "User", "ann", user, robot, "Impersonate-Extra-Scopes", "all")
	require.Equal(t, `userextras.authentication.k8s.io "all" is forbidden: User "ann" cannot impersonate resource "userextras/scopes" in API group `+
		`"authentication.k8s.io" at the cluster scope`, got.object(t).Message)
}

// An update that creates what is not there needs the right to create it, too.
func TestCreateByUpdate(t *testing.T) {
	a := newRoleAPI(t)
	a.must("POST", roles, roleOf("Role", "updater", ruleOf("update patch", "coordination.k8s.io", "leases")))
	a.must("POST", roleBindings, bindingOf("updaters", "Role/updater", "User/bob"))
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	lease := `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l"}}`
	apply := []string{"User", "bob", "Content-Type", "application/apply-patch+yaml"}
	for range 2 {
		for _, got := range []answer{a.do("PUT", leases+"/l", lease, "User", "bob"), a.do("PATCH", leases+"/l?fieldManager=m", lease, apply...)} {
			require.Equal(t, 403, got.code)
			require.Contains(t, got.body, `User \"bob\" cannot create resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"default\"`)
		}
		a.must("POST", leases, lease)
		require.Equal(t, 200, a.do("PUT", leases+"/l", lease, "User", "bob").code)
		require.Equal(t, 200, a.do("PATCH", leases+"/l?fieldManager=m", lease, apply...).code)
		a.must("DELETE", leases+"/l", "")
	}
}

// A server that starts again finds its roles, and gives back what was taken away from them.
func TestBootstrapRolesAtEachStart(t *testing.T) {
	dir := t.TempDir()
	o := apiserver.Options{RBAC: true, Authenticator: byHeader{}, Dir: dir}
	first := newAPI(t, o)
	first.must("DELETE", rbacAPI+"/clusterroles/system:discovery", "")
	require.Equal(t, 403, first.do("GET", "/api", "", "User", "bob").code)
	version := first.must("GET", rbacAPI+"/clusterroles/view", "").Metadata.ResourceVersion
	require.NoError(t, first.server.Close())
	second := newAPI(t, o)
	require.Equal(t, 200, second.do("GET", "/api", "", "User", "bob").code)
	require.Equal(t, version, second.must("GET", rbacAPI+"/clusterroles/view", "").Metadata.ResourceVersion, "what is complete is not written")
	_, err := apiserver.Start(t.Context(), apiserver.Options{RBAC: true, Authorizer: &spy{}})
	require.ErrorContains(t, err, "in place of RBAC")
}
