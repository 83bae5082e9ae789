package serviceaccount_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/certs"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/serviceaccount"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority returns the certificate of one, as PEM.
func authority(t *testing.T) string {
	dir := t.TempDir()
	_, err := certs.Open(dir, clock.New())
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	require.NoError(t, err)
	return string(data)
}

// believing is the controller with a connection that believes an authority, though the server has none.
func believing(t *testing.T, authority string) control.Make {
	return func(env control.Env) (control.Controller, error) {
		_, address := env.Cluster.HTTP()
		cluster, err := kube.Connect(&clientrest.Config{Host: address.String(), TLSClientConfig: clientrest.TLSClientConfig{CAData: []byte(authority)}})
		if err != nil {
			return control.Controller{}, err
		}
		t.Cleanup(cluster.Close)
		env.Cluster = cluster
		return serviceaccount.New(env)
	}
}

func TestEachNamespace(t *testing.T) {
	w := controltest.New(t, serviceaccount.New)
	accounts := controltest.Watch[*corev1.ServiceAccount](w)
	accounts.One("default", func(*corev1.ServiceAccount) bool { return true })
	namespaces := kube.For[*corev1.Namespace](w.Cluster)
	_, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}})
	require.NoError(t, err)
	accounts.Until(func(all []*corev1.ServiceAccount) bool { return len(all) == 2 })
	maps := controltest.Watch[*corev1.ConfigMap](w)
	maps.Until(func(all []*corev1.ConfigMap) bool { return len(all) == 0 }) // there is no authority
}

func TestTakenAway(t *testing.T) {
	w := controltest.New(t, serviceaccount.New)
	accounts := controltest.Watch[*corev1.ServiceAccount](w)
	first := accounts.One("default", func(*corev1.ServiceAccount) bool { return true })
	controltest.Delete[*corev1.ServiceAccount](w, "default")
	accounts.One("default", func(a *corev1.ServiceAccount) bool { return a.UID != first.UID })
}

func TestRoots(t *testing.T) {
	authority := authority(t)
	w := controltest.New(t, believing(t, authority))
	maps := controltest.Watch[*corev1.ConfigMap](w)
	right := func(m *corev1.ConfigMap) bool { return m.Data["ca.crt"] == authority && len(m.Data) == 1 }
	first := maps.One("kube-root-ca.crt", right)
	controltest.Merge[*corev1.ConfigMap](w, first.Name, "", map[string]any{"data": map[string]any{"ca.crt": "others", "more": "x"}})
	maps.One(first.Name, func(m *corev1.ConfigMap) bool { return right(m) && m.ResourceVersion != first.ResourceVersion })
	controltest.Delete[*corev1.ConfigMap](w, first.Name)
	maps.One(first.Name, func(m *corev1.ConfigMap) bool { return right(m) && m.UID != first.UID })
}

// A namespace on its way out gets nothing more, or it would never be gone.
func TestTerminating(t *testing.T) {
	w := controltest.New(t, serviceaccount.New)
	namespaces := kube.For[*corev1.Namespace](w.Cluster)
	made, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going"}})
	require.NoError(t, err)
	accounts := controltest.Watch[*corev1.ServiceAccount](w)
	accounts.Until(func(all []*corev1.ServiceAccount) bool { return len(all) == 2 })
	require.NoError(t, namespaces.Delete(t.Context(), listwatch.KeyOf(made), metav1.DeleteOptions{}))
	at := listwatch.Key{Namespace: "going", Name: "default"}
	require.NoError(t, kube.For[*corev1.ServiceAccount](w.Cluster).Delete(t.Context(), at, metav1.DeleteOptions{}))
	accounts.Until(func(all []*corev1.ServiceAccount) bool { return len(all) == 1 })
	_, err = namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "last"}})
	require.NoError(t, err)
	all := accounts.Until(func(all []*corev1.ServiceAccount) bool { return len(all) == 2 })
	for _, a := range all {
		require.NotEqual(t, "going", a.Namespace)
	}
}
