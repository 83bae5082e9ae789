package story

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// shop is the deployment of the story.
func shop() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	healthy := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: ptr.To[int64](2), Tolerations: []corev1.Toleration{notFor(2, corev1.TaintNodeUnreachable), notFor(2, corev1.TaintNodeNotReady)},
				Containers: []corev1.Container{{
					Name: "web", Image: "builtin/web", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
					ReadinessProbe: &corev1.Probe{ProbeHandler: healthy, PeriodSeconds: 1, FailureThreshold: 1},
					LivenessProbe:  &corev1.Probe{ProbeHandler: healthy, PeriodSeconds: 1, FailureThreshold: 2},
				}},
			}},
		},
	}
}

// notFor lets a pod stay for so many seconds on a node with such a taint.
func notFor(seconds int64, taint string) corev1.Toleration {
	return corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}
}

// door is the service that leads to the deployment.
func door() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}}},
	}
}

// sums is the job of the story.
func sums() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sums"},
		Spec: batchv1.JobSpec{Completions: ptr.To[int32](3), Parallelism: ptr.To[int32](2), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "sum", Image: "builtin/echo", Args: []string{"one", "and", "one"}}},
		}}},
	}
}
