package kinds

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// ValidateUpdate returns what is wrong with putting next in the place of old, beside what [Kind.Validate] finds.
func (k *Kind) ValidateUpdate(next, old Object) field.ErrorList {
	if k.CheckUpdate == nil {
		return nil
	}
	return k.CheckUpdate(next, old)
}

// fixed refuses every change of a field.
func fixed[P Object](path *field.Path, get func(P) any) func(next, old Object) field.ErrorList {
	return func(next, old Object) field.ErrorList {
		return validation.ValidateImmutableField(get(next.(P)), get(old.(P)), path)
	}
}

// changes lets a row's function name the type that it is for.
func changes[P Object](check func(next, old P) field.ErrorList) func(next, old Object) field.ErrorList {
	return func(next, old Object) field.ErrorList { return check(next.(P), old.(P)) }
}

// sealed refuses changes of what says of itself that it never changes.
func sealed(next, old *bool, data map[string][2]any) field.ErrorList {
	if old == nil || !*old {
		return nil
	}
	const never = "field is immutable when `immutable` is set"
	var errs field.ErrorList
	if next == nil || !*next {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), never))
	}
	for _, name := range sets.List(sets.KeySet(data)) {
		if !equality.Semantic.DeepEqual(data[name][0], data[name][1]) {
			errs = append(errs, field.Forbidden(field.NewPath(name), never))
		}
	}
	return errs
}

func changeConfigMap(next, old *corev1.ConfigMap) field.ErrorList {
	return sealed(next.Immutable, old.Immutable, map[string][2]any{
		"data": {next.Data, old.Data}, "binaryData": {next.BinaryData, old.BinaryData}})
}

func changeSecret(next, old *corev1.Secret) field.ErrorList {
	errs := validation.ValidateImmutableField(next.Type, old.Type, field.NewPath("type"))
	return append(errs, sealed(next.Immutable, old.Immutable, map[string][2]any{"data": {next.Data, old.Data}})...)
}

func changeNode(next, old *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	const text = "node updates may not change %s except from \"\" to valid"
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(next.Spec.PodCIDRs, old.Spec.PodCIDRs) ||
		old.Spec.PodCIDR != "" && next.Spec.PodCIDR != old.Spec.PodCIDR {
		errs = append(errs, field.Forbidden(spec("podCIDRs"), fmt.Sprintf(text, "podCIDR")))
	}
	if old.Spec.ProviderID != "" && next.Spec.ProviderID != old.Spec.ProviderID {
		errs = append(errs, field.Forbidden(spec("providerID"), fmt.Sprintf(text, "providerID")))
	}
	return errs
}

func changeQuota(next, old *corev1.ResourceQuota) field.ErrorList {
	if sets.New(next.Spec.Scopes...).Equal(sets.New(old.Spec.Scopes...)) {
		return nil
	}
	return field.ErrorList{field.Invalid(spec("scopes"), next.Spec.Scopes, validation.FieldImmutableErrorMsg)}
}

func changeRoleRef(next, old rbacv1.RoleRef) field.ErrorList {
	if next == old {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), next, "cannot change roleRef")}
}

func changeJob(next, old *batchv1.Job) field.ErrorList {
	n, o := &next.Spec, &old.Spec
	template := o.Template.DeepCopy()
	if ptr.Deref(o.Suspend, false) && old.Status.StartTime == nil {
		// Where the pods may run is open until the first of them.
		to, from := &template.Spec, &n.Template.Spec
		to.NodeSelector, to.Affinity, to.Tolerations, to.SchedulingGates =
			from.NodeSelector, from.Affinity, from.Tolerations, from.SchedulingGates
		template.Labels, template.Annotations = n.Template.Labels, n.Template.Annotations
	}
	var errs field.ErrorList
	fix := func(name string, next, old any) {
		errs = append(errs, validation.ValidateImmutableField(next, old, spec(name))...)
	}
	if ptr.Deref(n.CompletionMode, "") != batchv1.IndexedCompletion {
		fix("completions", n.Completions, o.Completions)
	}
	fix("selector", n.Selector, o.Selector)
	fix("template", n.Template, *template)
	fix("completionMode", n.CompletionMode, o.CompletionMode)
	fix("podFailurePolicy", n.PodFailurePolicy, o.PodFailurePolicy)
	fix("backoffLimitPerIndex", n.BackoffLimitPerIndex, o.BackoffLimitPerIndex)
	fix("managedBy", n.ManagedBy, o.ManagedBy)
	fix("successPolicy", n.SuccessPolicy, o.SuccessPolicy)
	return errs
}

