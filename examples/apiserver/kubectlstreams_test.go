package apiserver_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// streamSteps are those that a kubelet answers.
func streamSteps() []step {
	return []step{
		{line: "logs one", want: []string{`^first\nsecond\n$`}},
		{line: "logs one --tail=1", want: []string{`^second\n$`}},
		{line: "logs one --timestamps", want: []string{`^\d{4}-\d\d-\d\dT\S+Z first\n`}},
		{line: "logs one --previous", want: []string{`^before\n$`}},
		{line: "logs two", want: []string{`^Defaulted container "a" out of: a, b, init \(init\)\n$`}},
		{line: "logs two -c b", want: []string{`^$`}},
		{line: "logs one -c d", code: 1, want: []string{`error: container d is not valid for pod one|BadRequest\): container d is not valid for pod one`}},
		{line: "logs -f one", want: []string{`third\n`}, during: func(k *kubectl, out *output) {
			if out.until(`^second$`) {
				k.node.Log("default/one", "c", "third")
				out.until(`^third$`)
			}
			k.node.Exit("default/one", "c")
		}},
		{line: "exec two -c a -- echo hello", want: []string{`^hello\n$`}},
		{line: "exec two -c a -- sh -c 'echo to-stderr >&2; exit 7'", code: 7, want: []string{`to-stderr\n`, `command terminated with exit code 7`}},
		{line: "exec -i two -c a -- tr a-z A-Z", stdin: "some text\n", want: []string{`^SOME TEXT\n$`}},
		{line: "exec one -- true", code: 1, want: []string{`container not found \("c"\)`}},
		{line: "port-forward pod/two :PORT", code: 1, want: []string{`Forwarding from 127.0.0.1:\d+`, `Handling connection`}, during: func(k *kubectl, out *output) {
			if !out.until(`Forwarding from 127.0.0.1:\d+`) {
				return
			}
			port := regexp.MustCompile(`Forwarding from 127.0.0.1:(\d+)`).FindStringSubmatch(out.text.String())[1]
			answer, err := http.Get("http://127.0.0.1:" + port)
			if err == nil {
				var body []byte
				body, err = io.ReadAll(answer.Body)
				require.Equal(k.t, "from the pod", string(body))
				_ = answer.Body.Close()
			}
			require.NoError(k.t, err)
			k.cutConnections()
		}},
	}
}

// prepareStreams makes what streamSteps are about.
func (k *kubectl) prepareStreams() {
	k.t.Helper()
	k.node = k.addNode("streams")
	k.addPod(&k.node, "one", "streams", "c")
	k.addPod(&k.node, "two", "streams", "a", "b")
	k.setStatus(pods+"/two", `{"phase":"Running"}`) // kubectl looks before it forwards a port
	k.node.Log("default/one", "c", "before")
	k.node.Restart("default/one", "c")
	k.node.Log("default/one", "c", "first", "second")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(k.t, err)
	pod := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "from the pod") })}
	var serving sync.WaitGroup
	serving.Go(func() { _ = pod.Serve(listener) })
	k.t.Cleanup(func() {
		require.NoError(k.t, pod.Close())
		serving.Wait()
	})
	_, k.port, err = net.SplitHostPort(listener.Addr().String())
	require.NoError(k.t, err)
}

// What a kubelet answers comes through a server and a kubelet that speak TLS, to a user whose rights are looked at.
func TestKubectlStreams(t *testing.T) {
	k := newKubectl(t, newSecureAPI(t, apiserver.Options{RBAC: true}))
	path, err := k.server.Kubeconfig("admin", apiserver.Admin())
	require.NoError(t, err)
	k.connection = []string{"--kubeconfig", path}
	k.prepareStreams()
	for _, s := range streamSteps() {
		require.Empty(t, k.run(s), s.line)
	}
}
