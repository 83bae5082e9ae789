package manifest_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/manifest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files are those of a directory of the test.
type files struct {
	*manifest.Dir
	t      *testing.T
	path   string
	logged bytes.Buffer
}

func newFiles(t *testing.T) *files {
	f := &files{t: t, path: t.TempDir()}
	f.Dir = manifest.New(manifest.Options{Path: f.path, Node: "N1", Logger: slog.New(slog.NewTextHandler(&f.logged, nil))})
	return f
}

func (f *files) write(name, text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(filepath.Join(f.path, name), []byte(text), 0o600))
}

func (f *files) remove(name string) {
	f.t.Helper()
	require.NoError(f.t, os.Remove(filepath.Join(f.path, name)))
}

const web = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: i}]}
`

func TestChange(t *testing.T) {
	f := newFiles(t)
	require.False(t, f.Gone("x"))
	require.True(t, f.Read(), "now it is known that there is none")
	require.True(t, f.Gone("x"))
	f.write("web.yaml", web)
	f.write(".web.yaml", web)
	f.write("web.txt", web)
	require.NoError(t, os.Mkdir(filepath.Join(f.path, "dir.yaml"), 0o755))
	require.True(t, f.Read())
	require.Len(t, f.Pods(), 1)
	p := f.Pods()[0]
	require.Equal(t, []string{"default", "web-n1", "N1"}, []string{p.Namespace, p.Name, p.Spec.NodeName})
	require.Equal(t, "file", p.Annotations["kubernetes.io/config.source"])
	require.Equal(t, corev1.RestartPolicyAlways, p.Spec.RestartPolicy)
	require.Same(t, p, f.Pod(p.UID))
	require.Same(t, p, f.Named(listwatch.Key{Namespace: "default", Name: "web-n1"}))

	f.write("web.yaml", "# the same\n---\n"+web)
	require.False(t, f.Read())
	require.Equal(t, p, f.Pod(p.UID))
	f.write("web.yaml", strings.Replace(web, "image: i", "image: j", 1))
	require.True(t, f.Read())
	require.Nil(t, f.Pod(p.UID))
	require.Equal(t, "j", f.Pods()[0].Spec.Containers[0].Image)
	f.write("web.yaml", web)
	require.True(t, f.Read())
	require.Equal(t, p, f.Pod(p.UID), "the same again")
	require.NoError(t, os.Rename(filepath.Join(f.path, "web.yaml"), filepath.Join(f.path, "other.yaml")))
	require.True(t, f.Read())
	require.Nil(t, f.Pod(p.UID))
	f.remove("other.yaml")
	require.True(t, f.Read())
	require.Empty(t, f.Pods())
	require.Empty(t, f.logged.String())
	f.write("web.yaml", web)
	require.True(t, f.Read())
	require.False(t, f.Gone(p.UID))
	f.remove("web.yaml")
	f.write("bad.yaml", "{")
	require.True(t, f.Read())
	require.True(t, f.Gone(p.UID), "a bad file beside it is another")
	require.False(t, f.Gone("x"))
}

func TestBadFiles(t *testing.T) {
	spec := func(s string) string { return strings.Replace(web, "containers: [{name: c, image: i}]", s, 1) }
	for bad, why := range map[string]string{
		"":         "it says nothing",
		"# none\n": "it says nothing",
		"kind: [":  "did not find expected node content",
		strings.Replace(web, "kind: Pod", "kind: Job", 1):                                          "it is Job",
		web + "surprise: yes\n":                                                                    "unknown field",
		web + "---" + web:                                                                          "more than one thing",
		strings.Replace(web, "name: web", "name: ../web", 1):                                       `name \"../web\"`,
		strings.Replace(web, "name: web", "name: web, namespace: ../x", 1):                         `namespace \"../x\"`,
		spec("containers: []"):                                                                     "there is no container",
		spec("containers: [{name: c}]"):                                                            "no image",
		spec("containers: [{name: a/b, image: i}]"):                                                `container \"a/b\"`,
		spec("containers: [{name: c, image: i}, {name: c, image: i}]"):                             "the name of another",
		spec("volumes: [{name: .., emptyDir: {}}], containers: [{name: c, image: i}]"):             `volume \"..\"`,
		spec("volumes: [{name: v, secret: {}}], containers: [{name: c, image: i}]"):                "what volume v holds",
		spec("serviceAccountName: x, containers: [{name: c, image: i}]"):                           "a service account",
		spec("imagePullSecrets: [{name: x}], containers: [{name: c, image: i}]"):                   "a secret",
		spec("containers: [{name: c, image: i, envFrom: [{configMapRef: {name: x}}]}]"):            "an environment",
		spec("containers: [{name: c, image: i, env: [{name: A, valueFrom: {secretKeyRef: {}}}]}]"): "variable A",
		spec("nodeName: elsewhere, containers: [{name: c, image: i}]"):                             `the node \"elsewhere\"`,
	} {
		f := newFiles(t)
		f.write("b.yaml", bad)
		f.write("good.yaml", strings.Replace(web, "name: web", "name: good", 1))
		require.True(t, f.Read(), bad)
		require.Len(t, f.Pods(), 1, bad)
		require.False(t, f.Gone("x"), "it may be one that runs")
		require.Contains(t, f.logged.String(), why)
		f.logged.Reset()
		require.False(t, f.Read())
		require.Empty(t, f.logged.String(), "that is known")
		f.write("b.yaml", web)
		require.True(t, f.Read())
		require.Len(t, f.Pods(), 2)
		require.True(t, f.Gone("x"))
		f.write("b.yaml", bad)
		require.False(t, f.Read())
		require.Len(t, f.Pods(), 2, "what it was stays")
		require.Contains(t, f.logged.String(), why)
		f.remove("b.yaml")
		require.True(t, f.Read())
		require.Len(t, f.Pods(), 1)
	}
}

