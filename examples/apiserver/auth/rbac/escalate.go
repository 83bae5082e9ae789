package rbac

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// errMissing says that a role that is bound is not there.
func errMissing(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: rbacv1.GroupName, Resource: resource}, name)
}

// Admit refuses a role or a binding by which the user of ctx would give more than he has got. What the server writes
// by itself, without a user, is done. Its errors are answers of the API.
func (z *Authorizer) Admit(ctx context.Context, a registry.Admission) error {
	u := auth.From(ctx)
	if a.Kind.Group != rbacv1.GroupName || a.Object == nil || u == nil || slices.Contains(u.Groups, auth.Masters) {
		return nil
	}
	var err error
	switch o := a.Object.(type) {
	case *rbacv1.Role:
		if old, ok := a.Old.(*rbacv1.Role); ok && reflect.DeepEqual(old.Rules, o.Rules) {
			return nil
		}
		err = z.confirm(ctx, a, "escalate", rbacv1.RoleRef{Kind: "Role", Name: o.Name}, o.Rules)
	case *rbacv1.ClusterRole:
		old, ok := a.Old.(*rbacv1.ClusterRole)
		if ok && reflect.DeepEqual(old.Rules, o.Rules) && reflect.DeepEqual(old.AggregationRule, o.AggregationRule) {
			return nil
		}
		rules := o.Rules
		if o.AggregationRule != nil {
			rules = Everything() // whatever comes to be selected
		}
		err = z.confirm(ctx, a, "escalate", rbacv1.RoleRef{Kind: "ClusterRole", Name: o.Name}, rules)
	case *rbacv1.RoleBinding:
		if old, ok := a.Old.(*rbacv1.RoleBinding); ok && old.RoleRef == o.RoleRef && reflect.DeepEqual(old.Subjects, o.Subjects) {
			return nil
		}
		err = z.confirmBinding(ctx, a, o.RoleRef)
	case *rbacv1.ClusterRoleBinding:
		if old, ok := a.Old.(*rbacv1.ClusterRoleBinding); ok && old.RoleRef == o.RoleRef && reflect.DeepEqual(old.Subjects, o.Subjects) {
			return nil
		}
		err = z.confirmBinding(ctx, a, o.RoleRef)
	}
	return err
}

// confirmBinding refuses to bind a role that has more than the user.
func (z *Authorizer) confirmBinding(ctx context.Context, a registry.Admission, ref rbacv1.RoleRef) error {
	if z.may(ctx, a, "bind", ref) {
		return nil
	}
	var rules []rbacv1.PolicyRule
	_, err := z.rulesOf(a.Namespace, ref, func(r *rbacv1.PolicyRule) bool { rules = append(rules, *r); return true })
	if err != nil {
		return err
	}
	return z.confirm(ctx, a, "bind", ref, rules)
}

// may reports whether the user may do something with a role that goes beyond writing it.
func (z *Authorizer) may(ctx context.Context, a registry.Admission, verb string, ref rbacv1.RoleRef) bool {
	resource := "roles"
	if ref.Kind == "ClusterRole" {
		resource = "clusterroles"
	}
	allowed, _, err := z.Authorize(ctx, auth.Attributes{
		User: auth.From(ctx), Verb: verb, Group: rbacv1.GroupName, Version: "v1", Resource: resource,
		Namespace: a.Namespace, Name: ref.Name,
	})
	return allowed && err == nil
}

// confirm refuses rules that the user has not got, unless the verb on the role is allowed to him.
func (z *Authorizer) confirm(ctx context.Context, a registry.Admission, verb string, ref rbacv1.RoleRef, rules []rbacv1.PolicyRule) error {
	if z.may(ctx, a, verb, ref) {
		return nil
	}
	u := auth.From(ctx)
	held, problems := z.Rules(u, a.Namespace)
	missing := Missing(held, rules)
	if len(missing) == 0 {
		return nil
	}
	lines := make([]string, 0, len(missing))
	for _, r := range Compact(missing) {
		lines = append(lines, describe(r))
	}
	slices.Sort(lines)
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		u.Name, u.Groups, strings.Join(lines, "\n"))
	if problems != nil {
		text += fmt.Sprintf("; resolution errors: %v", problems)
	}
	return apierrors.NewForbidden(a.Kind.GroupResource(), a.Object.GetName(), errors.New(text))
}

// describe returns a rule as it stands in messages.
func describe(r rbacv1.PolicyRule) string {
	var fields []string
	for _, f := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"NonResourceURLs", r.NonResourceURLs},
		{"ResourceNames", r.ResourceNames}, {"Verbs", r.Verbs},
	} {
		if len(f.values) > 0 {
			fields = append(fields, fmt.Sprintf("%s:%q", f.name, f.values))
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
