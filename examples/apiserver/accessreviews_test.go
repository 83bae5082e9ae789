package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// What reviews say is what requests are answered.
func TestAccessReviews(t *testing.T) {
	a := newRoleAPI(t)
	a.must("POST", roleBindings, bindingOf("views", "ClusterRole/view", "User/bob"))
	a.must("POST", roleBindings, bindingOf("lost", "ClusterRole/none", "User/bob"))
	a.must("POST", pods, pod("p", `,"nodeName":"n1"`))
	const root = "/apis/authorization.k8s.io/v1/"
	const local = root + "namespaces/default/localsubjectaccessreviews"
	readers := `{"verb":"list","resource":"pods","namespace":"default"}`
	for _, c := range []struct{ path, user, spec, want string }{
		{root + "selfsubjectaccessreviews", "", `{"resourceAttributes":{"verb":"*","group":"*","resource":"*"}}`, `{"allowed":true}`},
		{root + "selfsubjectaccessreviews", "bob", `{"resourceAttributes":` + readers + `}`,
			`{"allowed":true,"reason":"RBAC: allowed by RoleBinding \"views/default\" of ClusterRole \"view\" to User \"bob\""}`},
		{root + "selfsubjectaccessreviews", "bob", `{"resourceAttributes":{"verb":"list","resource":"pods"}}`, `{"allowed":false}`},
		{root + "selfsubjectaccessreviews", "bob", `{"resourceAttributes":{"verb":"get","resource":"pods","subresource":"exec","namespace":"default"}}`,
			`{"allowed":false,"reason":"RBAC: clusterroles.rbac.authorization.k8s.io \"none\" not found"}`},
		{root + "selfsubjectaccessreviews", "bob", `{"nonResourceAttributes":{"verb":"get","path":"/apis"}}`,
			`{"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group \"system:authenticated\""}`},
		{root + "subjectaccessreviews", "", `{"user":"bob","resourceAttributes":` + readers + `}`,
			`{"allowed":true,"reason":"RBAC: allowed by RoleBinding \"views/default\" of ClusterRole \"view\" to User \"bob\""}`},
		{root + "subjectaccessreviews", "", `{"user":"ann","groups":["system:masters"],"resourceAttributes":{"verb":"list","resource":"nodes"}}`, `{"allowed":true}`},
		{root + "subjectaccessreviews", "", `{"user":"ann","extra":{"a":["b"]},"resourceAttributes":{"verb":"list","resource":"nodes"}}`, `{"allowed":false}`},
		{root + "subjectaccessreviews", "", `{"user":"system:node:n1","groups":["system:nodes"],"resourceAttributes":{"verb":"list","resource":"pods"}}`,
			`{"allowed":false,"reason":"can only list/watch pods with spec.nodeName field selector"}`},
		{root + "subjectaccessreviews", "", `{"user":"system:node:n1","groups":["system:nodes"],"resourceAttributes":{"verb":"list","resource":"pods","fieldSelector":{"rawSelector":"spec.nodeName=n1"}}}`,
			`{"allowed":true}`},
		{root + "subjectaccessreviews", "", `{"user":"system:node:n1","groups":["system:nodes"],"resourceAttributes":{"verb":"list","resource":"pods",` +
			`"fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"In","values":["n1"]}]}}}`, `{"allowed":true}`},
		{local, "", `{"user":"bob","resourceAttributes":` + readers + `}`,
			`{"allowed":true,"reason":"RBAC: allowed by RoleBinding \"views/default\" of ClusterRole \"view\" to User \"bob\""}`},
	} {
		got := a.do("POST", c.path, `{"spec":`+c.spec+`}`, "User", c.user)
		require.Equal(t, 201, got.code, got.body)
		require.Contains(t, got.body, `"status":`+c.want, c.spec)
	}
	for _, c := range []struct{ path, user, spec, want string }{
		{root + "selfsubjectaccessreviews", "bob", `{}`, `SelfSubjectAccessReview.authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: \"null\": ` +
			`exactly one of nonResourceAttributes or resourceAttributes must be specified`},
		{root + "selfsubjectaccessreviews", "bob", `{"resourceAttributes":{},"nonResourceAttributes":{}}`, `cannot be specified in combination with nonResourceAttributes`},
		{root + "subjectaccessreviews", "", `{"resourceAttributes":` + readers + `}`, `at least one of user or group must be specified`},
		{local, "", `{"user":"bob","resourceAttributes":{"verb":"get","resource":"pods","namespace":"other"}}`, `must match metadata.namespace`},
		{local, "", `{"user":"bob","nonResourceAttributes":{"verb":"get","path":"/"}}`, `disallowed on this kind of request`},
	} {
		got := a.do("POST", c.path, `{"spec":`+c.spec+`}`, "User", c.user)
		require.Equal(t, 422, got.code, got.body)
		require.Contains(t, got.body, c.want)
	}
	require.Equal(t, 403, a.do("POST", root+"subjectaccessreviews", `{"spec":{"user":"ann","resourceAttributes":`+readers+`}}`, "User", "bob").code)
	require.Equal(t, 405, a.do("GET", root+"subjectaccessreviews", "").code)
}

func TestRulesReview(t *testing.T) {
	a := newRoleAPI(t)
	a.must("POST", roles, roleOf("Role", "reader", ruleOf("get list", "", "pods")))
	a.must("POST", roleBindings, bindingOf("readers", "Role/reader", "User/bob"))
	const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
	got := a.do("POST", path, `{"spec":{"namespace":"default"}}`, "User", "bob")
	require.Equal(t, 201, got.code, got.body)
	require.Contains(t, got.body, `{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}`)
	require.Contains(t, got.body, `{"verbs":["create"],"apiGroups":["authorization.k8s.io"],"resources":["selfsubjectaccessreviews","selfsubjectrulesreviews"]}`)
	require.Contains(t, got.body, `{"verbs":["get"],"nonResourceURLs":["/healthz"`)
	require.Contains(t, got.body, `"incomplete":false`)
	require.NotContains(t, a.do("POST", path, `{"spec":{"namespace":"other"}}`, "User", "bob").body, `"pods"`)
	got = a.do("POST", path, `{"spec":{"namespace":"default"}}`, "User", "system:node:n1 system:nodes")
	require.Contains(t, got.body, `"incomplete":true,"evaluationError":"node authorizer does not support user rule resolution"`)
	require.Equal(t, 400, a.do("POST", path, `{}`, "User", "bob").code)
	all := `"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}`
	require.Contains(t, a.do("POST", path, `{"spec":{"namespace":"default"}}`).body, all)
	require.Contains(t, newAPI(t, apiserver.Options{}).do("POST", path, `{"spec":{"namespace":"default"}}`).body, all)
	require.Contains(t, newAPI(t, apiserver.Options{Authorizer: &spy{}}).do("POST", path, `{"spec":{"namespace":"default"}}`).body, `"incomplete":true`)
}
