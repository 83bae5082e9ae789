package apiserver_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/kubelettest"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/server"
)

// node is one with a kubelet, and what runs there.
type node struct {
	*kubelettest.Host
	server *server.Server
}

// addNode adds a node with a kubelet to a server, by TLS when it is secure.
func (a *api) addNode(name string) node {
	a.t.Helper()
	n := node{Host: kubelettest.New(a.t)}
	o := server.Options{Host: n}
	certificate, authority, err := a.server.KubeletCertificate(name, "127.0.0.1")
	if strings.HasPrefix(a.server.URL(), "https") {
		require.NoError(a.t, err)
		o.TLS, err = server.LoadTLS(certificate, authority)
		require.NoError(a.t, err)
	} else {
		require.Error(a.t, err)
	}
	n.server, err = server.Start(o)
	require.NoError(a.t, err)
	a.t.Cleanup(func() { require.NoError(a.t, n.server.Close()) })
	a.must("POST", nodes, nodeAt(name, n.server.URL()))
	return n
}

// nodeAt is a node whose kubelet is said to be at a URL.
func nodeAt(name, at string) string {
	_, address, _ := strings.Cut(at, "://")
	host, port, _ := net.SplitHostPort(address)
	return fmt.Sprintf(`{"metadata":{"name":%q},"status":{"addresses":[{"type":"Hostname","address":"nowhere.invalid"},
		{"type":"InternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, name, host, port)
}

// addPod adds a pod with the containers to a node.
func (a *api) addPod(n *node, name, on string, containers ...string) {
	a.t.Helper()
	var all []string
	p := &corev1.Pod{}
	p.Namespace, p.Name = "default", name
	for _, c := range containers {
		all = append(all, fmt.Sprintf(`{"name":%q,"image":"i"}`, c))
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c})
	}
	init := ""
	if len(containers) > 1 {
		init = `,"initContainers":[{"name":"init","image":"i"}]`
	}
	a.must("POST", pods, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"nodeName":%q,"containers":[%s]%s}}`, name, on, strings.Join(all, ","), init))
	if n != nil {
		n.Add(p)
	}
}

// What a pod's log, and the streams of its containers, are asked for in the wrong way is refused as the real server does.
func TestConnectAnswers(t *testing.T) {
	a := newSecureAPI(t, apiserver.Options{RBAC: true})
	n := a.addNode("n1")
	a.addPod(&n, "one", "n1", "c")
	a.addPod(&n, "two", "n1", "a", "b")
	a.addPod(nil, "waiting", "", "c")
	a.addPod(nil, "unknown", "n1", "c")
	a.addPod(nil, "lost", "n2", "c")
	n.Log("default/one", "c", "first", "second")
	for path, want := range map[string]string{
		"one/log":                          "200 first\nsecond\n",
		"one/log?container=c&tailLines=1":  "200 second\n",
		"one/log?tailLines=-1":             `422 PodLogOptions "one" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0`,
		"one/log?container=d":              "400 container d is not valid for pod one",
		"one/log?container=..%2F..%2Fpods": "400 container ../../pods is not valid for pod one",
		"one/log?previous=true":            `400 previous terminated container "c" in pod "one" not found`,
		"two/log":                          "400 a container name must be specified for pod two, choose one of: [a b] or one of the init containers: [init]",
		"two/exec?command=true":            "400 a container name must be specified for pod two, choose one of: [a b] or one of the init containers: [init]",
		"two/log?container=b":              "200 ",
		"none/log":                         `404 pods "none" not found`,
		"none/exec":                        `404 pods "none" not found`,
		"waiting/log":                      "200 ",
		"waiting/exec?command=true":        "400 pod waiting does not have a host assigned",
		"waiting/portforward":              "400 pod waiting does not have a host assigned",
		"unknown/log":                      "404 the server could not find the requested resource ( pods unknown)",
		"lost/log":                         `404 nodes "n2" not found`,
		"one/exec?stdout=true":             "400 you must specify at least 1 command\n",
		"one/attach?stdout=true":           "400 nobody can attach to the containers of this node\n",
		"one/log/x":                        "404 404 page not found\n",
	} {
		got := a.do("GET", pods+"/"+path, "")
		body := got.body
		if strings.HasPrefix(body, "{") {
			body = got.object(t).Message
		}
		require.Equal(t, want, fmt.Sprint(got.code, " ", body), path)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		require.Equal(t, 405, a.do(method, pods+"/one/log", "").code, method)
	}
	require.Equal(t, 405, a.do("DELETE", pods+"/one/exec", "").code)

	got := a.do("GET", nodes+"/n1/proxy/stats/summary?only_cpu_and_memory=true", "")
	require.Equal(t, 200, got.code, got.body)
	require.Contains(t, got.body, `"podRef":{"name":"one","namespace":"default"`)
	require.Equal(t, "ok", a.do("GET", nodes+"/n1/proxy/x/../healthz", "").body)
	require.Equal(t, 404, a.do("GET", nodes+"/n1/proxy", "").code)
	require.Equal(t, 404, a.do("GET", nodes+"/none/proxy/healthz", "").code)
}

