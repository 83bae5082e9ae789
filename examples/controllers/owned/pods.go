package owned

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PodOf returns a new pod of a template, which an owner of that kind controls; the server chooses its name.
func PodOf(template *corev1.PodTemplateSpec, by metav1.Object, kind schema.GroupVersionKind) *corev1.Pod {
	t := template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: by.GetNamespace(), GenerateName: by.GetName() + "-", Labels: t.Labels, Annotations: t.Annotations,
			Finalizers: t.Finalizers, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(by, kind)},
		},
		Spec: t.Spec,
	}
}

// Active reports whether a pod does its work, or will: it has not finished, and is not being deleted.
func Active(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// ReadySince returns since when a pod is ready. It reports false when it isn't.
func ReadySince(p *corev1.Pod) (time.Time, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}
