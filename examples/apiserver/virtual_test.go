package apiserver_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

const (
	selfReviews  = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	tokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews"
)

// A review is answered in the form that it is sent in or asked for, and can only be created.
func TestReviewsAreCreatedAndNotStored(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	got := a.do("POST", selfReviews, `{}`)
	require.Equal(t, 201, got.code)
	require.Regexp(t, `^{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","metadata":{"creationTimestamp":"[^"]+Z"},`+
		`"status":{"userInfo":{"username":"system:admin","groups":\["system:masters","system:authenticated"\]}}}\n$`, got.body)
	yaml := a.do("POST", selfReviews, "kind: SelfSubjectReview\napiVersion: authentication.k8s.io/v1\n",
		"Content-Type", kinds.YAML, "Accept", kinds.YAML)
	require.Equal(t, 201, yaml.code)
	require.Contains(t, yaml.body, "    username: system:admin\n")

	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	var sent bytes.Buffer
	review := &authenticationv1.SelfSubjectReview{}
	review.SetGroupVersionKind(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"))
	require.NoError(t, serializer.Encode(review, &sent))
	binary := a.do("POST", selfReviews, sent.String(), "Content-Type", kinds.Protobuf, "Accept", kinds.Protobuf)
	require.Equal(t, 201, binary.code)
	require.Equal(t, kinds.Protobuf, binary.header.Get("Content-Type"))
	_, _, err := serializer.Decode([]byte(binary.body), nil, review)
	require.NoError(t, err)
	require.Equal(t, "system:admin", review.Status.UserInfo.Username)

	for _, refused := range []string{"GET " + selfReviews, "GET " + selfReviews + "?watch=true", "DELETE " + selfReviews,
		"POST " + selfReviews + "/x", "GET " + selfReviews + "/x", "PUT " + selfReviews + "/x"} {
		method, path, _ := strings.Cut(refused, " ")
		require.Equal(t, 405, a.do(method, path, `{}`).code, refused)
	}
	require.Equal(t, 400, a.do("POST", selfReviews, `{"kind":"TokenReview"}`).code)
	require.Equal(t, 400, a.do("POST", selfReviews+"?fieldValidation=Strict", `{"bogus":1}`).code)
	require.Equal(t, 415, a.do("POST", selfReviews, `{}`, "Content-Type", "text/plain").code)
	require.Equal(t, 422, a.do("POST", selfReviews+"?dryRun=nope", `{}`).code)
}
