package kinds

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	pathsegment "k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Deployments returns the row of apps/v1 Deployments.
func Deployments() *Kind {
	return typed[appsv1.Deployment](appsv1.SchemeGroupVersion, Kind{
		Columns:  deploymentColumns(),
		Resource: "deployments", ShortNames: []string{"deploy"}, Categories: all, Namespaced: true,
		Default: on(defaultDeployment), Check: of(checkDeployment), Spec: specOf,
		CheckUpdate: fixed(spec("selector"), func(d *appsv1.Deployment) any { return d.Spec.Selector }),
		Scale: of(func(d *appsv1.Deployment) Scale {
			return scaleOf(&d.Spec.Replicas, d.Status.Replicas, d.Spec.Selector)
		}),
	})
}

// ReplicaSets returns the row of apps/v1 ReplicaSets.
func ReplicaSets() *Kind {
	return typed[appsv1.ReplicaSet](appsv1.SchemeGroupVersion, Kind{
		Columns:  replicaSetColumns(),
		Resource: "replicasets", ShortNames: []string{"rs"}, Categories: all, Namespaced: true,
		Default: on(defaultReplicaSet), Check: of(checkReplicaSet), Spec: specOf,
		CheckUpdate: fixed(spec("selector"), func(r *appsv1.ReplicaSet) any { return r.Spec.Selector }),
		Fields: of(func(r *appsv1.ReplicaSet) map[string]string {
			return map[string]string{"status.replicas": strconv.Itoa(int(r.Status.Replicas))}
		}),
		Scale: of(func(r *appsv1.ReplicaSet) Scale {
			return scaleOf(&r.Spec.Replicas, r.Status.Replicas, r.Spec.Selector)
		}),
	})
}

// Jobs returns the row of batch/v1 Jobs.
func Jobs() *Kind {
	return typed[batchv1.Job](batchv1.SchemeGroupVersion, Kind{
		Columns:  jobColumns(),
		Resource: "jobs", Categories: all, Namespaced: true, Orphans: true,
		Default: on(defaultJob), Prepare: both(prepareJob), Check: of(checkJob), CheckUpdate: changes(changeJob), Spec: specOf,
		Fields: of(func(j *batchv1.Job) map[string]string {
			return map[string]string{"status.successful": strconv.Itoa(int(j.Status.Succeeded))}
		}),
	})
}

// HorizontalPodAutoscalers returns the row of autoscaling/v2 HorizontalPodAutoscalers.
func HorizontalPodAutoscalers() *Kind {
	return typed[autoscalingv2.HorizontalPodAutoscaler](autoscalingv2.SchemeGroupVersion, Kind{
		Columns:  autoscalerColumns(),
		Resource: "horizontalpodautoscalers", ShortNames: []string{"hpa"}, Categories: all, Namespaced: true,
		Default: on(defaultHorizontalPodAutoscaler), Check: of(checkHorizontalPodAutoscaler),
	})
}

// Leases returns the row of coordination.k8s.io/v1 Leases.
func Leases() *Kind {
	return typed[coordinationv1.Lease](coordinationv1.SchemeGroupVersion, Kind{
		Columns:  leaseColumns(),
		Resource: "leases", Namespaced: true, CreateOnUpdate: true})
}

// EndpointSlices returns the row of discovery.k8s.io/v1 EndpointSlices.
func EndpointSlices() *Kind {
	return typed[discoveryv1.EndpointSlice](discoveryv1.SchemeGroupVersion, Kind{
		Columns:  endpointSliceColumns(),
		Resource: "endpointslices", Namespaced: true, Default: on(defaultEndpointSlice),
		CheckUpdate: fixed(field.NewPath("addressType"), func(s *discoveryv1.EndpointSlice) any { return s.AddressType }),
		Spec: of(func(s *discoveryv1.EndpointSlice) any {
			return []any{s.AddressType, s.Endpoints, s.Ports}
		}),
	})
}

// pathName says what is wrong with a name that need be no more than a part of a path.
func pathName(name string, _ bool) []string { return pathsegment.IsPathSegmentName(name) }

// Roles returns the row of rbac.authorization.k8s.io/v1 Roles.
func Roles() *Kind {
	return typed[rbacv1.Role](rbacv1.SchemeGroupVersion, Kind{
		Resource: "roles", Namespaced: true, Name: pathName,
		Check: of(func(r *rbacv1.Role) field.ErrorList { return checkRules(r.Rules) })})
}

// ClusterRoles returns the row of rbac.authorization.k8s.io/v1 ClusterRoles.
func ClusterRoles() *Kind {
	return typed[rbacv1.ClusterRole](rbacv1.SchemeGroupVersion, Kind{
		Resource: "clusterroles", Name: pathName,
		Check: of(func(r *rbacv1.ClusterRole) field.ErrorList { return checkRules(r.Rules) })})
}

// RoleBindings returns the row of rbac.authorization.k8s.io/v1 RoleBindings.
func RoleBindings() *Kind {
	return typed[rbacv1.RoleBinding](rbacv1.SchemeGroupVersion, Kind{
		Columns:  roleBindingColumns(),
		Resource: "rolebindings", Namespaced: true, Name: pathName,
		Default:     on(func(b *rbacv1.RoleBinding) { defaultRef(&b.RoleRef, b.Subjects) }),
		Check:       of(func(b *rbacv1.RoleBinding) field.ErrorList { return checkBinding(b.RoleRef, b.Subjects) }),
		CheckUpdate: changes(func(next, old *rbacv1.RoleBinding) field.ErrorList { return changeRoleRef(next.RoleRef, old.RoleRef) }),
	})
}

// ClusterRoleBindings returns the row of rbac.authorization.k8s.io/v1 ClusterRoleBindings.
func ClusterRoleBindings() *Kind {
	return typed[rbacv1.ClusterRoleBinding](rbacv1.SchemeGroupVersion, Kind{
		Columns:  clusterRoleBindingColumns(),
		Resource: "clusterrolebindings", Name: pathName,
		Default: on(func(b *rbacv1.ClusterRoleBinding) { defaultRef(&b.RoleRef, b.Subjects) }),
		Check:   of(func(b *rbacv1.ClusterRoleBinding) field.ErrorList { return checkBinding(b.RoleRef, b.Subjects) }),
		CheckUpdate: changes(func(next, old *rbacv1.ClusterRoleBinding) field.ErrorList {
			return changeRoleRef(next.RoleRef, old.RoleRef)
		}),
	})
}

// Scales returns the row of autoscaling/v1 Scales, which are what the scale subresource shows of
// other kinds. It stands in no table.
func Scales() *Kind {
	return typed[autoscalingv1.Scale](autoscalingv1.SchemeGroupVersion, Kind{Resource: "scales", Namespaced: true, Types: managedfields.NewDeducedTypeConverter(),
		Check: of(func(s *autoscalingv1.Scale) field.ErrorList { return atLeast(spec("replicas"), &s.Spec.Replicas, 0) })})
}
