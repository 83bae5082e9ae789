package apiserver_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// securityTable says who may do what: a request, then one column for each of the subjects, + for allowed.
const securityTable = `
                                                        admin view edit sched ctrl  own other robot nobody
GET    /api/v1/namespaces/default/pods                    +    +    +    +    +     -    -    +    -
GET    /api/v1/namespaces/other/pods                      +    -    -    +    +     -    -    -    -
GET    /api/v1/pods                                       +    -    -    +    +     -    -    -    -
GET    /api/v1/pods?fieldSelector=spec.nodeName=n1        +    -    -    +    +     +    -    -    -
GET    /api/v1/pods?fieldSelector=spec.nodeName!=n2       +    -    -    +    +     -    -    -    -
GET    /api/v1/namespaces/default/pods/p                  +    +    +    +    +     +    -    -    -
GET    /api/v1/namespaces/default/pods/unbound            +    +    +    +    +     -    -    -    -
POST   /api/v1/namespaces/default/pods                    +    -    +    -    +     +    +    -    -
DELETE /api/v1/namespaces/default/pods                    +    -    +    -    +     -    -    -    -
DELETE /api/v1/namespaces/default/pods/none               +    -    +    +    +     +    +    -    -
PATCH  /api/v1/namespaces/default/pods/p                  +    -    +    -    +     -    -    -    -
PATCH  /api/v1/namespaces/default/pods/p/status           +    -    -    +    +     +    +    -    -
GET    /api/v1/namespaces/default/pods/p/status           +    +    +    -    +     -    -    -    -
POST   /api/v1/namespaces/default/pods/p/binding          +    -    -    +    -     -    -    -    -
GET    /api/v1/namespaces/default/secrets                 +    -    +    -    +     -    -    -    -
GET    /api/v1/namespaces/default/secrets/used            +    -    +    -    +     +    -    -    -
GET    /api/v1/namespaces/default/secrets/unused          +    -    +    -    +     -    -    -    -
GET    /api/v1/namespaces/other/secrets/used              +    -    -    -    +     -    -    -    -
GET    /api/v1/namespaces/default/secrets?watch=0&fieldSelector=metadata.name=used + - + - + + -    -    -
GET    /api/v1/namespaces/default/configmaps/used         +    +    +    -    +     +    -    -    -
PUT    /api/v1/namespaces/default/configmaps/used         +    -    +    -    +     -    -    -    -
POST   /api/v1/namespaces/default/serviceaccounts/runner/token + -  +    -    +     +    -    -    -
POST   /api/v1/namespaces/default/serviceaccounts/robot/token  + -  +    -    +     -    -    -    -
GET    /api/v1/nodes                                      +    -    -    +    +     -    -    -    -
GET    /api/v1/nodes/n1                                   +    -    -    +    +     +    -    -    -
GET    /api/v1/nodes?fieldSelector=metadata.name=n1       +    -    -    +    +     +    -    -    -
PATCH  /api/v1/nodes/n1/status                            +    -    -    -    +     +    -    -    -
DELETE /api/v1/nodes/n9                                   +    -    -    -    +     -    -    -    -
PUT    /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1        + - - - + + - - -
PUT    /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n2        + - - - + - + - -
PUT    /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler + - - + + - - - -
POST   /api/v1/namespaces/default/events                  +    -    +    +    +     +    +    -    -
PATCH  /apis/apps/v1/namespaces/default/deployments/d/scale + -   +    -    +     -    -    -    -
PUT    /apis/apps/v1/namespaces/default/deployments/d/status + -  -    -    +     -    -    -    -
GET    /api/v1/namespaces/default                         +    +    +    +    +     -    -    -    -
DELETE /api/v1/namespaces/none                            +    -    -    -    +     -    -    -    -
PUT    /api/v1/namespaces/default/finalize                +    -    -    -    +     -    -    -    -
GET    /apis/rbac.authorization.k8s.io/v1/namespaces/default/roles + - - -  +     -    -    -    -
POST   /apis/rbac.authorization.k8s.io/v1/clusterrolebindings + -  -    -    -     -    -    -    -
GET    /apis/wire.example.com/v1/widgets                  +    -    -    -    +     -    -    -    -
GET    /apis                                              +    +    +    +    +     +    +    +    +
GET    /metrics                                           +    -    -    -    -     -    -    -    -
`

