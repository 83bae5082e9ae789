package kinds

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

func deploymentColumns() []Column {
	status := appsv1.DeploymentStatus{}.SwaggerDoc()
	columns := nameAnd(
		column("Ready", "Number of the pod with ready state", of(func(d *appsv1.Deployment) any {
			return fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, orZero(d.Spec.Replicas))
		})),
		column("Up-to-date", status["updatedReplicas"], of(func(d *appsv1.Deployment) any { return d.Status.UpdatedReplicas })),
		column("Available", status["availableReplicas"], of(func(d *appsv1.Deployment) any { return d.Status.AvailableReplicas })),
	)
	columns = append(columns, templateColumns(func(o Object) *corev1.PodTemplateSpec { return &o.(*appsv1.Deployment).Spec.Template })...)
	return append(columns, column("Selector", appsv1.DeploymentSpec{}.SwaggerDoc()["selector"], of(func(d *appsv1.Deployment) any {
		return metav1.FormatLabelSelector(d.Spec.Selector)
	})).wide())
}

func replicaSetColumns() []Column {
	spec, status := appsv1.ReplicaSetSpec{}.SwaggerDoc(), appsv1.ReplicaSetStatus{}.SwaggerDoc()
	columns := nameAnd(
		column("Desired", spec["replicas"], of(func(r *appsv1.ReplicaSet) any { return orZero(r.Spec.Replicas) })).as("integer"),
		column("Current", status["replicas"], of(func(r *appsv1.ReplicaSet) any { return r.Status.Replicas })).as("integer"),
		column("Ready", status["readyReplicas"], of(func(r *appsv1.ReplicaSet) any { return r.Status.ReadyReplicas })).as("integer"),
	)
	columns = append(columns, templateColumns(func(o Object) *corev1.PodTemplateSpec { return &o.(*appsv1.ReplicaSet).Spec.Template })...)
	return append(columns, column("Selector", spec["selector"], of(func(r *appsv1.ReplicaSet) any {
		return metav1.FormatLabelSelector(r.Spec.Selector)
	})).wide())
}

func jobColumns() []Column {
	columns := nameAnd(
		column("Status", "Status of the job.", of(jobStatus)),
		column("Completions", batchv1.JobStatus{}.SwaggerDoc()["succeeded"], of(jobCompletions)),
		timed("Duration", "Time required to complete the job.", jobDuration),
	)
	columns = append(columns, templateColumns(func(o Object) *corev1.PodTemplateSpec { return &o.(*batchv1.Job).Spec.Template })...)
	return append(columns, column("Selector", batchv1.JobSpec{}.SwaggerDoc()["selector"], of(func(j *batchv1.Job) any {
		return metav1.FormatLabelSelector(j.Spec.Selector)
	})).wide())
}

func jobStatus(j *batchv1.Job) any {
	is := map[batchv1.JobConditionType]bool{}
	for _, c := range j.Status.Conditions {
		is[c.Type] = c.Status == corev1.ConditionTrue
	}
	switch {
	case is[batchv1.JobComplete]:
		return "Complete"
	case is[batchv1.JobFailed]:
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case is[batchv1.JobSuspended]:
		return "Suspended"
	case is[batchv1.JobFailureTarget]:
		return "FailureTarget"
	case is[batchv1.JobSuccessCriteriaMet]:
		return "SuccessCriteriaMet"
	}
	return "Running"
}

func jobCompletions(j *batchv1.Job) any {
	switch parallel := orZero(j.Spec.Parallelism); {
	case j.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	case parallel > 1:
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, parallel)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func jobDuration(o Object, now time.Time) any {
	j := o.(*batchv1.Job)
	switch {
	case j.Status.StartTime == nil:
		return ""
	case j.Status.CompletionTime != nil:
		return duration.HumanDuration(j.Status.CompletionTime.Sub(j.Status.StartTime.Time))
	}
	return duration.HumanDuration(now.Sub(j.Status.StartTime.Time))
}

func endpointSliceColumns() []Column {
	doc := discoveryv1.EndpointSlice{}.SwaggerDoc()
	return nameAnd(
		column("AddressType", doc["addressType"], of(func(s *discoveryv1.EndpointSlice) any { return string(s.AddressType) })),
		column("Ports", doc["ports"], of(func(s *discoveryv1.EndpointSlice) any {
			var ports []string
			for _, p := range s.Ports {
				if p.Port == nil {
					ports = append(ports, "*")
				} else {
					ports = append(ports, strconv.Itoa(int(*p.Port)))
				}
			}
			return or(atMost(3, ports, moreEndpoints), unset)
		})),
		column("Endpoints", doc["endpoints"], of(func(s *discoveryv1.EndpointSlice) any {
			var all []string
			for _, e := range s.Endpoints {
				all = append(all, e.Addresses...)
			}
			return or(atMost(3, all, moreEndpoints), unset)
		})),
	)
}

func leaseColumns() []Column {
	return nameAnd(column("Holder", coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"], of(func(l *coordinationv1.Lease) any {
		if l.Spec.HolderIdentity == nil {
			return ""
		}
		return *l.Spec.HolderIdentity
	})))
}

