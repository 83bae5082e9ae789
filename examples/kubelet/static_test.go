package kubelet_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/hollow"
)

// manifests is a directory with pods, which a kubelet looks at all the time.
type manifests struct {
	t   *testing.T
	dir string
}

func newManifests(t *testing.T) manifests { return manifests{t, t.TempDir()} }

func (m manifests) options(o *kubelet.Options) {
	o.ManifestDir, o.ManifestPeriod = m.dir, 20*time.Millisecond
}

// write writes a file in one piece.
func (m manifests) write(name, text string) {
	m.t.Helper()
	fresh := filepath.Join(m.dir, "."+name)
	require.NoError(m.t, os.WriteFile(fresh, []byte(text), 0o600))
	require.NoError(m.t, os.Rename(fresh, filepath.Join(m.dir, name)))
}

func (m manifests) remove(name string) {
	m.t.Helper()
	require.NoError(m.t, os.Remove(filepath.Join(m.dir, name)))
}

// static is a pod web with a container main.
func static(image string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app":"web"}},
		"spec":{"containers":[{"name":"main","image":"` + image + `"}]}}`
}

// running waits until a container of that image runs, and no other of its name.
func (r *rig) running(image string) (c runtime.Container) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		all := r.containers("main")
		if len(all) != 1 {
			return false
		}
		c = all[0]
		return c.State == runtime.Running && c.Config.Image == image
	}, long, often, "image %s", image)
	return c
}

// TestStaticPods: what a file says runs, and the API shows it, whatever is done to what it shows.
func TestStaticPods(t *testing.T) {
	r, m := newRig(t), newManifests(t)
	m.write("web.yaml", static("one"))
	hosts := make(chan kubelet.Host, 1)
	r.run(func(o *kubelet.Options) {
		m.options(o)
		o.Serve = func(ctx context.Context, h kubelet.Host) error { hosts <- h; <-ctx.Done(); return nil }
	})
	pods := kube.For[*corev1.Pod](r.cluster)
	shown := r.until("web-n", ready)
	h := <-hosts
	require.Len(t, h.Pods(), 1)
	uid := h.Pods()[0].UID
	require.Equal(t, corev1.PodRunning, h.Pods()[0].Status.Phase)
	require.Equal(t, string(uid), shown.Annotations["kubernetes.io/config.mirror"])
	require.Equal(t, "file", shown.Annotations["kubernetes.io/config.source"])
	node, err := kube.For[*corev1.Node](r.cluster).Get(t.Context(), listwatch.Key{Name: "n"})
	require.NoError(t, err)
	require.True(t, metav1.IsControlledBy(shown, node))
	c := r.running("one")
	found, err := h.Container(t.Context(), kubelet.Ref{Namespace: "default", Name: "web-n"})
	require.NoError(t, err)
	require.Equal(t, c.ID, found.ID)

	anew := func() {
		t.Helper()
		before := shown.UID
		shown = r.until("web-n", func(p *corev1.Pod) bool { return p.UID != before && ready(p) })
		require.Equal(t, "one", shown.Spec.Containers[0].Image)
		require.Equal(t, map[string]string{"app": "web"}, shown.Labels)
	}
	r.delete("web-n", 30)
	anew()
	r.delete("web-n", 0)
	anew()
	for _, change := range []map[string]any{
		{"metadata": map[string]any{"labels": map[string]string{"app": "other"}}},
		{"spec": map[string]any{"activeDeadlineSeconds": 1}},
	} {
		_, err := pods.Patch(t.Context(), listwatch.KeyOf(shown), kube.Patch{Body: change})
		require.NoError(t, err)
		anew()
	}
	require.NoError(t, kube.For[*corev1.Node](r.cluster).Delete(t.Context(), listwatch.Key{Name: "n"}, metav1.DeleteOptions{}))
	anew()
	require.Equal(t, c, r.running("one"), "it has run all the time")

	require.NoError(t, r.runtime.Exit(c.ID, 3))
	r.until("web-n", func(p *corev1.Pod) bool { return ready(p) && p.Status.ContainerStatuses[0].RestartCount == 1 })
	r.behave.Store("main", hollow.Behaviour{StopAfter: -1})
	for _, c := range r.containers("main") {
		if c.State == runtime.Running {
			require.NoError(t, r.runtime.Exit(c.ID, 4))
		}
	}
	m.write("web.yaml", strings.Replace(static("one"), `"spec":{`, `"spec":{"terminationGracePeriodSeconds":1,`, 1))
	anew()
	m.remove("web.yaml")
	r.until("web-n", func(p *corev1.Pod) bool { return !ready(p) && p.Status.ContainerStatuses[0].State.Running != nil })
	r.gone("web-n")
}

// TestStaticPodChanges: another file is another pod, which waits for the end of the one before; a bad one is nothing.
func TestStaticPodChanges(t *testing.T) {
	r, m := newRig(t), newManifests(t)
	r.behave.Store("main", hollow.Behaviour{StopAfter: 100 * time.Millisecond})
	m.write("web.yaml", static("one"))
	stop := r.run(m.options)
	uid := r.until("web-n", ready).Annotations["kubernetes.io/config.mirror"]
	first := r.running("one")
	m.write("other.yaml", "nonsense")
	m.write("web.yaml", "{")
	m.write("third.yaml", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"third"},"spec":{"containers":[{"name":"third","image":"i"}]}}`)
	r.until("third-n", ready)
	require.Equal(t, first, r.running("one"))

	follow := func(until string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m.write("web.yaml", static(until))
		_ = r.runtime.ContainerEvents(ctx, func(runtime.Event) {
			all := r.containers("main")
			running := 0
			for _, c := range all {
				if c.State == runtime.Running {
					running++
				}
			}
			if running > 1 {
				t.Errorf("two run: %v", all)
			}
			if len(all) == 1 && all[0].Config.Image == until && running == 1 {
				cancel()
			}
		})
		require.NoError(t, t.Context().Err())
	}
	follow("two")
	now := r.until("web-n", func(p *corev1.Pod) bool { return ready(p) && p.Spec.Containers[0].Image == "two" })
	require.NotEqual(t, uid, now.Annotations["kubernetes.io/config.mirror"])

	stop() // the change comes while nobody looks
	m.write("web.yaml", static("three"))
	stop = r.run(m.options)
	require.Equal(t, "three", r.running("three").Config.Image)
	r.until("web-n", func(p *corev1.Pod) bool { return ready(p) && p.Spec.Containers[0].Image == "three" })

	stop() // one that was good, while nobody looks
	m.write("web.yaml", "{")
	before := r.containers("main")
	stop = r.run(m.options)
	r.create(pod("b", func(p *corev1.Pod) { p.Spec.Containers[0].Name = "b" }))
	r.until("b", ready)
	require.Equal(t, before, r.containers("main"))
	stop()
	m.remove("web.yaml")
	m.remove("other.yaml")
	r.run(m.options)
	r.gone("web-n")
}

