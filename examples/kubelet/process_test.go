package kubelet_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/server"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
)

// machine is a node whose containers are processes, in a cluster that lets nobody do what he has no right to.
type machine struct {
	t      *testing.T
	server *apiserver.Server
	// admin may do everything.
	admin   *kube.Cluster
	config  *clientrest.Config
	dir     string
	runtime *process.Runtime // of the kubelet that was run last
	stop    func()
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	s, err := apiserver.Start(t.Context(), apiserver.Options{
		Secure: &apiserver.Secure{}, RBAC: true, ServiceAccounts: true, Namespaces: []string{"default", corev1.NamespaceNodeLease}})
	require.NoError(t, err)
	m := &machine{t: t, server: s, dir: t.TempDir()}
	path, err := s.Kubeconfig("admin", apiserver.Admin())
	require.NoError(t, err)
	m.config, err = clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	m.admin, err = kube.Connect(m.config)
	require.NoError(t, err)
	t.Cleanup(func() {
		m.admin.Close()
		require.NoError(t, s.Close())
		left, err := process.New(process.Options{Dir: filepath.Join(m.dir, "runtime")}) // when the test has failed
		require.NoError(t, err)
		require.NoError(t, errors.Join(runtime.RemoveAll(context.Background(), left), left.Close()))
	})
	m.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(m.admin.CA())}})
	return m
}

func (m *machine) create(o kube.Object) {
	m.t.Helper()
	var err error
	switch o := o.(type) {
	case *corev1.ConfigMap:
		_, err = kube.For[*corev1.ConfigMap](m.admin).Create(m.t.Context(), o)
	case *corev1.Secret:
		_, err = kube.For[*corev1.Secret](m.admin).Create(m.t.Context(), o)
	case *corev1.Pod:
		_, err = kube.For[*corev1.Pod](m.admin).Create(m.t.Context(), o)
	}
	require.NoError(m.t, err)
}

// run runs a runtime and a kubelet with its server until stop is called.
func (m *machine) run(change func(*kubelet.Options)) {
	m.t.Helper()
	kubeconfig, err := m.server.Kubeconfig("kubelet-n", auth.Node("n"))
	require.NoError(m.t, err)
	c, err := kube.Load(kubeconfig)
	require.NoError(m.t, err)
	secure, err := server.LoadTLS(must2(m.server.KubeletCertificate("n", "127.0.0.1")))
	require.NoError(m.t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(m.t, err)
	m.runtime, err = process.New(process.Options{Dir: filepath.Join(m.dir, "runtime")})
	require.NoError(m.t, err)
	o := kubelet.Options{
		Cluster: c, Node: "n", Runtime: m.runtime, Images: m.runtime, Dir: filepath.Join(m.dir, "kubelet"), PodCIDR: m.runtime.CIDR(),
		Port: int32(listener.Addr().(*net.TCPAddr).Port), Logger: slog.New(slog.NewTextHandler(m.t.Output(), nil)),
		Serve: func(ctx context.Context, h kubelet.Host) error {
			return server.Run(ctx, server.Options{Host: h, Listener: listener, TLS: secure})
		},
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(m.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := kubelet.Run(ctx, o); err != nil {
			m.t.Errorf("kubelet: %v", err)
		}
	})
	m.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		c.Close()
		if err := m.runtime.Close(); err != nil {
			m.t.Errorf("runtime: %v", err)
		}
	})
	m.t.Cleanup(m.stop)
}

func must2(certificate, authority string, err error) (string, string) {
	if err != nil {
		panic(err)
	}
	return certificate, authority
}

func (m *machine) until(name string, wanted func(*corev1.Pod) bool) (p *corev1.Pod) {
	m.t.Helper()
	require.Eventually(m.t, func() bool {
		var err error
		p, err = kube.For[*corev1.Pod](m.admin).Get(context.Background(), listwatch.Key{Namespace: "default", Name: name})
		return err == nil && wanted(p)
	}, long, often, "pod %s", name)
	return p
}

func (m *machine) gone(name string) {
	m.t.Helper()
	require.Eventually(m.t, func() bool {
		_, err := kube.For[*corev1.Pod](m.admin).Get(context.Background(), listwatch.Key{Namespace: "default", Name: name})
		return apierrors.IsNotFound(err)
	}, long, often, "pod %s is there", name)
}