func autoscalerColumns() []Column {
	type hpa = *autoscalingv2.HorizontalPodAutoscaler
	spec, status := autoscalingv2.HorizontalPodAutoscalerSpec{}.SwaggerDoc(), autoscalingv2.HorizontalPodAutoscalerStatus{}.SwaggerDoc()
	return nameAnd(
		column("Reference", spec["scaleTargetRef"], of(func(h hpa) any {
			return h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name
		})),
		column("Targets", spec["metrics"], of(autoscalerTargets)),
		column("MinPods", spec["minReplicas"], of(func(h hpa) any {
			if h.Spec.MinReplicas == nil {
				return unset
			}
			return strconv.Itoa(int(*h.Spec.MinReplicas))
		})),
		column("MaxPods", spec["maxReplicas"], of(func(h hpa) any { return h.Spec.MaxReplicas })),
		column("Replicas", status["currentReplicas"], of(func(h hpa) any { return h.Status.CurrentReplicas })),
	)
}

// autoscalerTargets says for each metric what it is and what it should be.
func autoscalerTargets(h *autoscalingv2.HorizontalPodAutoscaler) any {
	var texts []string
	for i, m := range h.Spec.Metrics {
		var is autoscalingv2.MetricStatus
		if i < len(h.Status.CurrentMetrics) {
			is = h.Status.CurrentMetrics[i]
		}
		var name string
		var target autoscalingv2.MetricTarget
		var current *autoscalingv2.MetricValueStatus
		switch {
		case m.Resource != nil:
			name, target = string(m.Resource.Name)+": ", m.Resource.Target
			if is.Resource != nil {
				current = &is.Resource.Current
			}
		case m.ContainerResource != nil:
			name, target = string(m.ContainerResource.Name)+": ", m.ContainerResource.Target
			if is.ContainerResource != nil {
				current = &is.ContainerResource.Current
			}
		case m.Pods != nil:
			target = m.Pods.Target
			if is.Pods != nil {
				current = &is.Pods.Current
			}
		case m.Object != nil:
			target = m.Object.Target
			if is.Object != nil {
				current = &is.Object.Current
			}
		case m.External != nil:
			target = m.External.Target
			if is.External != nil {
				current = &is.External.Current
			}
		}
		texts = append(texts, name+metricText(target, current))
	}
	if len(texts) > 2 {
		texts = append(texts[:2], fmt.Sprintf("%d more...", len(texts)-2))
	}
	return or(strings.Join(texts, ", "), none)
}

func metricText(target autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	is, want, average := unknown, "<auto>", ""
	switch {
	case target.AverageUtilization != nil:
		want = fmt.Sprintf("%d%%", *target.AverageUtilization)
		if current != nil && current.AverageUtilization != nil {
			is = fmt.Sprintf("%d%%", *current.AverageUtilization)
		}
	case target.AverageValue != nil:
		want = target.AverageValue.String()
		if current != nil && current.AverageValue != nil {
			is = current.AverageValue.String()
		}
		if target.Type == autoscalingv2.ValueMetricType {
			average = " (avg)"
		}
	case target.Value != nil:
		want = target.Value.String()
		if current != nil && current.Value != nil {
			is = current.Value.String()
		}
	}
	return is + "/" + want + average
}

func roleBindingColumns() []Column {
	return bindingColumns("roleBinding", "can reference a Role in the current namespace or a ClusterRole in the global namespace", func(o Object) (rbacv1.RoleRef, []rbacv1.Subject) {
		return o.(*rbacv1.RoleBinding).RoleRef, o.(*rbacv1.RoleBinding).Subjects
	})
}

func clusterRoleBindingColumns() []Column {
	return bindingColumns("clusterRoleBinding", "can only reference a ClusterRole in the global namespace", func(o Object) (rbacv1.RoleRef, []rbacv1.Subject) {
		return o.(*rbacv1.ClusterRoleBinding).RoleRef, o.(*rbacv1.ClusterRoleBinding).Subjects
	})
}

func bindingColumns(kind, ref string, parts func(Object) (rbacv1.RoleRef, []rbacv1.Subject)) []Column {
	subjects := func(kind string) func(Object) any {
		return func(o Object) any {
			_, all := parts(o)
			var names []string
			for _, s := range all {
				switch {
				case s.Kind != kind:
				case kind == rbacv1.ServiceAccountKind:
					names = append(names, s.Namespace+"/"+s.Name)
				default:
					names = append(names, s.Name)
				}
			}
			return strings.Join(names, ", ")
		}
	}
	doc := "RoleRef " + ref + ". If the RoleRef cannot be resolved, the Authorizer must return an error."
	return append(nameAnd(column("Role", doc, func(o Object) any {
		ref, _ := parts(o)
		return ref.Kind + "/" + ref.Name
	})),
		column("Users", "Users in the "+kind, subjects(rbacv1.UserKind)).wide(),
		column("Groups", "Groups in the "+kind, subjects(rbacv1.GroupKind)).wide(),
		column("ServiceAccounts", "ServiceAccounts in the "+kind, subjects(rbacv1.ServiceAccountKind)).wide(),
	)
}
