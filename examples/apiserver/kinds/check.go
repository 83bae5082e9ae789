package kinds

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// spec is where most of what can be wrong stands.
func spec(children ...string) *field.Path {
	path := field.NewPath("spec")
	for _, c := range children {
		path = path.Child(c)
	}
	return path
}

// required returns the error of a field that is missing when it is.
func required[T comparable](path *field.Path, value T) field.ErrorList {
	var zero T
	if value == zero {
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}

// atLeast returns the error of a number that is below a least one.
func atLeast(path *field.Path, value *int32, least int32) field.ErrorList {
	switch {
	case value == nil || *value >= least:
		return nil
	case least == 0:
		return field.ErrorList{field.Invalid(path, *value, "must be greater than or equal to 0")}
	}
	return field.ErrorList{field.Invalid(path, *value, fmt.Sprintf("must be greater than or equal to %d", least))}
}

func invalid(path *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, m := range messages {
		errs = append(errs, field.Invalid(path, value, m))
	}
	return errs
}

func checkConfigMap(c *corev1.ConfigMap) field.ErrorList {
	errs := checkKeys(field.NewPath("data"), c.Data)
	errs = append(errs, checkKeys(field.NewPath("binaryData"), c.BinaryData)...)
	for k := range c.Data {
		if _, ok := c.BinaryData[k]; ok {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(k), k, "duplicate of key present in binaryData"))
		}
	}
	return errs
}

func checkSecret(s *corev1.Secret) field.ErrorList { return checkKeys(field.NewPath("data"), s.Data) }

func checkKeys[V any](path *field.Path, data map[string]V) field.ErrorList {
	var errs field.ErrorList
	for _, k := range sets.List(sets.KeySet(data)) {
		errs = append(errs, invalid(path.Key(k), k, validation.IsConfigMapKey(k))...)
	}
	return errs
}

func checkPod(p *corev1.Pod) field.ErrorList { return checkPodSpec(spec(), &p.Spec) }

func checkPodSpec(path *field.Path, s *corev1.PodSpec) field.ErrorList {
	names := sets.New[string]()
	errs := checkContainers(path.Child("initContainers"), s.InitContainers, names)
	if len(s.Containers) == 0 {
		return append(errs, field.Required(path.Child("containers"), ""))
	}
	errs = append(errs, checkContainers(path.Child("containers"), s.Containers, names)...)
	policies := []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}
	if !sets.New(policies...).Has(s.RestartPolicy) {
		errs = append(errs, field.NotSupported(path.Child("restartPolicy"), s.RestartPolicy, policies))
	}
	volumes := sets.New[string]()
	for i, v := range s.Volumes {
		errs = append(errs, checkName(path.Child("volumes").Index(i).Child("name"), v.Name, volumes)...)
	}
	return errs
}

func checkContainers(path *field.Path, containers []corev1.Container, names sets.Set[string]) field.ErrorList {
	var errs field.ErrorList
	for i, c := range containers {
		at := path.Index(i)
		errs = append(errs, checkName(at.Child("name"), c.Name, names)...)
		errs = append(errs, required(at.Child("image"), c.Image)...)
		for j, p := range c.Ports {
			errs = append(errs, checkPort(at.Child("ports").Index(j).Child("containerPort"), p.ContainerPort)...)
		}
		for j, e := range c.Env {
			errs = append(errs, required(at.Child("env").Index(j).Child("name"), e.Name)...)
		}
	}
	return errs
}

// checkName checks a name that must be a label, and be there once.
func checkName(path *field.Path, name string, names sets.Set[string]) field.ErrorList {
	switch {
	case name == "":
		return field.ErrorList{field.Required(path, "")}
	case names.Has(name):
		return field.ErrorList{field.Duplicate(path, name)}
	}
	names.Insert(name)
	return invalid(path, name, validation.IsDNS1123Label(name))
}

func checkPort(path *field.Path, port int32) field.ErrorList {
	if port == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	return invalid(path, port, validation.IsValidPortNum(int(port)))
}

func checkService(s *corev1.Service) field.ErrorList {
	var errs field.ErrorList
	ports := spec("ports")
	if len(s.Spec.Ports) == 0 && s.Spec.Type != corev1.ServiceTypeExternalName && s.Spec.ClusterIP != corev1.ClusterIPNone {
		errs = append(errs, field.Required(ports, ""))
	}
	names := sets.New[string]()
	for i, p := range s.Spec.Ports {
		if p.Name != "" || len(s.Spec.Ports) > 1 {
			errs = append(errs, checkName(ports.Index(i).Child("name"), p.Name, names)...)
		}
		errs = append(errs, invalid(ports.Index(i).Child("port"), p.Port, validation.IsValidPortNum(int(p.Port)))...)
	}
	types := []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
		corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort}
	if !sets.New(types...).Has(s.Spec.Type) {
		errs = append(errs, field.NotSupported(spec("type"), s.Spec.Type, types))
	}
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		errs = append(errs, required(spec("externalName"), s.Spec.ExternalName)...)
	}
	return append(errs, checkAddresses(s)...)
}

