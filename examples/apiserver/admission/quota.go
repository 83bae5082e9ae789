package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/usage"
)

// releaseWait is how long it may take to give back what was reserved in vain.
const releaseWait = 5 * time.Second

// Reserve adds what a write will use to the status of the quotas that bound it, or refuses the write when one has
// not enough left. It is for [registry.Options.Reserve]. What is given back when something is deleted, or uses less, is
// for those who count anew: here usage only grows.
func (Rules) Reserve(ctx context.Context, a registry.Admission) (release func(), err error) {
	var done []func()
	release = func() {
		for _, f := range done {
			f()
		}
	}
	if a.Verb == "delete" || a.Subresource != "" || !a.Kind.Namespaced {
		return release, nil
	}
	all, err := a.Registry.Stored(ctx, registry.Target{Kind: quotas, Namespace: a.Namespace})
	if err != nil || len(all) == 0 {
		return release, err
	}
	wanted := usage.Of(a.Kind.GroupResource(), a.Object)
	if a.Old != nil {
		wanted = minus(wanted, usage.Of(a.Kind.GroupResource(), a.Old))
	}
	for _, o := range all {
		c := charge{a, wanted}
		back, err := c.reserve(ctx, o.(*corev1.ResourceQuota))
		if err != nil {
			release()
			return nil, err
		}
		done = append(done, back)
	}
	return release, nil
}

// charge is what a write adds to quotas.
type charge struct {
	registry.Admission
	// wanted are numbers above 0.
	wanted corev1.ResourceList
}

// reserve charges one quota.
func (c charge) reserve(ctx context.Context, q *corev1.ResourceQuota) (release func(), err error) {
	bounded := c.bounded(q)
	if len(bounded) == 0 {
		return func() {}, nil
	}
	if missing := unspecified(c.Object, bounded); missing != "" {
		return nil, forbidden(c.Admission, "failed quota: "+q.Name+": must specify "+missing)
	}
	if c.DryRun {
		return func() {}, c.add(ctx, q)
	}
	t := registry.Target{Kind: quotas, Namespace: q.Namespace, Name: q.Name}
	err = c.Registry.Revise(ctx, t, func(o kinds.Object) error { return c.add(ctx, o.(*corev1.ResourceQuota)) })
	if err != nil {
		return nil, err
	}
	return func() {
		releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWait)
		defer cancel()
		// What cannot be given back is found by who counts anew.
		_ = c.Registry.Revise(releasing, t, func(o kinds.Object) error {
			used := o.(*corev1.ResourceQuota).Status.Used
			maps.Copy(used, minusOrZero(used, masked(c.wanted, bounded)))
			return nil
		})
	}, nil
}

// bounded returns the names of what the write uses and the quota bounds, and of what the quota wants to be told.
func (c charge) bounded(q *corev1.ResourceQuota) []corev1.ResourceName {
	if !usage.InScope(q, c.Object) {
		return nil
	}
	var names []corev1.ResourceName
	for name := range q.Spec.Hard {
		_, wanted := c.wanted[name]
		if wanted || c.Verb == "create" && is(c.Admission, pods) && computed.Has(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// add adds what the write uses to a quota's status. Usage that the quota does not know yet is counted.
func (c charge) add(ctx context.Context, q *corev1.ResourceQuota) error {
	wanted := masked(c.wanted, c.bounded(q))
	if err := c.count(ctx, q, wanted); err != nil {
		return err
	}
	var exceeded []corev1.ResourceName
	for name, more := range wanted {
		sum := q.Status.Used[name].DeepCopy()
		sum.Add(more)
		if hard := q.Spec.Hard[name]; sum.Cmp(hard) > 0 {
			exceeded = append(exceeded, name)
		}
	}
	if len(exceeded) > 0 {
		return forbidden(c.Admission, fmt.Sprintf("exceeded quota: %s, requested: %s, used: %s, limited: %s", q.Name,
			text(masked(wanted, exceeded)), text(masked(q.Status.Used, exceeded)), text(masked(q.Spec.Hard, exceeded))))
	}
	for name, more := range wanted {
		sum := q.Status.Used[name].DeepCopy()
		sum.Add(more)
		q.Status.Used[name] = sum
	}
	return nil
}

// count sets the usage of what the quota has not counted yet, and the bounds in its status.
func (c charge) count(ctx context.Context, q *corev1.ResourceQuota, names corev1.ResourceList) error {
	var unknown []corev1.ResourceName
	for name := range names {
		if _, known := q.Status.Used[name]; !known {
			unknown = append(unknown, name)
		}
	}
	if q.Status.Hard == nil {
		q.Status.Hard = corev1.ResourceList{}
	}
	if q.Status.Used == nil {
		q.Status.Used = corev1.ResourceList{}
	}
	for name := range names {
		q.Status.Hard[name] = q.Spec.Hard[name]
	}
	if len(unknown) == 0 {
		return nil
	}
	all, err := c.Registry.Stored(ctx, registry.Target{Kind: c.Kind, Namespace: q.Namespace})
	if err != nil {
		return err
	}
	for _, name := range unknown {
		q.Status.Used[name] = *resource.NewQuantity(0, resource.DecimalSI)
	}
	for _, o := range all {
		if !usage.InScope(q, o) {
			continue
		}
		for name, more := range masked(usage.Of(c.Kind.GroupResource(), o), unknown) {
			sum := q.Status.Used[name]
			sum.Add(more)
			q.Status.Used[name] = sum
		}
	}
	return nil
}

// computed is what every container of a pod must say when a quota bounds it: none would be boundless.
var computed = sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory)

// unspecified tells which of the names containers do not say, or "".
func unspecified(o kinds.Object, names []corev1.ResourceName) string {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return ""
	}
	var missing []string
	for _, name := range names {
		var at []string
		for _, containers := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
			for _, c := range containers {
				from := c.Resources.Requests
				plain, limit := strings.CutPrefix(string(name), "limits.")
				if limit {
					from = c.Resources.Limits
				}
				plain = strings.TrimPrefix(plain, corev1.DefaultResourceRequestsPrefix)
				if _, said := from[corev1.ResourceName(plain)]; !said && computed.Has(name) {
					at = append(at, c.Name)
				}
			}
		}
		if len(at) > 0 {
			slices.Sort(at)
			missing = append(missing, string(name)+" for: "+strings.Join(at, ","))
		}
	}
	return strings.Join(missing, "; ")
}

// minus returns what is left of each number when it is above 0.
func minus(from, less corev1.ResourceList) corev1.ResourceList {
	left := minusOrZero(from, less)
	maps.DeleteFunc(left, func(_ corev1.ResourceName, q resource.Quantity) bool { return q.IsZero() })
	return left
}

// minusOrZero returns what is left of each number, but nothing below 0.
func minusOrZero(from, less corev1.ResourceList) corev1.ResourceList {
	left := corev1.ResourceList{}
	for name, q := range from {
		q = q.DeepCopy()
		q.Sub(less[name])
		if q.Sign() < 0 {
			q = *resource.NewQuantity(0, resource.DecimalSI)
		}
		left[name] = q
	}
	return left
}

func masked(list corev1.ResourceList, names []corev1.ResourceName) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, name := range names {
		if q, ok := list[name]; ok {
			out[name] = q
		}
	}
	return out
}

// text lists numbers as the API does.
func text(list corev1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		parts = append(parts, string(name)+"="+q.String())
	}
	return strings.Join(parts, ",")
}
