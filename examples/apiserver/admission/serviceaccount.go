package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

const (
	// defaultAccount is the account of who names none.
	defaultAccount = "default"
	// tokenPath is where containers look for the token of their account.
	tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenVolume is what the names of volumes with tokens begin with.
	tokenVolume = "kube-api-access-"
	// tokenSeconds is how long a token lives: an hour, and some seconds by which it is told from those that others
	// asked for.
	tokenSeconds = 3607
	// rootCA is the config map with the certificates that sign the server's.
	rootCA = "kube-root-ca.crt"
)

var pods = kinds.Pods()

// admitServiceAccount gives a new pod an account and, unless somebody said no, the account's token. A mirror pod runs
// already, and has none.
func admitServiceAccount(ctx context.Context, a registry.Admission) error {
	if a.Verb != "create" || a.Subresource != "" || !is(a, pods) {
		return nil
	}
	p := a.Object.(*corev1.Pod)
	s := &p.Spec
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		if s.ServiceAccountName != "" {
			return forbidden(a, "a mirror pod may not reference service accounts")
		}
		return nil
	}
	if s.ServiceAccountName == "" {
		s.ServiceAccountName = defaultAccount
	}
	s.DeprecatedServiceAccount = s.ServiceAccountName
	o, err := a.Registry.Get(ctx, registry.Target{Kind: serviceAccounts, Namespace: a.Namespace, Name: s.ServiceAccountName}, "")
	if apierrors.IsNotFound(err) {
		return forbidden(a, fmt.Sprintf("error looking up service account %s/%s: serviceaccount %q not found",
			a.Namespace, s.ServiceAccountName, s.ServiceAccountName))
	}
	if err != nil {
		return err
	}
	account := o.(*corev1.ServiceAccount)
	if ptr.Deref(s.AutomountServiceAccountToken, ptr.Deref(account.AutomountServiceAccountToken, true)) {
		mountToken(s)
	}
	if len(s.ImagePullSecrets) == 0 {
		s.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
	}
	return nil
}

// mountToken mounts the token of the pod's account in every container that has nothing at its place.
func mountToken(s *corev1.PodSpec) {
	mount := corev1.VolumeMount{ReadOnly: true, MountPath: tokenPath}
	for _, v := range s.Volumes {
		if strings.HasPrefix(v.Name, tokenVolume) {
			mount.Name = v.Name
		}
	}
	known := mount.Name != ""
	if !known {
		mount.Name = tokenVolume + utilrand.String(5)
	}
	used := false
	for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range containers {
			c := &containers[i]
			if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath }) {
				c.VolumeMounts = append(c.VolumeMounts, mount)
				used = true
			}
		}
	}
	if used && !known {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: mount.Name, VolumeSource: tokenSource()})
	}
}

// tokenSource is the token, what to know the server by, and the name of the pod's namespace.
func tokenSource() corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr.To[int64](tokenSeconds), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: rootCA},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
		DefaultMode: ptr.To[int32](corev1.ProjectedVolumeSourceDefaultMode),
	}}
}
