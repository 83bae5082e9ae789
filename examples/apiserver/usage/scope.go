package usage

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// InScope reports whether a quota is about an object. One with scopes is about pods alone, those that are in all of
// them.
func InScope(q *corev1.ResourceQuota, o any) bool {
	var wanted []corev1.ScopedResourceSelectorRequirement
	for _, s := range q.Spec.Scopes {
		wanted = append(wanted, corev1.ScopedResourceSelectorRequirement{ScopeName: s, Operator: corev1.ScopeSelectorOpExists})
	}
	if q.Spec.ScopeSelector != nil {
		wanted = append(wanted, q.Spec.ScopeSelector.MatchExpressions...)
	}
	if len(wanted) == 0 {
		return true
	}
	p, ok := o.(*corev1.Pod)
	return ok && !slices.ContainsFunc(wanted, func(s corev1.ScopedResourceSelectorRequirement) bool { return !podInScope(p, s) })
}

func podInScope(p *corev1.Pod, s corev1.ScopedResourceSelectorRequirement) bool {
	switch s.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return p.Spec.ActiveDeadlineSeconds != nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return p.Spec.ActiveDeadlineSeconds == nil
	case corev1.ResourceQuotaScopeBestEffort:
		return bestEffort(p)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !bestEffort(p)
	case corev1.ResourceQuotaScopePriorityClass:
		name := p.Spec.PriorityClassName
		switch s.Operator {
		case corev1.ScopeSelectorOpIn:
			return slices.Contains(s.Values, name)
		case corev1.ScopeSelectorOpNotIn:
			return !slices.Contains(s.Values, name)
		case corev1.ScopeSelectorOpDoesNotExist:
			return name == ""
		}
		return name != ""
	}
	return false
}

// bestEffort reports whether no container of a pod asks for or is bounded in what all nodes share.
func bestEffort(p *corev1.Pod) bool {
	says := func(c corev1.Container) bool {
		for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
			if !list.Cpu().IsZero() || !list.Memory().IsZero() {
				return true
			}
		}
		return false
	}
	return !slices.ContainsFunc(p.Spec.Containers, says) && !slices.ContainsFunc(p.Spec.InitContainers, says)
}