func TestDirectoryGoes(t *testing.T) {
	f := newFiles(t)
	f.write("web.json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	require.True(t, f.Read())
	require.NoError(t, os.Rename(f.path, f.path+"-away"))
	require.False(t, f.Read())
	require.Len(t, f.Pods(), 1)
	require.Contains(t, f.logged.String(), "no such file or directory")
	require.NoError(t, os.Rename(f.path+"-away", f.path))
	require.False(t, f.Read())
	require.Len(t, f.Pods(), 1)
	none := manifest.New(manifest.Options{Path: filepath.Join(f.path, "none"), Node: "n"})
	require.False(t, none.Read())
	require.False(t, none.Gone("x"))
}

func TestTwoOfAName(t *testing.T) {
	f := newFiles(t)
	f.write("b.yaml", web)
	require.True(t, f.Read())
	first := f.Pods()[0]
	f.write("c.yaml", strings.Replace(web, "image: i", "image: j", 1))
	require.False(t, f.Read())
	require.Equal(t, []*corev1.Pod{first}, f.Pods())
	require.Contains(t, f.logged.String(), "file=c.yaml error=\"another file has a pod of that name\"")
	f.logged.Reset()
	require.False(t, f.Read())
	require.Empty(t, f.logged.String())
	f.remove("b.yaml")
	require.True(t, f.Read())
	require.Equal(t, "j", f.Pods()[0].Spec.Containers[0].Image)
}

func TestMirror(t *testing.T) {
	p, err := manifest.Parse("web.yaml", []byte(web), "n1")
	require.NoError(t, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u"}}
	m := manifest.Mirror(p, node)
	require.Empty(t, m.UID)
	require.Equal(t, string(p.UID), m.Annotations["kubernetes.io/config.mirror"])
	uid, ok := manifest.Mirrors(m)
	require.True(t, ok)
	require.Equal(t, p.UID, uid)
	_, ok = manifest.Mirrors(p)
	require.False(t, ok)
	require.True(t, metav1.IsControlledBy(m, node))
	require.True(t, manifest.Shows(m, p, node))
	for what, change := range map[string]func(*corev1.Pod){
		"another file": func(m *corev1.Pod) { m.Annotations["kubernetes.io/config.mirror"] = "x" },
		"deleted":      func(m *corev1.Pod) { m.DeletionTimestamp = &metav1.Time{} },
		"spec":         func(m *corev1.Pod) { m.Generation = 2 },
		"labels":       func(m *corev1.Pod) { m.Labels = map[string]string{"a": "b"} },
		"owner":        func(m *corev1.Pod) { m.OwnerReferences[0].UID = "other" },
		"source":       func(m *corev1.Pod) { delete(m.Annotations, "kubernetes.io/config.source") },
	} {
		changed := m.DeepCopy()
		change(changed)
		require.False(t, manifest.Shows(changed, p, node), what)
	}
}