// changeable are the parts of a pod's spec that an update may change, as the answer to others names them.
var changeable = strings.Join([]string{
	"`spec.containers[*].image`", "`spec.initContainers[*].image`", "`spec.activeDeadlineSeconds`",
	"`spec.tolerations` (only additions to existing tolerations)",
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
}, ",")

func changePod(next, old *corev1.Pod) field.ErrorList {
	n, o := &next.Spec, &old.Spec
	for _, list := range []struct {
		name      string
		next, old []corev1.Container
	}{{"containers", n.Containers, o.Containers}, {"initContainers", n.InitContainers, o.InitContainers}} {
		if len(list.next) != len(list.old) {
			return field.ErrorList{field.Forbidden(spec(list.name), "pod updates may not add or remove containers")}
		}
	}
	errs := changeDeadline(n.ActiveDeadlineSeconds, o.ActiveDeadlineSeconds)
	errs = append(errs, changeTolerations(n.Tolerations, o.Tolerations)...)
	errs = append(errs, changeGates(n.SchedulingGates, o.SchedulingGates)...)
	if len(errs) > 0 {
		return errs
	}
	// What may be different is made the same; the rest must be the same.
	same := n.DeepCopy()
	for i := range same.Containers {
		same.Containers[i].Image = o.Containers[i].Image
	}
	for i := range same.InitContainers {
		same.InitContainers[i].Image = o.InitContainers[i].Image
	}
	same.ActiveDeadlineSeconds, same.Tolerations, same.SchedulingGates = o.ActiveDeadlineSeconds, o.Tolerations, o.SchedulingGates
	if ptr.Deref(o.TerminationGracePeriodSeconds, 0) < 0 && ptr.Deref(n.TerminationGracePeriodSeconds, 0) == 1 {
		same.TerminationGracePeriodSeconds = o.TerminationGracePeriodSeconds
	}
	if equality.Semantic.DeepEqual(*same, *o) {
		return nil
	}
	return field.ErrorList{field.Forbidden(spec(), fmt.Sprintf(
		"pod updates may not change fields other than %s\n%v", changeable, diff.Diff(*same, *o)))}
}

func changeDeadline(next, old *int64) field.ErrorList {
	path := spec("activeDeadlineSeconds")
	switch {
	case old == nil:
		return nil
	case next == nil:
		return field.ErrorList{field.Invalid(path, next, "must not update from a positive integer to nil value")}
	case *next > *old:
		return field.ErrorList{field.Invalid(path, *next, "must be less than or equal to previous value")}
	}
	return nil
}

func changeTolerations(next, old []corev1.Toleration) field.ErrorList {
	for _, o := range old {
		kept := slices.ContainsFunc(next, func(n corev1.Toleration) bool {
			n.TolerationSeconds = o.TolerationSeconds
			return equality.Semantic.DeepEqual(n, o)
		})
		if !kept {
			return field.ErrorList{field.Forbidden(spec("tolerations"), "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

func changeGates(next, old []corev1.PodSchedulingGate) field.ErrorList {
	for i, gate := range next {
		if !slices.Contains(old, gate) {
			return field.ErrorList{field.Forbidden(spec("schedulingGates").Index(i).Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name))}
		}
	}
	return nil
}
