package main

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed3bce33ad/listwatch/examples/cluster/crew"
	"github.com/seed3bce33ad/listwatch/examples/cluster/narrate"
	"github.com/seed3bce33ad/listwatch/examples/cluster/parts"
	"github.com/seed3bce33ad/listwatch/informer"
)

// system is a cluster that kubectl is used with. It ends with the test.
type system struct {
	kubectl
	settings parts.Settings
	cluster  *cluster
	crew     *crew.Crew
}

func start(t *testing.T) *system {
	s, err := parts.Prepare(parts.Settings{Dir: t.TempDir(), Nodes: 2, Heartbeat: 4 * time.Second})
	require.NoError(t, err)
	x := &system{kubectl: kubectl{t: t, config: s.Kubeconfig("admin")}, settings: s, cluster: &cluster{
		settings: s, n: narrate.New(t.Output(), slog.LevelInfo), factories: map[string]*informer.Factory{}}}
	x.crew, err = x.cluster.start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		x.crew.Close()
		require.NoError(t, parts.Clean(s))
	})
	require.NoError(t, x.cluster.ready(t.Context()))
	return x
}

func (x *system) eventually(is func() bool) {
	x.t.Helper()
	require.Eventually(x.t, is, time.Minute, 50*time.Millisecond)
}

// get asks for a page; "" when there is none.
func (x *system) get(url string) string {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return strings.TrimSpace(string(text))
}

// keys are those of what is in the namespace "default" in etcd, but for what every namespace has, and events.
func (x *system) keys() []string {
	found, err := x.cluster.etcd.Get(x.t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(x.t, err)
	var all []string
	for _, kv := range found.Kvs {
		key := string(kv.Key)
		if strings.Contains(key, "/default/") && !strings.Contains(key, "/events/") && !strings.HasSuffix(key, "serviceaccounts/default/default") &&
			!strings.HasSuffix(key, "kube-root-ca.crt") {
			all = append(all, key)
		}
	}
	return all
}

// A deployment lives from its creation to its end, as a user sees it.
func TestKubectl(t *testing.T) {
	x := start(t)
	x.must("create deployment web --image=builtin/web:1 --replicas=2")
	require.Contains(t, x.must("rollout status deployment/web --timeout=60s"), "successfully rolled out")
	x.must("scale deployment/web --replicas=4")
	x.must("rollout status deployment/web --timeout=60s")
	require.Equal(t, "4", x.must("get deployment web -o jsonpath={.status.readyReplicas}"))

	x.must("expose deployment web --port=80 --target-port=8080")
	url := "http://" + x.must("get service web -o jsonpath={.spec.clusterIP}")
	x.allAnswer(url)
	x.must("set image deployment/web web=builtin/web:2")
	x.must("rollout status deployment/web --timeout=60s")
	x.allAnswer(url)
	require.Contains(t, x.get(url+"/env"), "builtin/web:2")
	x.must("rollout undo deployment/web")
	x.must("rollout status deployment/web --timeout=60s")
	x.eventually(func() bool { return strings.Contains(x.get(url+"/env"), "builtin/web:1") })

	x.must("run hello --image=builtin/echo --restart=Never -- hello world")
	x.must("wait --for=jsonpath={.status.phase}=Succeeded pod/hello --timeout=60s")
	require.Equal(t, "hello world", x.must("logs hello"))
	name := strings.TrimPrefix(strings.Fields(x.must("get pods -l app=web -o name"))[0], "pod/")
	require.Equal(t, name, x.must("exec "+name+" -- hostname"))
	require.Contains(t, x.must("describe pod "+name), "Started container web")
	require.Contains(t, x.must("describe deployment web"), "ScalingReplicaSet")

	x.must("delete deployment/web service/web pod/hello --timeout=60s")
	x.eventually(func() bool { return len(x.keys()) == 0 })
	gone(t, x.settings.Dir)
}

// allAnswer waits until the four pods answer in turn.
func (x *system) allAnswer(url string) {
	x.t.Helper()
	x.eventually(func() bool {
		answered := map[string]int{}
		for range 8 {
			answered[x.get(url)]++
		}
		for _, n := range answered {
			if n != 2 {
				return false
			}
		}
		return len(answered) == 4 && answered[""] == 0
	})
}

// Two containers of a pod share the loopback; another pod listens at the same port.
func TestTwoContainers(t *testing.T) {
	x := start(t)
	file := filepath.Join(t.TempDir(), "pods.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
apiVersion: v1
kind: Pod
metadata: {name: both}
spec:
  restartPolicy: OnFailure
  containers:
  - {name: web, image: builtin/web, args: ["-text", "from beside"]}
  - name: asks
    image: builtin
    command: ["sh", "-c", "until fetch http://localhost:8080/; do sleep 0.1; done; sleep 1000"]
---
apiVersion: v1
kind: Pod
metadata: {name: other}
spec:
  containers:
  - {name: web, image: builtin/web, args: ["-text", "from afar"]}
`), 0o600))
	x.must("apply -f " + file)
	x.must("wait --for=condition=Ready pod/both pod/other --timeout=60s")
	x.eventually(func() bool { return strings.Contains(x.must("logs both -c asks"), "from beside") })
	require.Equal(t, "from afar", x.get("http://"+x.must("get pod other -o jsonpath={.status.podIP}")+":8080/"))
	require.Equal(t, "from beside", x.get("http://"+x.must("get pod both -o jsonpath={.status.podIP}")+":8080/"))
	x.must("delete -f " + file + " --timeout=60s")
	gone(t, x.settings.Dir)
}