func (m *machine) delete(name string) {
	m.t.Helper()
	require.NoError(m.t, kube.For[*corev1.Pod](m.admin).Delete(m.t.Context(), listwatch.Key{Namespace: "default", Name: name}, metav1.DeleteOptions{}))
}

// log asks the API server for the log of a container.
func (m *machine) log(pod, container, query string) *http.Response {
	m.t.Helper()
	client, base := m.admin.HTTP()
	at := base.JoinPath("api/v1/namespaces/default/pods", pod, "log")
	at.RawQuery = "container=" + container + query
	answer, err := client.Get(at.String())
	require.NoError(m.t, err)
	require.Equal(m.t, http.StatusOK, answer.StatusCode)
	return answer
}

func (m *machine) read(answer *http.Response) string {
	m.t.Helper()
	text, err := io.ReadAll(answer.Body)
	require.NoError(m.t, errors.Join(err, answer.Body.Close()))
	return string(text)
}

// exec runs a command in a container by way of the API server.
func (m *machine) exec(pod, container string, command ...string) string {
	m.t.Helper()
	_, base := m.admin.HTTP()
	at := base.JoinPath("api/v1/namespaces/default/pods", pod, "exec")
	at.RawQuery = url.Values{"container": {container}, "command": command, "stdout": {"true"}, "stderr": {"true"}}.Encode()
	executor, err := remotecommand.NewWebSocketExecutorForProtocols(m.config, "GET", at.String(), "v5.channel.k8s.io")
	require.NoError(m.t, err)
	var out, errs bytes.Buffer
	err = executor.StreamWithContext(m.t.Context(), remotecommand.StreamOptions{Stdout: &out, Stderr: &errs})
	require.NoError(m.t, err, errs.String())
	return out.String()
}

// processes are those that containers run in the machine's pods, without what probes do.
func (m *machine) processes() (all []string) {
	m.t.Helper()
	boxes, err := m.runtime.ListPodSandboxes(m.t.Context())
	require.NoError(m.t, err)
	for _, b := range boxes {
		for _, dir := range marked(m.t, b.ID) {
			command, err := os.ReadFile(filepath.Join(dir, "cmdline"))
			if err == nil && (bytes.HasPrefix(command, []byte("web\x00")) || bytes.HasPrefix(command, []byte("sleep\x0086399"))) {
				all = append(all, dir)
			}
		}
	}
	return all
}

// marked are the processes of a sandbox.
func marked(t *testing.T, sandbox string) (all []string) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, path := range found {
		environment, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(environment), "RUNTIME_SANDBOX="+sandbox) {
			all = append(all, filepath.Dir(path))
		}
	}
	return all
}

// left is what there is of sandboxes: control groups, links, files.
func (m *machine) left() (all []string) {
	m.t.Helper()
	links, err := net.Interfaces()
	require.NoError(m.t, err)
	for _, l := range links {
		if strings.HasPrefix(l.Name, "pod") && !strings.HasPrefix(l.Name, "pods-") {
			all = append(all, "link "+l.Name)
		}
	}
	for _, in := range []string{"runtime/sandboxes", "kubelet/pods", "kubelet/logs"} {
		entries, err := os.ReadDir(filepath.Join(m.dir, in))
		require.True(m.t, err == nil || errors.Is(err, fs.ErrNotExist), err)
		for _, e := range entries {
			all = append(all, filepath.Join(in, e.Name()))
		}
	}
	return all
}

// groups are the control groups of a sandbox.
func groups(t *testing.T, sandbox string) (all []string) {
	t.Helper()
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == sandbox {
			all = append(all, path)
		}
		return nil // others come and go
	})
	require.NoError(t, err)
	return all
}

// here is where a pod reaches itself.
func (m *machine) here() string {
	if m.runtime.Networked() {
		return "localhost"
	}
	return "$POD_IP"
}

