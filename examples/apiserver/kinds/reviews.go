package kinds

import authenticationv1 "k8s.io/api/authentication/v1"

// SelfSubjectReviews returns the row of authentication.k8s.io/v1 SelfSubjectReviews, which tell who sends them.
func SelfSubjectReviews() *Kind {
	return typed[authenticationv1.SelfSubjectReview](authenticationv1.SchemeGroupVersion, Kind{
		Resource: "selfsubjectreviews", Virtual: true})
}

// TokenReviews returns the row of authentication.k8s.io/v1 TokenReviews, which tell whose a token is.
func TokenReviews() *Kind {
	return typed[authenticationv1.TokenReview](authenticationv1.SchemeGroupVersion, Kind{
		Resource: "tokenreviews", Virtual: true})
}

// TokenRequests returns the row of authentication.k8s.io/v1 TokenRequests, which are made below service accounts.
// It stands in no table.
func TokenRequests() *Kind {
	return typed[authenticationv1.TokenRequest](authenticationv1.SchemeGroupVersion, Kind{
		Resource: "tokenrequests", Namespaced: true, Virtual: true})
}
