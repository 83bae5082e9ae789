package apiserver

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/node"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/rbac"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// reviewAccess tells what somebody may do.
func (s *Server) reviewAccess(ctx context.Context, t registry.Target, o kinds.Object) error {
	review := o.(*authorizationv1.SubjectAccessReview)
	return s.reviewSubject(ctx, t, &review.Spec, &review.Status)
}

// reviewLocalAccess tells what somebody may do in the namespace of the review.
func (s *Server) reviewLocalAccess(ctx context.Context, t registry.Target, o kinds.Object) error {
	review := o.(*authorizationv1.LocalSubjectAccessReview)
	review.Namespace = t.Namespace
	at := field.NewPath("spec")
	var errs field.ErrorList
	if r := review.Spec.ResourceAttributes; r != nil && r.Namespace != t.Namespace {
		errs = append(errs, field.Invalid(at.Child("resourceAttributes", "namespace"), r.Namespace, "must match metadata.namespace"))
	}
	if n := review.Spec.NonResourceAttributes; n != nil {
		errs = append(errs, field.Invalid(at.Child("nonResourceAttributes"), *n, "disallowed on this kind of request"))
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(t.Kind.GroupVersionKind().GroupKind(), "", errs)
	}
	return s.reviewSubject(ctx, t, &review.Spec, &review.Status)
}

func (s *Server) reviewSubject(ctx context.Context, t registry.Target, spec *authorizationv1.SubjectAccessReviewSpec, to *authorizationv1.SubjectAccessReviewStatus) error {
	u := &auth.User{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
	for key, values := range spec.Extra {
		if u.Extra == nil {
			u.Extra = make(map[string][]string)
		}
		u.Extra[key] = values
	}
	if spec.User == "" && len(spec.Groups) == 0 {
		return apierrors.NewInvalid(t.Kind.GroupVersionKind().GroupKind(), "", field.ErrorList{
			field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified")})
	}
	return s.review(ctx, t, reviewed{u, spec.ResourceAttributes, spec.NonResourceAttributes}, to)
}

// reviewOwnAccess tells what the sender may do.
func (s *Server) reviewOwnAccess(ctx context.Context, t registry.Target, o kinds.Object) error {
	review := o.(*authorizationv1.SelfSubjectAccessReview)
	return s.review(ctx, t, reviewed{auth.From(ctx), review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes}, &review.Status)
}

// reviewed is what a review is about.
type reviewed struct {
	user     *auth.User
	resource *authorizationv1.ResourceAttributes
	path     *authorizationv1.NonResourceAttributes
}

// review asks the authorizer.
func (s *Server) review(ctx context.Context, t registry.Target, what reviewed, to *authorizationv1.SubjectAccessReviewStatus) error {
	a := auth.Attributes{User: what.user}
	at := field.NewPath("spec", "resourceAttributes")
	var fault *field.Error
	switch r := what.resource; {
	case r == nil && what.path == nil:
		fault = field.Invalid(at, "null", "exactly one of nonResourceAttributes or resourceAttributes must be specified")
	case r != nil && what.path != nil:
		fault = field.Invalid(at, *r, "cannot be specified in combination with nonResourceAttributes")
	case r == nil:
		a.Verb, a.Path = what.path.Verb, what.path.Path
	case r.Resource == "":
		fault = field.Required(at.Child("resource"), "")
	default:
		a.Verb, a.Group, a.Version, a.Resource, a.Subresource = r.Verb, r.Group, r.Version, r.Resource, r.Subresource
		a.Namespace, a.Name, a.FieldSelector = r.Namespace, r.Name, selectorOf(r.FieldSelector)
	}
	if fault != nil {
		return apierrors.NewInvalid(t.Kind.GroupVersionKind().GroupKind(), "", field.ErrorList{fault})
	}
	*to = authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	if s.authorizer == nil {
		return nil
	}
	var err error
	if to.Allowed, to.Reason, err = s.authorizer.Authorize(ctx, a); err != nil {
		to.EvaluationError = err.Error()
	}
	return nil
}

// selectorOf returns what a review says about the selection of fields, as far as it names values.
func selectorOf(f *authorizationv1.FieldSelectorAttributes) fields.Selector {
	if f == nil {
		return nil
	}
	if f.RawSelector != "" {
		s, err := fields.ParseSelector(f.RawSelector)
		if err != nil {
			return nil
		}
		return s
	}
	var all []fields.Selector
	for _, r := range f.Requirements {
		if r.Operator == metav1.FieldSelectorOpIn && len(r.Values) == 1 {
			all = append(all, fields.OneTermEqualSelector(r.Key, r.Values[0]))
		}
	}
	return fields.AndSelectors(all...)
}

// reviewOwnRules tells all that the sender may do in a namespace.
func (s *Server) reviewOwnRules(ctx context.Context, _ registry.Target, o kinds.Object) error {
	review := o.(*authorizationv1.SelfSubjectRulesReview)
	if review.Spec.Namespace == "" {
		return badRequest("no namespace on request")
	}
	u := auth.From(ctx)
	rules, problems := s.rulesOf(u, review.Spec.Namespace)
	to := &review.Status
	*to = authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, Incomplete: problems != "",
		EvaluationError: problems,
	}
	for _, r := range rbac.Compact(rules) {
		if len(r.NonResourceURLs) > 0 {
			to.NonResourceRules = append(to.NonResourceRules, authorizationv1.NonResourceRule{Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs})
		}
		if len(r.Resources) > 0 {
			to.ResourceRules = append(to.ResourceRules, authorizationv1.ResourceRule{
				Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames})
		}
	}
	return nil
}

// rulesOf returns what a user may do, and why that is not all.
func (s *Server) rulesOf(u *auth.User, namespace string) ([]rbacv1.PolicyRule, string) {
	switch {
	case s.authorizer == nil:
		return rbac.Everything(), ""
	case s.authority == nil:
		return nil, "the authorizer does not support user rule resolution"
	}
	rules, err := s.authority.rbac.Rules(u, namespace)
	if err != nil {
		return rules, err.Error()
	}
	if _, ok := node.NameOf(u); ok {
		return rules, "node authorizer does not support user rule resolution"
	}
	return rules, ""
}
