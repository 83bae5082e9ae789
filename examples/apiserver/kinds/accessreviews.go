package kinds

import authorizationv1 "k8s.io/api/authorization/v1"

// SubjectAccessReviews returns the row of authorization.k8s.io/v1 SubjectAccessReviews, which tell what somebody may do.
func SubjectAccessReviews() *Kind {
	return typed[authorizationv1.SubjectAccessReview](authorizationv1.SchemeGroupVersion, Kind{
		Resource: "subjectaccessreviews", Virtual: true})
}

// LocalSubjectAccessReviews returns the row of authorization.k8s.io/v1 LocalSubjectAccessReviews, which tell what
// somebody may do in a namespace.
func LocalSubjectAccessReviews() *Kind {
	return typed[authorizationv1.LocalSubjectAccessReview](authorizationv1.SchemeGroupVersion, Kind{
		Resource: "localsubjectaccessreviews", Namespaced: true, Virtual: true})
}

// SelfSubjectAccessReviews returns the row of authorization.k8s.io/v1 SelfSubjectAccessReviews, which tell what the
// sender may do.
func SelfSubjectAccessReviews() *Kind {
	return typed[authorizationv1.SelfSubjectAccessReview](authorizationv1.SchemeGroupVersion, Kind{
		Resource: "selfsubjectaccessreviews", Virtual: true})
}

// SelfSubjectRulesReviews returns the row of authorization.k8s.io/v1 SelfSubjectRulesReviews, which tell all that the
// sender may do in a namespace.
func SelfSubjectRulesReviews() *Kind {
	return typed[authorizationv1.SelfSubjectRulesReview](authorizationv1.SchemeGroupVersion, Kind{
		Resource: "selfsubjectrulesreviews", Virtual: true})
}
