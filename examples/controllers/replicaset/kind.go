package replicaset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

// kind is what the core knows of a kind.
type kind[T kube.Object] struct {
	schema.GroupVersionKind
	// name is that of the controller.
	name string
	// view says what an object wants and reports.
	view func(T) (view, error)
	// withStatus returns a copy of an object with another status.
	withStatus func(T, appsv1.ReplicaSetStatus) T
}

// view is an object as the core sees it. Its parts are shared.
type view struct {
	replicas, minReadySeconds int32
	selector                  labels.Selector
	template                  *corev1.PodTemplateSpec
	status                    appsv1.ReplicaSetStatus
}

// New makes the controller of ReplicaSets. It returns an error when an informer can't be had.
func New(env control.Env) (control.Controller, error) {
	return newController(env, kind[*appsv1.ReplicaSet]{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), name: "replicaset",
		view: func(r *appsv1.ReplicaSet) (view, error) {
			selector, err := metav1.LabelSelectorAsSelector(r.Spec.Selector)
			return view{ptr.Deref(r.Spec.Replicas, 1), r.Spec.MinReadySeconds, selector, &r.Spec.Template, r.Status}, err
		},
		withStatus: func(r *appsv1.ReplicaSet, s appsv1.ReplicaSetStatus) *appsv1.ReplicaSet {
			r = r.DeepCopy()
			r.Status = s
			return r
		},
	})
}

// NewReplicationController makes the controller of ReplicationControllers. It returns an error when an informer can't be
// had.
func NewReplicationController(env control.Env) (control.Controller, error) {
	return newController(env, kind[*corev1.ReplicationController]{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ReplicationController"), name: "replicationcontroller",
		view: func(r *corev1.ReplicationController) (view, error) {
			s, template := r.Status, r.Spec.Template
			if template == nil {
				template = &corev1.PodTemplateSpec{}
			}
			status := appsv1.ReplicaSetStatus{
				Replicas: s.Replicas, FullyLabeledReplicas: s.FullyLabeledReplicas, ReadyReplicas: s.ReadyReplicas,
				AvailableReplicas: s.AvailableReplicas, ObservedGeneration: s.ObservedGeneration,
			}
			for _, c := range s.Conditions {
				status.Conditions = append(status.Conditions, appsv1.ReplicaSetCondition{
					Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime,
					Reason: c.Reason, Message: c.Message,
				})
			}
			return view{ptr.Deref(r.Spec.Replicas, 1), r.Spec.MinReadySeconds, labels.SelectorFromSet(r.Spec.Selector), template, status}, nil
		},
		withStatus: func(r *corev1.ReplicationController, s appsv1.ReplicaSetStatus) *corev1.ReplicationController {
			r = r.DeepCopy()
			r.Status = corev1.ReplicationControllerStatus{
				Replicas: s.Replicas, FullyLabeledReplicas: s.FullyLabeledReplicas, ReadyReplicas: s.ReadyReplicas,
				AvailableReplicas: s.AvailableReplicas, ObservedGeneration: s.ObservedGeneration,
			}
			for _, c := range s.Conditions {
				r.Status.Conditions = append(r.Status.Conditions, corev1.ReplicationControllerCondition{
					Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status,
					LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
				})
			}
			return r
		},
	})
}
