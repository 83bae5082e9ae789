package kubelet_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/hollow"
	"github.com/seed3bce33ad/listwatch/examples/runtime/runtimetest"
)

func TestMain(m *testing.M) { runtimetest.Main(m) }

// rig is an API server and a runtime that pretends. The kubelet goes through before, which may be nil.
type rig struct {
	t       *testing.T
	cluster *kube.Cluster
	url     string
	runtime *hollow.Runtime
	behave  sync.Map // container name to hollow.Behaviour
	before  atomic.Pointer[func(*http.Request) error]
	ready   atomic.Int32 // what Exec answers
	missing sync.Map     // images that are not there

	mu       sync.Mutex
	commands []string // that were executed, after the container's name; guarded by mu
}

func newRig(t *testing.T) *rig {
	t.Helper()
	server, err := apiserver.Start(t.Context(), apiserver.Options{})
	require.NoError(t, err)
	r := &rig{t: t, url: server.URL()}
	r.runtime, err = hollow.New(hollow.Options{
		Behave: func(_ runtime.SandboxConfig, c runtime.ContainerConfig) hollow.Behaviour {
			b, _ := r.behave.Load(c.Name)
			behaviour, _ := b.(hollow.Behaviour)
			return behaviour
		},
		Exec: func(_ context.Context, c runtime.Container, e runtime.Exec) (int, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.commands = append(r.commands, c.Config.Name+": "+strings.Join(e.Command, " "))
			return int(r.ready.Load()), nil
		},
		Pull: func(_ context.Context, image string) error {
			if _, missing := r.missing.Load(image); missing {
				return runtime.ErrNotFound
			}
			return nil
		},
	})
	require.NoError(t, err)
	r.cluster, err = kube.Connect(&clientrest.Config{Host: server.URL()})
	require.NoError(t, err)
	t.Cleanup(func() {
		r.cluster.Close()
		require.NoError(t, errors.Join(r.runtime.Close(), server.Close()))
	})
	_, err = kube.For[*corev1.Namespace](r.cluster).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: corev1.NamespaceNodeLease}})
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(t, err)
	}
	return r
}

type through struct {
	r    *rig
	next http.RoundTripper
}

func (h through) RoundTrip(q *http.Request) (*http.Response, error) {
	if f := h.r.before.Load(); f != nil {
		if err := (*f)(q); err != nil {
			return nil, err
		}
	}
	return h.next.RoundTrip(q)
}

// run runs a kubelet until the returned function is called.
func (r *rig) run(change func(*kubelet.Options)) (stop func()) {
	r.t.Helper()
	c, err := kube.Connect(&clientrest.Config{Host: r.url, WrapTransport: func(next http.RoundTripper) http.RoundTripper { return through{r, next} }})
	require.NoError(r.t, err)
	o := kubelet.Options{Cluster: c, Node: "n", Runtime: r.runtime, Images: r.runtime, LeaseDuration: 4 * time.Second,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := kubelet.Run(ctx, o); err != nil {
			r.t.Errorf("kubelet: %v", err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait(); c.Close() })
	r.t.Cleanup(stop)
	return stop
}

func pod(name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	p.Spec.NodeName = "n"
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "web"}}
	if change != nil {
		change(p)
	}
	return p
}

func (r *rig) create(p *corev1.Pod) *corev1.Pod {
	r.t.Helper()
	made, err := kube.For[*corev1.Pod](r.cluster).Create(r.t.Context(), p)
	require.NoError(r.t, err)
	return made
}

const (
	long  = 2 * time.Minute
	often = 20 * time.Millisecond
)

// until waits until a pod is as wanted.
func (r *rig) until(name string, wanted func(*corev1.Pod) bool) (p *corev1.Pod) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		var err error
		p, err = kube.For[*corev1.Pod](r.cluster).Get(context.Background(), listwatch.Key{Namespace: "default", Name: name})
		return err == nil && wanted(p)
	}, long, often, "pod %s", name)
	return p
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// containers are those of a name that the runtime has.
func (r *rig) containers(name string) (all []runtime.Container) {
	every, err := r.runtime.ListContainers(context.Background())
	require.NoError(r.t, err)
	for _, c := range every {
		if c.Config.Name == name {
			all = append(all, c)
		}
	}
	return all
}