func TestSecurityTable(t *testing.T) {
	a := newRoleAPI(t)
	for _, body := range []string{
		pod("p", `,"nodeName":"n1","serviceAccountName":"runner","volumes":[{"name":"v","secret":{"secretName":"used"}},{"name":"w","configMap":{"name":"used"}}]`),
		pod("unbound", `,"serviceAccountName":"robot"`), pod("q", `,"nodeName":"n2","serviceAccountName":"runner2"`),
	} {
		a.must("POST", pods, body)
	}
	a.must("POST", roles, roleOf("Role", "lister", ruleOf("list watch", "", "pods")))
	for _, b := range [][3]string{
		{"views", "ClusterRole/view", "User/viewer"}, {"edits", "ClusterRole/edit", "Group/editors"}, {"robots", "Role/lister", "ServiceAccount/robot"},
	} {
		a.must("POST", roleBindings, bindingOf(b[0], b[1], b[2]))
	}
	subjects := []string{
		"", "viewer", "someone editors", "system:kube-scheduler", "system:kube-controller-manager", "system:node:n1 system:nodes", "system:node:n2 system:nodes",
		"system:serviceaccount:default:robot system:serviceaccounts system:serviceaccounts:default", "nobody",
	}
	lines := strings.Split(strings.TrimSpace(securityTable), "\n")[1:]
	for _, line := range lines {
		words := strings.Fields(line)
		require.Len(t, words, 2+len(subjects), line)
		for i, subject := range subjects {
			path := words[1]
			if words[0] == "DELETE" {
				path += "?dryRun=All"
			}
			got := a.do(words[0], path, "", "User", subject, "Content-Type", "application/merge-patch+json")
			denied := got.code == 403 && strings.Contains(got.body, " cannot ")
			require.Equal(t, words[2+i] == "-", denied, "%s %s as %q: %s", words[0], words[1], subject, got.body)
		}
	}
}

// Whatever a path looks like, nobody gets by it what he may not have.
func TestPathTricks(t *testing.T) {
	a := newRoleAPI(t)
	a.must("POST", pods, pod("mine", ""))
	a.must("POST", "/api/v1/namespaces/other/pods", pod("secret", ""))
	a.must("POST", roles, roleOf("Role", "mine", ruleOf("get delete list watch", "", "pods")+`,`+ruleOf("create", "", "pods/binding")+`,`+ruleOf("list", "", "pods/status")))
	a.must("POST", roleBindings, bindingOf("mine", "Role/mine", "User/bob"))
	for _, request := range []string{
		"GET //api/v1/namespaces/other/pods", "GET /api//v1/namespaces/other/pods", "GET /api/v1//namespaces/other/pods",
		"GET /api/v1/namespaces//pods", "GET /api/v1/namespaces//pods/secret", "GET /api/v1/namespaces/default/../other/pods",
		"GET /api/v1/namespaces/default/pods/../../other/pods", "GET /api/v1/namespaces/default/pods/..%2f..%2fother%2fpods%2fsecret",
		"GET /api/v1/namespaces/default%2fpods/..%2f..%2fother/pods", "GET /api/v1/namespaces/default/./pods/secret", "GET /api/v1/../v1/namespaces/other/pods",
		"GET /api/v1/namespaces/OTHER/pods", "GET /API/v1/namespaces/other/pods", "GET /api/V1/namespaces/other/pods", "GET /api/v1/namespaces/other/Pods",
		"GET /api/v1/watch/namespaces/other/pods", "GET /api/v1/watch/pods", "GET /api/v1/watch/namespaces//pods", "GET /api/v1/watch/watch/pods",
		"GET /api/v1/namespaces/other/pods/", "GET /api/v1/namespaces/other/pods/secret/", "GET /api/v1/namespaces/other/pods/secret/status",
		"GET /api/v1/pods//status", "GET /api/v1/namespaces/default/pods//status", "GET /apis//v1/pods", "GET /apis//v1/namespaces/other/pods",
		"GET /api/v1/namespaces/default/pods%00/../", "GET /api/v1/namespaces/other%20/pods", "GET /api/v1/namespaces/%6fther/pods", "GET /api/v1/namespaces/other;/pods",
		"GET /api/v1/namespaces/default/pods?fieldSelector=metadata.namespace=other", "GET /api/v1/pods?fieldSelector=metadata.namespace=default",
		"GET /api/v1/pods?fieldSelector=metadata.name=mine", "GET /api/v1/namespaces/other/pods?namespace=default",
		"POST /api/v1/namespaces/default/pods//binding", "POST /api/v1/watch/namespaces/default/pods",
		"DELETE /api/v1/watch/namespaces/default/pods/mine", "DELETE /api/v1/namespaces/default/pods", "DELETE /api/v1/namespaces/default/pods/",
		"DELETE /api/v1/namespaces/default/pods//", "PUT /api/v1/watch/namespaces/default/pods/mine",
	} {
		method, path, _ := strings.Cut(request, " ")
		got := a.do(method, path, pod("new", ""), "User", "bob", "X-HTTP-Method-Override", "GET")
		require.NotContains(t, got.body, "creationTimestamp", request)
		if got.code < 300 {
			require.Equal(t, "GET /api/v1/namespaces/default/pods?fieldSelector=metadata.namespace=other", request, got.body)
		} else {
			require.Contains(t, []int{403, 404, 405}, got.code, request)
		}
	}
	require.Len(t, a.must("GET", "/api/v1/pods", "").Items, 2, "nothing was made and nothing has gone")
}
