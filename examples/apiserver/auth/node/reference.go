package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// reference is something that a node may read because a pod on it refers to it.
type reference struct {
	node, resource, namespace, name string
}

// referencesOf appends what the node of a pod may read because of it: the pod, its service account, and the secrets
// and config maps of its volumes, its environments and the pulling of its images.
func referencesOf(p *corev1.Pod, to []reference) []reference {
	if p.Spec.NodeName == "" {
		return to
	}
	add := func(resource, name string) {
		if name != "" {
			to = append(to, reference{p.Spec.NodeName, resource, p.Namespace, name})
		}
	}
	add("pods", p.Name)
	if p.Annotations[corev1.MirrorPodAnnotationKey] != "" {
		return to
	}
	add("serviceaccounts", p.Spec.ServiceAccountName)
	for _, s := range p.Spec.ImagePullSecrets {
		add("secrets", s.Name)
	}
	for i := range p.Spec.Volumes {
		ofVolume(&p.Spec.Volumes[i], add)
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		ofEnvironment(c.EnvFrom, c.Env, add)
	}
	for _, c := range p.Spec.EphemeralContainers {
		ofEnvironment(c.EnvFrom, c.Env, add)
	}
	return to
}

func ofVolume(v *corev1.Volume, add func(resource, name string)) {
	if v.Secret != nil {
		add("secrets", v.Secret.SecretName)
	}
	if v.ConfigMap != nil {
		add("configmaps", v.ConfigMap.Name)
	}
	if v.Projected == nil {
		return
	}
	for _, source := range v.Projected.Sources {
		if source.Secret != nil {
			add("secrets", source.Secret.Name)
		}
		if source.ConfigMap != nil {
			add("configmaps", source.ConfigMap.Name)
		}
	}
}

func ofEnvironment(from []corev1.EnvFromSource, variables []corev1.EnvVar, add func(resource, name string)) {
	for _, e := range from {
		if e.SecretRef != nil {
			add("secrets", e.SecretRef.Name)
		}
		if e.ConfigMapRef != nil {
			add("configmaps", e.ConfigMapRef.Name)
		}
	}
	for _, v := range variables {
		if v.ValueFrom == nil {
			continue
		}
		if ref := v.ValueFrom.SecretKeyRef; ref != nil {
			add("secrets", ref.Name)
		}
		if ref := v.ValueFrom.ConfigMapKeyRef; ref != nil {
			add("configmaps", ref.Name)
		}
	}
}

// Trim returns what an [Authorizer] looks at of a pod, so that a store of pods that is for it alone takes less memory.
func Trim(p *corev1.Pod) (*corev1.Pod, error) {
	trimmed := &corev1.Pod{}
	trimmed.Name, trimmed.Namespace, trimmed.UID, trimmed.ResourceVersion = p.Name, p.Namespace, p.UID, p.ResourceVersion
	if mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror != "" {
		trimmed.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: mirror}
	}
	trimmed.Spec = corev1.PodSpec{
		NodeName: p.Spec.NodeName, ServiceAccountName: p.Spec.ServiceAccountName, ImagePullSecrets: p.Spec.ImagePullSecrets,
		Volumes: slices.DeleteFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret == nil && v.ConfigMap == nil && v.Projected == nil }),
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		trimmed.Spec.Containers = append(trimmed.Spec.Containers, corev1.Container{EnvFrom: c.EnvFrom, Env: c.Env})
	}
	for _, c := range p.Spec.EphemeralContainers {
		trimmed.Spec.Containers = append(trimmed.Spec.Containers, corev1.Container{EnvFrom: c.EnvFrom, Env: c.Env})
	}
	return trimmed, nil
}
