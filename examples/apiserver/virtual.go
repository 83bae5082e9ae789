package apiserver

import (
	"context"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// virtual is something that is created and answered, and not stored.
type virtual struct {
	// kind is that of what is sent and answered.
	kind *kinds.Kind
	// create completes what was sent to the target, or says why not.
	create func(ctx context.Context, t registry.Target, o kinds.Object) error
}

// virtualName returns the name under which a target stands in [Server.virtuals].
func virtualName(t registry.Target) string {
	name := t.Kind.GroupResource().String()
	if t.Subresource != "" {
		name += "/" + t.Subresource
	}
	return name
}

// virtualTable returns what is created and not stored, by virtualName.
func (s *Server) virtualTable() map[string]virtual {
	return map[string]virtual{
		"localsubjectaccessreviews.authorization.k8s.io": {kinds.LocalSubjectAccessReviews(), s.reviewLocalAccess},
		"selfsubjectaccessreviews.authorization.k8s.io":  {kinds.SelfSubjectAccessReviews(), s.reviewOwnAccess},
		"selfsubjectrulesreviews.authorization.k8s.io":   {kinds.SelfSubjectRulesReviews(), s.reviewOwnRules},
		"subjectaccessreviews.authorization.k8s.io":      {kinds.SubjectAccessReviews(), s.reviewAccess},
		"selfsubjectreviews.authentication.k8s.io":       {kinds.SelfSubjectReviews(), s.reviewSelf},
		"tokenreviews.authentication.k8s.io":             {kinds.TokenReviews(), s.reviewToken},
		"serviceaccounts/token":                          {kinds.TokenRequests(), s.requestToken},
	}
}

// createVirtual answers a create of what is not stored; nothing else can be done with it.
func (s *Server) createVirtual(w http.ResponseWriter, r *http.Request, t registry.Target, v virtual) error {
	below := t.Subresource != ""
	if r.Method != http.MethodPost || (t.Name != "") != below || t.Kind.Namespaced && t.Namespace == "" {
		return errMethod()
	}
	var o metav1.CreateOptions
	if err := queryOptions(r, &o, "CreateOptions", func() field.ErrorList { return validation.ValidateCreateOptions(&o) }); err != nil {
		return err
	}
	object, err := readObject(w, r, v.kind, o.FieldValidation)
	if err != nil {
		return err
	}
	if err := v.create(r.Context(), t, object); err != nil {
		return err
	}
	return s.writeObject(w, r, http.StatusCreated, v.kind, object)
}

// now is the time as the API writes it, in whole seconds.
func (s *Server) now() metav1.Time { return metav1.NewTime(s.options.Clock.Now().UTC().Truncate(1e9)) }

// reviewSelf tells who sends the request.
func (s *Server) reviewSelf(ctx context.Context, _ registry.Target, o kinds.Object) error {
	review := o.(*authenticationv1.SelfSubjectReview)
	review.ObjectMeta = metav1.ObjectMeta{CreationTimestamp: s.now()}
	review.Status.UserInfo = userInfo(auth.From(ctx))
	return nil
}

// reviewToken tells whose a token is.
func (s *Server) reviewToken(ctx context.Context, _ registry.Target, o kinds.Object) error {
	review := o.(*authenticationv1.TokenReview)
	if review.Spec.Token == "" {
		return badRequest("token is required for TokenReview in authentication")
	}
	review.ObjectMeta, review.Status = metav1.ObjectMeta{}, authenticationv1.TokenReviewStatus{}
	u, audiences, err := s.access.verifier.Review(ctx, review.Spec.Token, review.Spec.Audiences)
	if err != nil {
		review.Status.Error = err.Error()
		return nil
	}
	review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: userInfo(u), Audiences: audiences}
	return nil
}

// requestToken makes a token for a service account.
func (s *Server) requestToken(ctx context.Context, t registry.Target, o kinds.Object) error {
	return s.access.issuer.Complete(ctx, types.NamespacedName{Namespace: t.Namespace, Name: t.Name}, o.(*authenticationv1.TokenRequest))
}

// userInfo is a user as reviews tell of it.
func userInfo(u *auth.User) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups}
	for key, values := range u.Extra {
		if info.Extra == nil {
			info.Extra = make(map[string]authenticationv1.ExtraValue)
		}
		info.Extra[key] = values
	}
	return info
}