func (r *rig) gone(name string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		_, err := kube.For[*corev1.Pod](r.cluster).Get(context.Background(), listwatch.Key{Namespace: "default", Name: name})
		boxes, listErr := r.runtime.ListPodSandboxes(context.Background())
		return apierrors.IsNotFound(err) && listErr == nil && !strings.Contains(names(boxes), " "+name+" ")
	}, long, often, "pod %s is there", name)
}

func names(boxes []runtime.Sandbox) string {
	all := " "
	for _, b := range boxes {
		all += b.Config.Name + " "
	}
	return all
}

func (r *rig) delete(name string, grace int64) {
	r.t.Helper()
	require.NoError(r.t, kube.For[*corev1.Pod](r.cluster).Delete(r.t.Context(), listwatch.Key{Namespace: "default", Name: name}, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
}

func TestPodRunsAndEnds(t *testing.T) {
	r := newRig(t)
	r.run(nil)
	_, err := kube.For[*corev1.ConfigMap](r.cluster).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}, Data: map[string]string{"colour": "blue"}})
	require.NoError(t, err)
	r.behave.Store("first", hollow.Behaviour{ExitAfter: time.Millisecond})
	r.create(pod("a", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "web"}}
		p.Spec.Containers[0].Args = []string{"$(COLOUR)"}
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "COLOUR", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "colour"}}}}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "second", Image: "web"})
	}))
	p := r.until("a", ready)
	require.Equal(t, corev1.PodRunning, p.Status.Phase)
	require.Len(t, p.Status.ContainerStatuses, 2)
	require.Equal(t, int32(0), p.Status.InitContainerStatuses[0].State.Terminated.ExitCode)
	first, main := r.containers("first")[0], r.containers("main")[0]
	require.False(t, main.Created.Before(first.Finished))
	require.Equal(t, []string{"COLOUR=blue"}, main.Config.Env)
	require.Equal(t, []string{"blue"}, main.Config.Args)
	require.Equal(t, "process://"+main.ID, p.Status.ContainerStatuses[0].ContainerID)
	r.delete("a", 30)
	r.gone("a")
}

func TestGrace(t *testing.T) {
	r := newRig(t)
	r.run(nil)
	r.behave.Store("main", hollow.Behaviour{StopAfter: -1})
	r.create(pod("a", nil))
	r.until("a", ready)
	begin := time.Now()
	r.delete("a", 600)
	r.until("a", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil && !ready(p) })
	require.Equal(t, runtime.Running, r.containers("main")[0].State)
	r.delete("a", 1) // less time than before
	r.gone("a")
	require.Less(t, time.Since(begin), 300*time.Second)
}

func TestRestartPolicy(t *testing.T) {
	r := newRig(t)
	r.run(nil)
	r.create(pod("a", nil))
	r.until("a", ready)
	require.NoError(t, r.runtime.Exit(r.containers("main")[0].ID, 3))
	p := r.until("a", func(p *corev1.Pod) bool { return ready(p) && p.Status.ContainerStatuses[0].RestartCount == 1 })
	require.Equal(t, int32(3), p.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
	for _, c := range r.containers("main") {
		if c.State == runtime.Running {
			require.NoError(t, r.runtime.Exit(c.ID, 4))
		}
	}
	r.until("a", func(p *corev1.Pod) bool {
		w := p.Status.ContainerStatuses[0].State.Waiting
		return w != nil && w.Reason == "CrashLoopBackOff" && strings.Contains(w.Message, "back-off 10s")
	})
	r.behave.Store("main", hollow.Behaviour{ExitAfter: time.Millisecond})
	r.create(pod("b", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }))
	r.until("b", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	r.behave.Store("main", hollow.Behaviour{ExitAfter: time.Millisecond, ExitCode: 1})
	r.create(pod("c", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }))
	r.until("c", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
}

func TestProbes(t *testing.T) {
	r := newRig(t)
	r.ready.Store(1)
	r.run(nil)
	check := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check"}}}, PeriodSeconds: 1, FailureThreshold: 1}
	r.create(pod("a", func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = check }))
	r.until("a", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && !ready(p) })
	r.create(pod("b", func(p *corev1.Pod) {
		p.Spec.Containers[0].Name, p.Spec.Containers[0].LivenessProbe = "lives", check
	}))
	r.until("b", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].RestartCount > 0
	})
	r.ready.Store(0)
	r.until("a", ready)
}

