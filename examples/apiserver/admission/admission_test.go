package admission_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/admission"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a registry with rules, and the namespace "default".
type cluster struct {
	*testing.T
	*registry.Registry
}

func newCluster(t *testing.T, rules admission.Rules) cluster {
	t.Helper()
	server, err := etcd.Start(t.Context(), etcd.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	store, err := storage.New(server.Client(), storage.Options{})
	require.NoError(t, err)
	r := registry.New(store, registry.Options{Admit: rules.Admit, Reserve: rules.Reserve})
	t.Cleanup(r.Close)
	require.NoError(t, r.Ensure(t.Context(), registry.Target{Kind: kinds.Namespaces(), Name: "default"}))
	return cluster{t, r}
}

// at is an object of a kind in the namespace "default", where the kind has namespaces.
func at(k *kinds.Kind, name string) registry.Target {
	t := registry.Target{Kind: k, Name: name}
	if k.Namespaced {
		t.Namespace = "default"
	}
	return t
}

// read makes an object of its JSON.
func read(t *testing.T, k *kinds.Kind, text string) kinds.Object {
	t.Helper()
	o := k.Empty(false)
	require.NoError(t, json.Unmarshal([]byte(text), o), text)
	return o
}

func (c cluster) create(ctx context.Context, k *kinds.Kind, text string) (kinds.Object, error) {
	c.Helper()
	return c.Create(ctx, at(k, ""), read(c.T, k, text), metav1.CreateOptions{})
}

// make creates what must be possible.
func (c cluster) make(k *kinds.Kind, text string) kinds.Object {
	c.Helper()
	o, err := c.create(c.Context(), k, text)
	require.NoError(c, err)
	return o
}

// refused checks the message of an error; "" is for none.
func refused(t *testing.T, message string, err error) {
	t.Helper()
	if message == "" {
		require.NoError(t, err)
		return
	}
	require.EqualError(t, err, message)
}

func TestNamespaces(t *testing.T) {
	c := newCluster(t, admission.Rules{})
	for _, name := range []string{"kube-system", "kube-public", "going", "other"} {
		require.NoError(t, c.Ensure(t.Context(), registry.Target{Kind: kinds.Namespaces(), Name: name}))
	}
	for name, message := range map[string]string{
		"default":     `namespaces "default" is forbidden: this namespace may not be deleted`,
		"kube-system": `namespaces "kube-system" is forbidden: this namespace may not be deleted`,
		"kube-public": `namespaces "kube-public" is forbidden: this namespace may not be deleted`,
		"going":       "",
		"missing":     `namespaces "missing" not found`,
	} {
		_, _, err := c.Delete(t.Context(), registry.Target{Kind: kinds.Namespaces(), Name: name}, metav1.DeleteOptions{})
		refused(t, message, err)
	}
	for namespace, message := range map[string]string{
		"other":   "",
		"missing": `namespaces "missing" not found`,
		"going":   `configmaps "c" is forbidden: unable to create new content in namespace going because it is being terminated`,
	} {
		_, err := c.Create(t.Context(), registry.Target{Kind: kinds.ConfigMaps(), Namespace: namespace},
			read(t, kinds.ConfigMaps(), `{"metadata":{"name":"c"}}`), metav1.CreateOptions{})
		refused(t, message, err)
	}
}

func TestServiceAccounts(t *testing.T) {
	c := newCluster(t, admission.Rules{ServiceAccounts: true})
	pod := func(name, meta, spec string) string {
		return `{"metadata":{"name":"` + name + `"` + meta + `},"spec":{"containers":[{"name":"c","image":"i"}]` + spec + `}}`
	}
	_, err := c.create(t.Context(), kinds.Pods(), pod("early", "", ""))
	refused(t, `pods "early" is forbidden: error looking up service account default/default: serviceaccount "default" not found`, err)
	c.make(kinds.ServiceAccounts(), `{"metadata":{"name":"default"},"imagePullSecrets":[{"name":"key"}]}`)
	c.make(kinds.ServiceAccounts(), `{"metadata":{"name":"quiet"},"automountServiceAccountToken":false}`)
	mirror := `,"annotations":{"kubernetes.io/config.mirror":"x"}`
	for name, want := range map[string]struct {
		meta, spec, account string
		token               bool
		message             string
	}{
		"plain":        {account: "default", token: true},
		"init":         {spec: `,"initContainers":[{"name":"i","image":"i"}]`, account: "default", token: true},
		"no":           {spec: `,"automountServiceAccountToken":false`, account: "default"},
		"quiet":        {spec: `,"serviceAccountName":"quiet"`, account: "quiet"},
		"quiet-but":    {spec: `,"serviceAccountName":"quiet","automountServiceAccountToken":true`, account: "quiet", token: true},
		"old-name":     {spec: `,"serviceAccount":"quiet"`, account: "quiet"},
		"missing":      {spec: `,"serviceAccountName":"nobody"`, message: `pods "missing" is forbidden: error looking up service account default/nobody: serviceaccount "nobody" not found`},
		"mirror":       {meta: mirror},
		"mirror-of":    {meta: mirror, spec: `,"serviceAccountName":"quiet"`, message: `pods "mirror-of" is forbidden: a mirror pod may not reference service accounts`},
		"its-own-keys": {spec: `,"imagePullSecrets":[{"name":"mine"}]`, account: "default", token: true},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := c.create(t.Context(), kinds.Pods(), pod(name, want.meta, want.spec))
			refused(t, want.message, err)
			if err != nil {
				return
			}
			s := o.(*corev1.Pod).Spec
			require.Equal(t, want.account, s.ServiceAccountName)
			require.Equal(t, want.account, s.DeprecatedServiceAccount)
			switch {
			case name == "its-own-keys":
				require.Equal(t, []corev1.LocalObjectReference{{Name: "mine"}}, s.ImagePullSecrets)
			case want.account == "default":
				require.Equal(t, []corev1.LocalObjectReference{{Name: "key"}}, s.ImagePullSecrets)
			}
			if !want.token {
				require.Empty(t, s.Volumes)
				require.Empty(t, s.Containers[0].VolumeMounts)
				return
			}
			require.Len(t, s.Volumes, 1)
			require.Regexp(t, "^kube-api-access-[a-z0-9]{5}$", s.Volumes[0].Name)
			for _, container := range append(s.Containers, s.InitContainers...) {
				require.Equal(t, []corev1.VolumeMount{{
					Name: s.Volumes[0].Name, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
				}}, container.VolumeMounts)
			}
			volume, err := json.Marshal(s.Volumes[0].Projected)
			require.NoError(t, err)
			require.JSONEq(t, `{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},
				{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},
				{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],
				"defaultMode":420}`, string(volume))
		})
	}
}