// Who may read pods may neither read logs nor run commands, and who may get exec may not, by that alone, begin a stream.
func TestConnectNeedsRights(t *testing.T) {
	a := newSecureAPI(t, apiserver.Options{RBAC: true})
	n := a.addNode("n1")
	a.addPod(&n, "one", "n1", "c")
	bob := func(path string, header ...string) string {
		got := a.do("GET", path, "", append([]string{"Impersonate-User", "bob"}, header...)...)
		if got.code == 403 {
			return got.object(t).Message
		}
		return fmt.Sprint(got.code)
	}
	grant := func(name, resource, verbs string) {
		a.must("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", fmt.Sprintf(
			`{"metadata":{"name":%q},"rules":[{"apiGroups":[""],"resources":[%q],"verbs":[%s]}]}`, name, resource, verbs))
		a.must("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", fmt.Sprintf(
			`{"metadata":{"name":%q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":%q},"subjects":[{"kind":"User","name":"bob"}]}`, name, name))
	}
	grant("pods", "pods", `"get"`)
	require.Equal(t, "200", bob(pods+"/one"))
	require.Contains(t, bob(pods+"/one/log"), `cannot get resource "pods/log" in API group "" in the namespace "default"`)
	require.Contains(t, bob(pods+"/one/exec?command=true"), `cannot get resource "pods/exec"`)
	require.Contains(t, bob(nodes+"/n1/proxy/pods"), `cannot get resource "nodes/proxy" in API group "" at the cluster scope`)
	grant("logs", "pods/log", `"get"`)
	require.Equal(t, "200", bob(pods+"/one/log"))
	grant("exec", "pods/exec", `"get"`)
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket"}
	require.Contains(t, bob(pods+"/one/exec?command=true", upgrade...), `cannot create resource "pods/exec"`)
	grant("proxy", "nodes/proxy", `"get"`)
	require.Equal(t, "200", bob(nodes+"/n1/proxy/pods"))
	require.Contains(t, bob(nodes+"/n1/proxy/exec/default/one/c?command=true&output=1", upgrade...), `cannot create resource "nodes/proxy"`)
}

// Nobody but the kubelet of a node is sent what is for it, whatever the node says of its address.
func TestNodesThatPointElsewhere(t *testing.T) {
	a := newSecureAPI(t, apiserver.Options{RBAC: true})
	n := a.addNode("n1")
	var asked sync.WaitGroup
	other := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	asked.Go(func() { _ = other.Serve(listener) })
	defer asked.Wait()
	defer other.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := silent.Addr().String()
	require.NoError(t, silent.Close())
	for name, c := range map[string]struct{ at, log, proxy string }{
		"n2":        {n.server.URL(), `tls: failed to verify certificate`, "certificate is valid for n1, not n2"},
		"localhost": {a.server.URL(), `the certificate is that of "kube-apiserver", not of node "localhost"`, "not of node"},
		"plain":     {"https://" + listener.Addr().String(), "first record does not look like a TLS handshake", "TLS handshake"},
		"gone":      {"https://" + gone, "connect: connection refused", "connection refused"},
	} {
		a.must("POST", nodes, nodeAt(name, c.at))
		a.addPod(nil, name, name, "c")
		got := a.do("GET", pods+"/"+name+"/log", "")
		require.Equal(t, 500, got.code, name)
		require.Contains(t, got.object(t).Message, c.log, name)
		require.True(t, strings.HasPrefix(got.object(t).Message, `Get "https://127.0.0.1:`), got.body)
		got = a.do("GET", nodes+"/"+name+"/proxy/pods", "")
		require.Equal(t, 503, got.code, name)
		require.Contains(t, got.object(t).Message, "error trying to reach service: ", name)
		require.Contains(t, got.object(t).Message, c.proxy, name)
		got = a.do("POST", pods+"/"+name+"/exec?command=true", "")
		require.Equal(t, 500, got.code, name)
		require.Contains(t, got.object(t).Message, "error dialing backend: ", name)
	}
	a.must("POST", nodes, `{"metadata":{"name":"bare"}}`)
	got := a.do("GET", nodes+"/bare/proxy/pods", "")
	require.Equal(t, 500, got.code)
	require.Contains(t, got.body, "no preferred addresses found; known addresses: []")
}

