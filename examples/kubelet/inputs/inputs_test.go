package inputs_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/kubelet/inputs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source has config maps and secrets by name.
type source struct{ maps, secrets map[string]map[string]string }

func (s *source) ConfigMap(_ context.Context, _ *corev1.Pod, name string) (*corev1.ConfigMap, error) {
	if data, ok := s.maps[name]; ok {
		return &corev1.ConfigMap{Data: data}, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
}

func (s *source) Secret(_ context.Context, _ *corev1.Pod, name string) (*corev1.Secret, error) {
	data, ok := s.secrets[name]
	if !ok {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	secret := &corev1.Secret{Data: map[string][]byte{}}
	for k, v := range data {
		secret.Data[k] = []byte(v)
	}
	return secret, nil
}

func (s *source) Token(_ context.Context, p *corev1.Pod, of *corev1.ServiceAccountTokenProjection) (string, error) {
	return "token of " + p.Name + " for " + of.Audience, nil
}

func newInputs(t *testing.T) (*inputs.Inputs, *source) {
	s := &source{maps: map[string]map[string]string{"m": {"k": "v", "l": "w"}}, secrets: map[string]map[string]string{"s": {"p": "q"}}}
	p := &corev1.Pod{}
	p.Name, p.Namespace, p.UID, p.Labels = "web", "default", "u", map[string]string{"app": "x", "tier": "y"}
	p.Spec.NodeName = "n"
	return &inputs.Inputs{Pod: p, Source: s, Dir: t.TempDir(), HostIP: "127.0.0.1", PodIP: "10.244.0.2",
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}, s
}

func named(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

func TestEnv(t *testing.T) {
	in, _ := newInputs(t)
	env, err := in.Env(t.Context(), &corev1.Container{
		EnvFrom: []corev1.EnvFromSource{{Prefix: "M_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("m")}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("s")}}},
		Env: []corev1.EnvVar{{Name: "M_l", Value: "later"}, {Name: "A", Value: "<$(M_k)> $$(M_k) $(NONE) $"},
			{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
			{Name: "P", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("s"), Key: "p"}}}},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"A=<v> $(M_k) $(NONE) $", "IP=10.244.0.2", "M_k=v", "M_l=later", "P=q", "p=q"}, env)
}

func TestField(t *testing.T) {
	in, _ := newInputs(t)
	for path, expected := range map[string]string{
		"metadata.name": "web", "metadata.uid": "u", "spec.nodeName": "n", "status.hostIP": "127.0.0.1",
		"metadata.labels": "app=\"x\"\ntier=\"y\"", "metadata.labels['tier']": "y",
	} {
		value, err := in.Field(path)
		require.NoError(t, err)
		require.Equal(t, expected, value, path)
	}
	_, err := in.Field("spec.secret")
	require.ErrorContains(t, err, "spec.secret")
}

func TestResource(t *testing.T) {
	in, _ := newInputs(t)
	c := &corev1.Container{}
	c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("3Mi")}
	for name, expected := range map[string]string{"requests.cpu": "2", "limits.cpu": "4", "requests.memory": "3145728"} {
		value, err := in.Resource(&corev1.ResourceFieldSelector{Resource: name}, c)
		require.NoError(t, err)
		require.Equal(t, expected, value, name)
	}
	value, err := in.Resource(&corev1.ResourceFieldSelector{Resource: "requests.cpu", Divisor: resource.MustParse("1m")}, c)
	require.NoError(t, err)
	require.Equal(t, "1500", value)
}

func read(t *testing.T, in *inputs.Inputs, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(in.Dir, path))
	require.NoError(t, err)
	return string(data)
}

func volume(name string, s corev1.VolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: s}
}

func TestVolumes(t *testing.T) {
	in, _ := newInputs(t)
	in.Pod.Spec.Volumes = []corev1.Volume{
		volume("m", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("m"), Items: []corev1.KeyToPath{{Key: "k", Path: "a/b"}}}}),
		volume("s", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: ptr.To[int32](0o400)}}),
		volume("e", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
		volume("t", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "api"}}}}}),
		volume("o", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("none"), Optional: ptr.To(true)}}),
	}
	require.NoError(t, in.Volumes(t.Context()))
	require.Equal(t, "v", read(t, in, "m/a/b"))
	require.Equal(t, "q", read(t, in, "s/p"))
	require.Equal(t, "token of web for api", read(t, in, "t/token"))
	info, err := os.Stat(filepath.Join(in.Dir, "s/p"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o400), info.Mode())
	mounts, err := in.Mounts(&corev1.Container{VolumeMounts: []corev1.VolumeMount{{Name: "e", MountPath: "/e", SubPathExpr: "$(X)", ReadOnly: true}}}, []string{"X=sub"})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(in.Dir, "e/sub"), mounts[0].HostPath)
	require.True(t, mounts[0].ReadOnly)
}

func TestVolumesFollow(t *testing.T) {
	in, s := newInputs(t)
	in.Pod.Spec.Volumes = []corev1.Volume{volume("m", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("m")}})}
	current := func() string {
		require.NoError(t, in.Volumes(t.Context()))
		link, err := os.Readlink(filepath.Join(in.Dir, "m/..data"))
		require.NoError(t, err)
		return link
	}
	first := current()
	require.Equal(t, first, current())
	s.maps["m"] = map[string]string{"k": "new", "z": "added"}
	require.NotEqual(t, first, current())
	require.Equal(t, "new", read(t, in, "m/k"))
	require.Equal(t, "added", read(t, in, "m/z"))
	require.NoFileExists(t, filepath.Join(in.Dir, "m/l"))
	require.NoDirExists(t, filepath.Join(in.Dir, "m", first))
}

func TestMissing(t *testing.T) {
	in, _ := newInputs(t)
	ref := func(name, key string, optional bool) *corev1.Container {
		return &corev1.Container{Env: []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named(name), Key: key, Optional: &optional}}}}}
	}
	_, err := in.Env(t.Context(), ref("none", "k", false))
	require.ErrorContains(t, err, `"none" not found`)
	_, err = in.Env(t.Context(), ref("m", "nokey", false))
	require.ErrorContains(t, err, `"nokey"`)
	for _, name := range []string{"none", "m"} {
		env, err := in.Env(t.Context(), ref(name, "nokey", true))
		require.NoError(t, err)
		require.Empty(t, env)
	}
	_, err = in.Mounts(&corev1.Container{VolumeMounts: []corev1.VolumeMount{{Name: "gone"}}}, nil)
	require.ErrorContains(t, err, `"gone"`)
}

func TestPathsStayInside(t *testing.T) {
	in, _ := newInputs(t)
	for _, path := range []string{"../x", "/x", "..data", "a/../../x"} {
		in.Pod.Spec.Volumes = []corev1.Volume{volume("m", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: named("m"), Items: []corev1.KeyToPath{{Key: "k", Path: path}}}})}
		require.ErrorContains(t, in.Volumes(t.Context()), "leads out", path)
	}
	in.Pod.Spec.Volumes = []corev1.Volume{volume("e", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})}
	_, err := in.Mounts(&corev1.Container{VolumeMounts: []corev1.VolumeMount{{Name: "e", SubPath: "../other"}}}, nil)
	require.ErrorContains(t, err, "leads out")
}