func labelsOf(t corev1.PodTemplateSpec) labels.Set { return t.Labels }

// checkWorkload checks what all that make pods of a template have: a number, a selector, and a
// template that makes what it selects.
func checkWorkload(replicas *int32, s *metav1.LabelSelector, t corev1.PodTemplateSpec) field.ErrorList {
	errs := atLeast(spec("replicas"), replicas, 0)
	switch {
	case s == nil:
		errs = append(errs, field.Required(spec("selector"), ""))
	case len(s.MatchLabels)+len(s.MatchExpressions) == 0:
		errs = append(errs, field.Invalid(spec("selector"), s, "empty selector is invalid for deployment"))
	case !matches(s, t):
		errs = append(errs, field.Invalid(spec("template", "metadata", "labels"), t.Labels, "`selector` does not match template `labels`"))
	}
	if p := t.Spec.RestartPolicy; p != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(spec("template", "spec", "restartPolicy"), p, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	return append(errs, checkPodSpec(spec("template", "spec"), &t.Spec)...)
}

func checkReplicationController(c *corev1.ReplicationController) field.ErrorList {
	if c.Spec.Template == nil {
		return field.ErrorList{field.Required(spec("template"), "")}
	}
	return checkWorkload(c.Spec.Replicas, &metav1.LabelSelector{MatchLabels: c.Spec.Selector}, *c.Spec.Template)
}

func checkReplicaSet(r *appsv1.ReplicaSet) field.ErrorList {
	return checkWorkload(r.Spec.Replicas, r.Spec.Selector, r.Spec.Template)
}

func checkDeployment(d *appsv1.Deployment) field.ErrorList {
	return checkWorkload(d.Spec.Replicas, d.Spec.Selector, d.Spec.Template)
}

func checkJob(j *batchv1.Job) field.ErrorList {
	errs := atLeast(spec("parallelism"), j.Spec.Parallelism, 0)
	errs = append(errs, atLeast(spec("completions"), j.Spec.Completions, 0)...)
	errs = append(errs, atLeast(spec("backoffLimit"), j.Spec.BackoffLimit, 0)...)
	if j.Spec.Selector == nil {
		errs = append(errs, field.Required(spec("selector"), ""))
	} else if !matches(j.Spec.Selector, j.Spec.Template) {
		errs = append(errs, field.Invalid(spec("template", "metadata", "labels"), j.Spec.Template.Labels,
			"`selector` does not match template `labels`"))
	}
	errs = append(errs, checkPodSpec(spec("template", "spec"), &j.Spec.Template.Spec)...)
	if p := j.Spec.Template.Spec.RestartPolicy; p == corev1.RestartPolicyAlways {
		errs = append(errs, field.Required(spec("template", "spec", "restartPolicy"), `valid values: "OnFailure", "Never"`))
	}
	return errs
}

func checkHorizontalPodAutoscaler(a *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	s := a.Spec
	errs := required(spec("scaleTargetRef", "kind"), s.ScaleTargetRef.Kind)
	errs = append(errs, required(spec("scaleTargetRef", "name"), s.ScaleTargetRef.Name)...)
	errs = append(errs, atLeast(spec("minReplicas"), s.MinReplicas, 1)...)
	if s.MaxReplicas < 1 {
		errs = append(errs, field.Invalid(spec("maxReplicas"), s.MaxReplicas, "must be greater than 0"))
	}
	if s.MinReplicas != nil && s.MaxReplicas < *s.MinReplicas {
		errs = append(errs, field.Invalid(spec("maxReplicas"), s.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	return errs
}

func checkRules(rules []rbacv1.PolicyRule) field.ErrorList {
	var errs field.ErrorList
	for i, r := range rules {
		at := field.NewPath("rules").Index(i)
		if len(r.Verbs) == 0 {
			errs = append(errs, field.Required(at.Child("verbs"), "verbs must contain at least one value"))
		}
		if len(r.NonResourceURLs) > 0 {
			continue
		}
		if len(r.APIGroups) == 0 {
			errs = append(errs, field.Required(at.Child("apiGroups"), "resource rules must supply at least one api group"))
		}
		if len(r.Resources) == 0 {
			errs = append(errs, field.Required(at.Child("resources"), "resource rules must supply at least one resource"))
		}
	}
	return errs
}

func checkBinding(ref rbacv1.RoleRef, subjects []rbacv1.Subject) field.ErrorList {
	errs := required(field.NewPath("roleRef", "name"), ref.Name)
	if roles := []string{"ClusterRole", "Role"}; !sets.New(roles...).Has(ref.Kind) {
		errs = append(errs, field.NotSupported(field.NewPath("roleRef", "kind"), ref.Kind, roles))
	}
	for i, s := range subjects {
		errs = append(errs, required(field.NewPath("subjects").Index(i).Child("name"), s.Name)...)
	}
	return errs
}
