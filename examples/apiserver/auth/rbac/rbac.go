// Package rbac decides by roles and bindings what users may do.
//
// # Usage
//
//	authorizer, err := rbac.New(rbac.Stores{Roles: roles.Indexer(), ...})
//	...
//	allowed, reason, err := authorizer.Authorize(ctx, attributes)
//
// The four kinds are read from the stores of informers: nothing is asked of a server, and bindings are found by an index
// of their subjects.
//
// # Guarantees
//
//  1. A request is allowed by a rule of a role that is bound to the user, to one of the groups or to the service account,
//     in the namespace of the request or everywhere, and by nothing else. (TestAuthorize, TestAllows)
//  2. A role with an aggregation rule has the rules of the roles that the rule selects, at once, and no others.
//     (TestAggregation)
//  3. The group system:masters may do everything. (TestAuthorize)
//  4. Nobody gives, by a role or a binding, what he has not got himself, unless the verbs escalate and bind allow it.
//     (TestMissing, TestEscalation)
//
// # Concurrency
//
// An [Authorizer] is safe for concurrent use. It starts nothing.
//
// # Testing
//
// The stores may be filled by hand: see package indexer.
package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// Stores are what is read to decide. All must be set.
type Stores struct {
	// Roles and ClusterRoles say what may be done.
	Roles        *indexer.Reader[*rbacv1.Role]
	ClusterRoles *indexer.Reader[*rbacv1.ClusterRole]
	// RoleBindings and ClusterRoleBindings say by whom.
	RoleBindings        *indexer.Reader[*rbacv1.RoleBinding]
	ClusterRoleBindings *indexer.Reader[*rbacv1.ClusterRoleBinding]
}

// subject is somebody to whom a role is bound, in a namespace or, when that is "", everywhere. A service account is
// the user that it is known as.
type subject struct {
	namespace, name string
	group           bool
}

// label is one label of a cluster role.
type label struct{ key, value string }

// Authorizer is an [auth.Authorizer] that knows roles and bindings. Make one with [New].
type Authorizer struct {
	stores  Stores
	local   *indexer.Index[*rbacv1.RoleBinding, subject]
	cluster *indexer.Index[*rbacv1.ClusterRoleBinding, subject]
	labels  *indexer.Index[*rbacv1.ClusterRole, label]
}

// New returns an authorizer that reads the stores, to which it adds indexes: it is called once for them.
func New(s Stores) (*Authorizer, error) {
	z := &Authorizer{stores: s}
	var errs [3]error
	z.local, errs[0] = indexer.AddIndexFunc(s.RoleBindings, "subject", func(b *rbacv1.RoleBinding, to []subject) []subject {
		return subjects(b.Namespace, b.Subjects, to)
	})
	z.cluster, errs[1] = indexer.AddIndexFunc(s.ClusterRoleBindings, "subject", func(b *rbacv1.ClusterRoleBinding, to []subject) []subject {
		return subjects("", b.Subjects, to)
	})
	z.labels, errs[2] = indexer.AddIndexFunc(s.ClusterRoles, "label", func(r *rbacv1.ClusterRole, to []label) []label {
		for key, value := range r.Labels {
			to = append(to, label{key, value})
		}
		return to
	})
	return z, errors.Join(errs[:]...)
}

func subjects(namespace string, list []rbacv1.Subject, to []subject) []subject {
	for _, s := range list {
		switch s.Kind {
		case rbacv1.UserKind, rbacv1.GroupKind:
			to = append(to, subject{namespace, s.Name, s.Kind == rbacv1.GroupKind})
		case rbacv1.ServiceAccountKind:
			in := s.Namespace
			if in == "" {
				in = namespace
			}
			to = append(to, subject{namespace, auth.ServiceAccountPrefix + in + ":" + s.Name, false})
		}
	}
	return to
}

// Authorize reports whether a rule allows the request, and by which binding. A role that is bound and missing is told
// of in the reason when nothing else allows it.
func (z *Authorizer) Authorize(_ context.Context, a auth.Attributes) (bool, string, error) {
	if slices.Contains(a.User.Groups, auth.Masters) {
		return true, "", nil
	}
	reason := ""
	err := z.each(a.User, a.Namespace, func(r *rbacv1.PolicyRule, g grant) bool {
		if !Allows(r, &a) {
			return true
		}
		reason = g.String()
		return false
	})
	if reason == "" && err != nil {
		return false, "RBAC: " + err.Error(), nil
	}
	return reason != "", reason, nil
}