// settled has two containers that speak with each other by localhost, what the API has for them, and probes of two kinds.
func (m *machine) settled() *corev1.Pod {
	sh := func(script string) []string { return []string{"/bin/sh", "-c", script} }
	mounts := []corev1.VolumeMount{{Name: "config", MountPath: "/config"}, {Name: "secret", MountPath: "/secret"}, {Name: "shared", MountPath: "/shared"}}
	return pod("web", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keys"}}},
			{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}
		p.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "builtin", VolumeMounts: mounts,
			Command: sh("cat $CONTAINER_ROOT/config/colour >$CONTAINER_ROOT/shared/page")}}
		p.Spec.Containers = []corev1.Container{{
			Name: "server", Image: "builtin/web", Args: []string{"-text", "$(COLOUR) of $(NAME)"}, Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			Env: []corev1.EnvVar{
				{Name: "COLOUR", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "keys"}, Key: "key"}}},
				{Name: "NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
			},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")}}},
		}, {
			Name: "client", Image: "builtin", VolumeMounts: mounts,
			Command: sh("cat $CONTAINER_ROOT/shared/page $CONTAINER_ROOT/secret/key; echo; cat $CONTAINER_ROOT/var/run/secrets/kubernetes.io/serviceaccount/token; echo; exec sleep 86399"),
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
				Command: sh("test \"$(fetch http://" + m.here() + ":8080/)\" = 'red of web'")}}},
		}}
	})
}

// TestProcesses runs pods as processes for a secure API server that lets a node do what concerns it, and no more.
func TestProcesses(t *testing.T) {
	m := newMachine(t)
	files := newManifests(t)
	files.write("web.yaml", static("builtin/web"))
	m.run(files.options)
	m.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}, Data: map[string]string{"colour": "blue "}})
	m.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "keys"}, StringData: map[string]string{"key": "red"}})
	m.create(m.settled())
	m.create(pod("other", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "builtin/web" }))
	p := m.until("web", ready)
	other := m.until("other", ready)
	require.NotEqual(t, p.Status.PodIP, other.Status.PodIP)
	require.True(t, m.runtime.CIDR().Contains(netip.MustParseAddr(p.Status.PodIP)))

	output := m.log("web", "client", "&follow=true")
	lines := bufio.NewScanner(output.Body)
	require.True(t, lines.Scan())
	require.Equal(t, "blue red", lines.Text())
	require.True(t, lines.Scan())
	token := lines.Text()
	require.NoError(t, output.Body.Close())
	by, err := kube.Connect(&clientrest.Config{Host: m.config.Host, BearerToken: token, TLSClientConfig: clientrest.TLSClientConfig{CAData: m.admin.CA()}})
	require.NoError(t, err)
	defer by.Close()
	_, err = kube.For[*corev1.Node](by).Get(t.Context(), listwatch.Key{Name: "n"})
	require.ErrorContains(t, err, `User "system:serviceaccount:default:default" cannot get resource "nodes"`)
	require.Equal(t, "other\n", m.exec("web", "client", "fetch", "http://"+other.Status.PodIP+":8080/"))

	m.until("web-n", ready)
	require.Equal(t, "web-n\n", m.exec("web-n", "main", "/bin/sh", "-c", "fetch http://"+m.here()+":8080/"))
	require.Eventually(t, func() bool { return len(m.processes()) == 4 }, long, often)
	before := m.processes()
	m.stop()
	m.run(files.options)
	m.create(pod("third", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "builtin/pause" }))
	m.until("third", ready)
	for _, c := range m.until("web", ready).Status.ContainerStatuses {
		require.Zero(t, c.RestartCount)
	}
	require.Equal(t, before, m.processes(), "what ran goes on")
	require.Equal(t, "web\n", m.exec("web", "server", "hostname"))

	boxes, err := m.runtime.ListPodSandboxes(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, m.left())
	following := m.log("web", "server", "&follow=true")
	for _, name := range []string{"web", "other", "third"} {
		m.delete(name)
	}
	files.remove("web.yaml")
	require.True(t, strings.HasSuffix(m.read(following), "ended\n"), "it was asked to end, not killed")
	for _, name := range []string{"web", "other", "third", "web-n"} {
		m.gone(name)
	}
	require.Eventually(t, func() bool { return len(m.left()) == 0 }, long, often)
	for _, b := range boxes {
		require.Empty(t, marked(t, b.ID))
		require.Empty(t, groups(t, b.ID))
	}
	m.stop()
	links, err := net.Interfaces()
	require.NoError(t, err)
	for _, l := range links {
		require.NotContains(t, l.Name, "pod")
	}
}