func TestRestartAdopts(t *testing.T) {
	r := newRig(t)
	stop := r.run(nil)
	r.create(pod("a", nil))
	r.until("a", ready)
	before := r.containers("main")
	stop()
	r.run(nil)
	r.create(pod("b", func(p *corev1.Pod) { p.Spec.Containers[0].Name = "other" }))
	r.until("b", ready)
	require.Equal(t, before, r.containers("main"))
	require.Zero(t, r.until("a", ready).Status.ContainerStatuses[0].RestartCount)
}

// TestWritesOnlyChanges: a pod whose state does not change is not written again.
func TestWritesOnlyChanges(t *testing.T) {
	r := newRig(t)
	var patches atomic.Int32
	r.before.Store(ptr.To(func(q *http.Request) error {
		if q.Method == http.MethodPatch && strings.HasSuffix(q.URL.Path, "/pods/a/status") {
			patches.Add(1)
		}
		return nil
	}))
	r.run(nil)
	r.create(pod("a", nil))
	r.until("a", ready)
	before := patches.Load()
	p, err := kube.For[*corev1.Pod](r.cluster).Patch(t.Context(), listwatch.Key{Namespace: "default", Name: "a"},
		kube.Patch{Body: map[string]any{"metadata": map[string]any{"labels": map[string]string{"x": "y"}}}})
	require.NoError(t, err)
	r.create(pod("b", nil))
	r.until("b", ready)
	require.Equal(t, before, patches.Load())
	require.Equal(t, p.ResourceVersion, r.until("a", ready).ResourceVersion)
}

// TestStatusOfTheDead is scenario 123: what is told of a pod is never written onto its successor.
func TestStatusOfTheDead(t *testing.T) {
	r := newRig(t)
	pods := kube.For[*corev1.Pod](r.cluster)
	made := r.create(pod("a", nil))
	key := listwatch.Key{Namespace: "default", Name: "a"}
	successor := make(chan *corev1.Pod, 1)
	var once sync.Once
	r.before.Store(ptr.To(func(q *http.Request) error {
		if q.Method == http.MethodPatch && strings.HasSuffix(q.URL.Path, "/pods/a/status") {
			once.Do(func() {
				err := pods.Delete(context.Background(), key, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
				next, createErr := pods.Create(context.Background(), pod("a", func(p *corev1.Pod) { p.Spec.NodeName = "elsewhere" }))
				if err := errors.Join(err, createErr); err != nil {
					t.Errorf("successor: %v", err)
				}
				successor <- next
			})
		}
		return nil
	}))
	r.run(nil)
	next := <-successor
	require.NotEqual(t, made.UID, next.UID)
	require.Eventually(t, func() bool {
		boxes, err := r.runtime.ListPodSandboxes(context.Background())
		return err == nil && len(boxes) == 0
	}, long, often)
	now, err := pods.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, next, now)
}

// TestNothingEndsBeforeTheList is scenario 125: a kubelet that has not read the API ends nothing but
// static pods whose files have changed; then orphans go.
func TestNothingEndsBeforeTheList(t *testing.T) {
	r, m := newRig(t), newManifests(t)
	m.write("web.yaml", static("one"))
	stop := r.run(m.options)
	r.until("web-n", ready)
	for _, name := range []string{"a", "b"} {
		r.create(pod(name, func(p *corev1.Pod) { p.Spec.Containers[0].Name = name }))
		r.until(name, ready)
	}
	stop()
	before := r.containers("a")
	orphan := r.containers("b")
	require.Equal(t, runtime.Running, orphan[0].State)
	r.delete("b", 0)
	var refused atomic.Int32
	r.before.Store(ptr.To(func(*http.Request) error { refused.Add(1); return errors.New("the server is away") }))
	r.run(m.options)
	m.write("web.yaml", static("two"))
	r.running("two")
	require.Eventually(t, func() bool { return refused.Load() > 5 }, long, often)
	require.Equal(t, before, r.containers("a"))
	require.Equal(t, orphan, r.containers("b"))
	r.before.Store(nil)
	r.gone("b")
	r.until("web-n", func(p *corev1.Pod) bool { return ready(p) && p.Spec.Containers[0].Image == "two" })
	require.Equal(t, before, r.containers("a"))
	r.until("a", ready)
}