// A kubelet that does not answer is given up, and one that answers with another place is not followed.
func TestKubeletsThatMisbehave(t *testing.T) {
	a := newAPI(t, apiserver.Options{Limits: apiserver.Limits{RequestTimeout: time.Second}})
	release := make(chan struct{})
	misbehaving := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		case "/headers":
			_, _ = fmt.Fprint(w, r.Header)
		default:
			<-release
		}
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() { _ = misbehaving.Serve(listener) })
	defer serving.Wait()
	defer misbehaving.Close()
	defer close(release)
	a.must("POST", nodes, nodeAt("n1", "http://"+listener.Addr().String()))
	a.addPod(nil, "one", "n1", "c")
	got := a.do("GET", pods+"/one/log", "")
	require.Equal(t, 504, got.code, got.body)
	got = a.do("GET", nodes+"/n1/proxy/away", "")
	require.Equal(t, 502, got.code)
	require.Contains(t, got.body, "the backend attempted to redirect this request, which is not permitted")
	got = a.do("GET", nodes+"/n1/proxy/headers", "", "Authorization", "Bearer x", "Cookie", "a=b", "Impersonate-User", "bob")
	require.Equal(t, 200, got.code)
	for _, secret := range []string{"Authorization", "Cookie", "Impersonate"} {
		require.NotContains(t, got.body, secret)
	}
	a.must("POST", nodes, nodeAt("far", "http://192.0.2.1:80"))
	require.Contains(t, a.do("GET", nodes+"/far/proxy/x", "").body, "plain HTTP is for loopback addresses only")
}

// Logs that are followed are no load to the limits, and end when the server is cut off or closed.
func TestFollowedLogsEnd(t *testing.T) {
	a := newAPI(t, apiserver.Options{Limits: apiserver.Limits{ReadOnly: 1}})
	n := a.addNode("n1")
	a.addPod(&n, "one", "n1", "c")
	n.Log("default/one", "c", "first")
	follow := func() *http.Response {
		answer, err := a.send(t.Context(), "GET", pods+"/one/log?follow=true", "")
		require.NoError(t, err)
		require.Equal(t, 200, answer.StatusCode)
		line := make([]byte, len("first\n"))
		_, err = answer.Body.Read(line)
		require.NoError(t, err)
		return answer
	}
	ended := func(answer *http.Response) {
		_, err := answer.Body.Read(make([]byte, 1))
		require.Error(t, err)
		require.NoError(t, answer.Body.Close())
	}
	one, two := follow(), follow()
	require.Equal(t, 200, a.do("GET", pods, "").code)
	require.Contains(t, a.do("GET", "/metrics", "").body, `verb="CONNECT"`)
	a.cutConnections()
	ended(one)
	ended(two)
	three := follow()
	require.NoError(t, a.server.Close())
	ended(three)
}

func TestEviction(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", pods, pod("one", ""))
	eviction := func(name, rest string) string {
		return fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q}%s}`, name, rest)
	}
	require.Equal(t, 405, a.do("GET", pods+"/one/eviction", "").code)
	require.Equal(t, 400, a.do("POST", pods+"/one/eviction", eviction("two", "")).code)
	require.Equal(t, 409, a.do("POST", pods+"/one/eviction", eviction("one", `,"deleteOptions":{"preconditions":{"uid":"other"}}`)).code)
	require.Equal(t, 201, a.do("POST", pods+"/one/eviction?dryRun=All", eviction("one", "")).code)
	require.Equal(t, 200, a.do("GET", pods+"/one", "").code)
	got := a.do("POST", pods+"/one/eviction", eviction("one", ""))
	require.Equal(t, 201, got.code)
	require.JSONEq(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`, got.body)
	require.Equal(t, 404, a.do("GET", pods+"/one", "").code)
	require.Equal(t, 404, a.do("POST", pods+"/one/eviction", eviction("one", "")).code)
}