// TestStaticPodsAlone: static pods need no API server, neither to run nor to end.
func TestStaticPodsAlone(t *testing.T) {
	r, m := newRig(t), newManifests(t)
	r.before.Store(ptr.To(func(*http.Request) error { return errors.New("the server is away") }))
	m.write("web.yaml", static("one"))
	stop := r.run(m.options)
	c := r.running("one")
	require.NoError(t, r.runtime.Exit(c.ID, 1))
	require.Eventually(t, func() bool {
		all := r.containers("main")
		return len(all) == 2 && all[1].State == runtime.Running
	}, long, often)
	m.write("web.yaml", static("two"))
	r.running("two")
	stop()
	m.remove("web.yaml")
	r.run(m.options)
	require.Eventually(t, func() bool { return len(r.containers("main")) == 0 }, long, often)
	m.write("web.yaml", static("three"))
	r.running("three")
	r.before.Store(nil)
	require.Equal(t, "three", r.until("web-n", ready).Spec.Containers[0].Image)
}

// TestStaticPodOfALateNamespace: a static pod is shown once its namespace is there.
func TestStaticPodOfALateNamespace(t *testing.T) {
	r, m := newRig(t), newManifests(t)
	var refused atomic.Int32
	r.before.Store(ptr.To(func(q *http.Request) error {
		if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/namespaces/late/pods") {
			refused.Add(1)
		}
		return nil
	}))
	m.write("web.yaml", strings.Replace(static("one"), `"name":"web"`, `"name":"web","namespace":"late"`, 1))
	r.run(m.options)
	r.running("one")
	require.Eventually(t, func() bool { return refused.Load() > 1 }, long, often)
	_, err := kube.For[*corev1.Namespace](r.cluster).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		p, err := kube.For[*corev1.Pod](r.cluster).Get(context.Background(), listwatch.Key{Namespace: "late", Name: "web-n"})
		return err == nil && ready(p)
	}, long, often)
}

// TestOrphanedMirror: what shows a static pod that there is not is taken away; pods of the API with its name stay.
func TestOrphanedMirror(t *testing.T) {
	r, m := newRig(t), newManifests(t)
	r.create(pod("old", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }))
	made := r.create(pod("web-n", func(p *corev1.Pod) { p.Spec.Containers[0].Name = "own" }))
	m.write("web.yaml", static("one"))
	r.run(m.options)
	r.gone("old")
	r.running("one")
	require.Equal(t, made.UID, r.until("web-n", ready).UID)
	require.Empty(t, r.until("web-n", ready).Annotations)
	require.Len(t, r.containers("own"), 1)
	r.delete("web-n", 0)
	r.until("web-n", func(p *corev1.Pod) bool { return p.UID != made.UID && ready(p) })
}