// TestNodeComesBack is scenario 126: lease, node and the readiness of pods are made right whatever became of them.
func TestNodeComesBack(t *testing.T) {
	r := newRig(t)
	leases, nodes, pods := kube.For[*coordinationv1.Lease](r.cluster), kube.For[*corev1.Node](r.cluster), kube.For[*corev1.Pod](r.cluster)
	key := listwatch.Key{Namespace: corev1.NamespaceNodeLease, Name: "n"}
	renewed := func() bool { _, err := leases.Get(context.Background(), key); return err == nil }
	alive := func() bool {
		n, err := nodes.Get(context.Background(), listwatch.Key{Name: "n"})
		if err != nil {
			return false
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	r.run(nil)
	r.create(pod("a", nil))
	p := r.until("a", ready)
	require.Eventually(t, func() bool { return renewed() && alive() }, long, often)
	require.NoError(t, leases.Delete(t.Context(), key, metav1.DeleteOptions{}))
	n, err := nodes.Get(t.Context(), listwatch.Key{Name: "n"})
	require.NoError(t, err)
	require.Equal(t, "v1.36.3-listwatch", n.Status.NodeInfo.KubeletVersion)
	for i := range n.Status.Conditions {
		n.Status.Conditions[i].Status = corev1.ConditionUnknown
	}
	_, err = nodes.UpdateStatus(t.Context(), n)
	require.NoError(t, err)
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			c.Status = corev1.ConditionFalse
		}
	}
	_, err = pods.UpdateStatus(t.Context(), p)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return renewed() && alive() }, long, often)
	require.Equal(t, p.Status.ContainerStatuses, r.until("a", ready).Status.ContainerStatuses)
	require.NoError(t, nodes.Delete(t.Context(), listwatch.Key{Name: "n"}, metav1.DeleteOptions{}))
	require.Eventually(t, alive, long, often)
}

func TestHost(t *testing.T) {
	r := newRig(t)
	hosts := make(chan kubelet.Host, 1)
	r.run(func(o *kubelet.Options) {
		o.Dir = t.TempDir()
		o.Serve = func(ctx context.Context, h kubelet.Host) error {
			hosts <- h
			<-ctx.Done()
			return nil
		}
	})
	r.behave.Store("main", hollow.Behaviour{MemoryBytes: 64})
	r.create(pod("a", nil))
	r.until("a", ready)
	h := <-hosts
	require.Len(t, h.Pods(), 1)
	f, err := h.Container(t.Context(), kubelet.Ref{Namespace: "default", Name: "a"})
	require.NoError(t, err)
	require.Equal(t, "main", f.Config.Name)
	require.True(t, strings.HasSuffix(f.LogPath, "/main/0.log"), f.LogPath)
	_, err = h.Container(t.Context(), kubelet.Ref{Namespace: "default", Name: "a", Previous: true})
	require.True(t, apierrors.IsBadRequest(err), err)
	_, err = h.Container(t.Context(), kubelet.Ref{Namespace: "default", Name: "a", UID: "other"})
	require.True(t, apierrors.IsNotFound(err), err)
	sum, err := h.Summary(t.Context())
	require.NoError(t, err)
	require.Equal(t, uint64(64), sum.Node.Memory.WorkingSetBytes)
	require.Equal(t, "a", sum.Pods[0].PodRef.Name)
	require.ErrorContains(t, kubelet.Run(t.Context(), kubelet.Options{}), "must be set")
}