// Rules returns what a user may do in a namespace, and with "" what he may do everywhere. The error tells of roles that
// are bound and missing; the rules are those of the others.
func (z *Authorizer) Rules(u *auth.User, namespace string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	if slices.Contains(u.Groups, auth.Masters) {
		rules = append(rules, Everything()...)
	}
	err := z.each(u, namespace, func(r *rbacv1.PolicyRule, _ grant) bool {
		rules = append(rules, *r)
		return true
	})
	return rules, err
}

// Everything returns the rules that allow all.
func Everything() []rbacv1.PolicyRule {
	all := []string{rbacv1.VerbAll}
	return []rbacv1.PolicyRule{{Verbs: all, APIGroups: all, Resources: all}, {Verbs: all, NonResourceURLs: all}}
}

// grant is the binding by which a user has a rule.
type grant struct {
	kind, name string
	role       rbacv1.RoleRef
	to         subject
}

// String returns the grant as it stands in reasons.
func (g grant) String() string {
	kind := rbacv1.UserKind
	if g.to.group {
		kind = rbacv1.GroupKind
	}
	return fmt.Sprintf("RBAC: allowed by %s %q of %s %q to %s %q", g.kind, g.name, g.role.Kind, g.role.Name, kind, g.to.name)
}

// each calls f with the rules that a user has in a namespace until f returns false. The error tells of roles that are
// missing.
func (z *Authorizer) each(u *auth.User, namespace string, f func(*rbacv1.PolicyRule, grant) bool) error {
	var missing []error
	visit := func(g grant) bool {
		again, err := z.rulesOf(namespace, g.role, func(r *rbacv1.PolicyRule) bool { return f(r, g) })
		if err != nil {
			missing = append(missing, err)
		}
		return again
	}
	for i := -1; i < len(u.Groups); i++ {
		to := subject{name: u.Name}
		if i >= 0 {
			to = subject{name: u.Groups[i], group: true}
		}
		for _, b := range z.cluster.Get(to) {
			if !visit(grant{"ClusterRoleBinding", b.Name, b.RoleRef, to}) {
				return nil
			}
		}
		if to.namespace = namespace; namespace == "" {
			continue
		}
		for _, b := range z.local.Get(to) {
			if !visit(grant{"RoleBinding", b.Name + "/" + b.Namespace, b.RoleRef, to}) {
				return nil
			}
		}
	}
	return errors.Join(missing...)
}

// rulesOf calls f with the rules of a role until f returns false, and returns that.
func (z *Authorizer) rulesOf(namespace string, ref rbacv1.RoleRef, f func(*rbacv1.PolicyRule) bool) (again bool, err error) {
	if ref.Kind == "ClusterRole" {
		role, ok := z.stores.ClusterRoles.Get(listwatch.Key{Name: ref.Name})
		if !ok {
			return true, errMissing("clusterroles", ref.Name)
		}
		return z.aggregated(role, &[]string{}, f), nil
	}
	role, ok := z.stores.Roles.Get(listwatch.Key{Namespace: namespace, Name: ref.Name})
	if !ok {
		return true, errMissing("roles", ref.Name)
	}
	return eachRule(role.Rules, f), nil
}

func eachRule(rules []rbacv1.PolicyRule, f func(*rbacv1.PolicyRule) bool) bool {
	for i := range rules {
		if !f(&rules[i]) {
			return false
		}
	}
	return true
}

// aggregated calls f with the rules of a cluster role or, when it has an aggregation rule, of those that it selects.
// None is looked at twice.
func (z *Authorizer) aggregated(role *rbacv1.ClusterRole, seen *[]string, f func(*rbacv1.PolicyRule) bool) bool {
	if role.AggregationRule == nil {
		return eachRule(role.Rules, f)
	}
	*seen = append(*seen, role.Name)
	for i := range role.AggregationRule.ClusterRoleSelectors {
		for _, part := range z.selected(&role.AggregationRule.ClusterRoleSelectors[i]) {
			if slices.Contains(*seen, part.Name) {
				continue
			}
			*seen = append(*seen, part.Name)
			if !z.aggregated(part, seen, f) {
				return false
			}
		}
	}
	return true
}

// selected returns the cluster roles that a selector selects, in order of their names.
func (z *Authorizer) selected(s *metav1.LabelSelector) []*rbacv1.ClusterRole {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil
	}
	var candidates []*rbacv1.ClusterRole
	if len(s.MatchLabels) == 0 {
		candidates = z.stores.ClusterRoles.List()
	}
	for key, value := range s.MatchLabels {
		candidates = z.labels.Get(label{key, value})
		break
	}
	candidates = slices.DeleteFunc(candidates, func(r *rbacv1.ClusterRole) bool { return !selector.Matches(labels.Set(r.Labels)) })
	slices.SortFunc(candidates, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	return candidates
}