// What a pod has at the place of the token stays, and its own volume for it is used.
func TestTokenThatIsThere(t *testing.T) {
	c := newCluster(t, admission.Rules{ServiceAccounts: true})
	c.make(kinds.ServiceAccounts(), `{"metadata":{"name":"default"}}`)
	const path = "/var/run/secrets/kubernetes.io/serviceaccount"
	own := c.make(kinds.Pods(), `{"metadata":{"name":"own"},"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[
		{"name":"c","image":"i","volumeMounts":[{"name":"v","mountPath":"`+path+`"}]}]}}`).(*corev1.Pod)
	require.Len(t, own.Spec.Volumes, 1)
	require.Equal(t, []corev1.VolumeMount{{Name: "v", MountPath: path}}, own.Spec.Containers[0].VolumeMounts)
	named := c.make(kinds.Pods(), `{"metadata":{"name":"named"},"spec":{"volumes":[{"name":"kube-api-access-mine","emptyDir":{}}],
		"containers":[{"name":"c","image":"i"}]}}`).(*corev1.Pod)
	require.Len(t, named.Spec.Volumes, 1)
	require.Equal(t, "kube-api-access-mine", named.Spec.Containers[0].VolumeMounts[0].Name)
}

// Without the rule a pod stays as it is.
func TestServiceAccountsAreAskedFor(t *testing.T) {
	c := newCluster(t, admission.Rules{})
	p := c.make(kinds.Pods(), `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`).(*corev1.Pod)
	require.Empty(t, p.Spec.ServiceAccountName)
	require.Empty(t, p.Spec.Volumes)
	require.Equal(t, ptr.To[int64](30), p.Spec.TerminationGracePeriodSeconds)
}
