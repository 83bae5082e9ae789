package tokens_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/tokens"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	start = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	robot = types.NamespacedName{Namespace: "default", Name: "robot"}
)

// cluster is what an issuer finds, with a time of its own.
type cluster struct {
	t       testing.TB
	objects map[string]metav1.Object
	clock   *clock.Mock
	key     *ecdsa.PrivateKey
	issuer  *tokens.Issuer
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func newCluster(t testing.TB) *cluster {
	c := &cluster{t: t, clock: clock.NewMock(), key: newKey(t), objects: map[string]metav1.Object{
		"ServiceAccount default/robot": &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: "u-robot"}},
		"Pod default/p":                &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u-pod"}, Spec: corev1.PodSpec{ServiceAccountName: "robot", NodeName: "n"}},
		"Pod default/other":            &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u-other"}, Spec: corev1.PodSpec{ServiceAccountName: "other"}},
		"Secret default/s":             &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: "u-secret"}},
		"Node /n":                      &corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: "u-node"}},
	}}
	c.clock.Set(start)
	c.issuer = tokens.NewIssuer(tokens.IssuerOptions{Key: c.key, Find: c.find, Clock: c.clock})
	return c
}

func (c *cluster) find(_ context.Context, kind string, of types.NamespacedName) (metav1.Object, error) {
	o, ok := c.objects[kind+" "+of.String()]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: kind}, of.Name)
	}
	return o, nil
}

// request completes a request and returns it.
func (c *cluster) request(spec authenticationv1.TokenRequestSpec) (*authenticationv1.TokenRequest, error) {
	r := &authenticationv1.TokenRequest{Spec: spec}
	return r, c.issuer.Complete(c.t.Context(), robot, r)
}

func (c *cluster) token(spec authenticationv1.TokenRequestSpec) string {
	c.t.Helper()
	r, err := c.request(spec)
	require.NoError(c.t, err)
	return r.Status.Token
}

func (c *cluster) authenticate(token string, audiences ...string) (*auth.User, error) {
	if len(audiences) == 0 {
		audiences = c.issuer.Audiences()
	}
	u, _, err := c.issuer.AuthenticateToken(c.t.Context(), token, audiences)
	return u, err
}

func TestIssued(t *testing.T) {
	c := newCluster(t)
	r, err := c.request(authenticationv1.TokenRequestSpec{})
	require.NoError(t, err)
	require.Equal(t, int64(3600), *r.Spec.ExpirationSeconds)
	require.Equal(t, []string{tokens.DefaultIssuer}, r.Spec.Audiences)
	require.Equal(t, start.Add(time.Hour), r.Status.ExpirationTimestamp.UTC())
	require.Equal(t, "robot", r.Name)

	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(r.Status.Token, ".")[1])
	require.NoError(t, err)
	var said map[string]any
	require.NoError(t, json.Unmarshal(payload, &said))
	id := said["jti"].(string)
	delete(said, "jti")
	at := float64(start.Unix())
	require.Equal(t, map[string]any{
		"iss": tokens.DefaultIssuer, "sub": "system:serviceaccount:default:robot", "aud": []any{tokens.DefaultIssuer},
		"exp": at + 3600, "iat": at, "nbf": at,
		"kubernetes.io": map[string]any{"namespace": "default", "serviceaccount": map[string]any{"name": "robot", "uid": "u-robot"}},
	}, said)

	u, err := c.authenticate(r.Status.Token)
	require.NoError(t, err)
	require.Equal(t, &auth.User{
		Name: "system:serviceaccount:default:robot", UID: "u-robot", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:default"},
		Extra: map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=" + id}},
	}, u)
	_, err = c.authenticate(r.Status.Token, "vault")
	require.ErrorContains(t, err, "other audiences")
	_, of, err := c.issuer.AuthenticateToken(t.Context(), c.token(authenticationv1.TokenRequestSpec{Audiences: []string{"a", "b", "c"}}), []string{"x", "c", "a"})
	require.NoError(t, err)
	require.Equal(t, []string{"c", "a"}, of)

	c.clock.Set(start.Add(-time.Second))
	_, err = c.authenticate(r.Status.Token)
	require.Error(t, err, "it is of the future")
	c.clock.Set(start.Add(time.Hour - time.Second))
	_, err = c.authenticate(r.Status.Token)
	require.NoError(t, err)
	c.clock.Set(start.Add(time.Hour))
	_, err = c.authenticate(r.Status.Token)
	require.ErrorContains(t, err, "expired")
}

// A token ends with what it stands for, and with the object that it is bound to.
func TestBoundTokens(t *testing.T) {
	for object, of := range map[string]struct {
		kind, name string
		extra      []string
	}{
		"ServiceAccount default/robot": {extra: []string{"credential-id"}},
		"Pod default/p":                {"Pod", "p", []string{"credential-id", "node-name", "node-uid", "pod-name", "pod-uid"}},
		"Secret default/s":             {"Secret", "s", []string{"credential-id"}},
		"Node /n":                      {"Node", "n", []string{"credential-id", "node-name", "node-uid"}},
	} {
		c := newCluster(t)
		spec := authenticationv1.TokenRequestSpec{}
		if of.kind != "" {
			spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: of.kind, APIVersion: "v1", Name: of.name, UID: c.objects[object].GetUID()}
		}
		token := c.token(spec)
		u, err := c.authenticate(token)
		require.NoError(t, err, object)
		require.Len(t, u.Extra, len(of.extra))
		for _, key := range of.extra {
			require.Len(t, u.Extra["authentication.kubernetes.io/"+key], 1, key)
		}
		gone := metav1.NewTime(start)
		c.objects[object].SetDeletionTimestamp(&gone)
		_, err = c.authenticate(token)
		require.NoError(t, err, "what is being deleted has a minute left")
		c.clock.Add(61 * time.Second)
		_, err = c.authenticate(token)
		require.ErrorContains(t, err, "was deleted", object)
		c.objects[object].SetDeletionTimestamp(nil)
		c.objects[object].SetUID("u-another")
		_, err = c.authenticate(token)
		require.ErrorContains(t, err, "another one of its name", object)
		delete(c.objects, object)
		_, err = c.authenticate(token)
		require.True(t, apierrors.IsNotFound(err), object)
	}
}

// The node that a pod's token tells may go.
func TestNodeOfABoundPod(t *testing.T) {
	c := newCluster(t)
	token := c.token(authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", Name: "p"}})
	delete(c.objects, "Node /n")
	u, err := c.authenticate(token)
	require.NoError(t, err)
	require.Equal(t, []string{"u-node"}, u.Extra["authentication.kubernetes.io/node-uid"])
	_, err = c.authenticate(c.token(authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", Name: "p"}}))
	require.NoError(t, err, "nor need it be there")
}

func TestRequestsAreRefused(t *testing.T) {
	c := newCluster(t)
	short, long := int64(599), int64(1<<32+1)
	to := func(kind, name, uid string) authenticationv1.TokenRequestSpec {
		return authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: kind, APIVersion: "v1", Name: name, UID: types.UID(uid)}}
	}
	for want, spec := range map[string]authenticationv1.TokenRequestSpec{
		"422 less than 10 minutes":                         {ExpirationSeconds: &short},
		"422 larger than 2^32":                             {ExpirationSeconds: &long},
		"400 cannot bind token to object of type /v1, Kin": to("ConfigMap", "x", ""),
		"400 different serviceaccount name":                to("Pod", "other", ""),
		"409 deleted and then recreated":                   to("Pod", "p", "u-older"),
		"404 \"nope\" not found":                           to("Secret", "nope", ""),
	} {
		_, err := c.request(spec)
		code, text, _ := strings.Cut(want, " ")
		require.ErrorContains(t, err, text)
		require.EqualValues(t, code, string(rune('0'+err.(apierrors.APIStatus).Status().Code/100))+code[1:], want)
	}
	_, err := c.request(authenticationv1.TokenRequestSpec{})
	require.NoError(t, err)
	delete(c.objects, "ServiceAccount default/robot")
	_, err = c.request(authenticationv1.TokenRequestSpec{})
	require.True(t, apierrors.IsNotFound(err))
	other := &authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	require.True(t, apierrors.IsBadRequest(c.issuer.Complete(t.Context(), robot, other)))
}

// forge signs claims as somebody else might. Without changes it makes what the issuer would.
func (c *cluster) forge(method jwt.SigningMethod, key any, change func(jwt.MapClaims)) string {
	c.t.Helper()
	said := jwt.MapClaims{
		"iss": tokens.DefaultIssuer, "sub": "system:serviceaccount:default:robot", "aud": tokens.DefaultIssuer, "exp": start.Unix() + 60,
		"kubernetes.io": map[string]any{"namespace": "default", "serviceaccount": map[string]any{"name": "robot", "uid": "u-robot"}},
	}
	change(said)
	token, err := jwt.NewWithClaims(method, said).SignedString(key)
	require.NoError(c.t, err)
	return token
}

func TestForged(t *testing.T) {
	c := newCluster(t)
	nothing := func(jwt.MapClaims) {}
	set := func(key string, value any) func(jwt.MapClaims) { return func(m jwt.MapClaims) { m[key] = value } }
	es := jwt.SigningMethodES256
	good := c.forge(es, c.key, nothing)
	_, err := c.authenticate(good)
	require.NoError(t, err, "what is refused below, is for what it says alone")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	public, err := c.key.PublicKey.Bytes()
	require.NoError(t, err)
	parts := strings.Split(good, ".")
	forged := map[string]string{
		"nothing":            "",
		"dots":               "..",
		"not signed":         c.forge(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nothing),
		"without signature":  parts[0] + "." + parts[1] + ".",
		"two parts":          parts[0] + "." + parts[1],
		"four parts":         good + ".x",
		"public key as HMAC": c.forge(jwt.SigningMethodHS256, public, nothing),
		"RSA":                c.forge(jwt.SigningMethodRS256, rsaKey, nothing),
		"another key":        c.forge(es, newKey(t), nothing),
		"another issuer":     c.forge(es, c.key, set("iss", "https://elsewhere")),
		"no issuer":          c.forge(es, c.key, func(m jwt.MapClaims) { delete(m, "iss") }),
		"no end":             c.forge(es, c.key, func(m jwt.MapClaims) { delete(m, "exp") }),
		"a strange end":      c.forge(es, c.key, set("exp", "never")),
		"ended":              c.forge(es, c.key, set("exp", start.Unix()-1)),
		"not yet":            c.forge(es, c.key, set("nbf", start.Unix()+1)),
		"no audience":        c.forge(es, c.key, func(m jwt.MapClaims) { delete(m, "aud") }),
		"another audience":   c.forge(es, c.key, set("aud", []string{"vault"})),
		"another subject":    c.forge(es, c.key, set("sub", "system:serviceaccount:kube-system:root")),
		"no account":         c.forge(es, c.key, func(m jwt.MapClaims) { delete(m, "kubernetes.io") }),
		"an unknown account": c.forge(es, c.key, func(m jwt.MapClaims) {
			m["sub"] = "system:serviceaccount:default:root"
			m["kubernetes.io"] = map[string]any{"namespace": "default", "serviceaccount": map[string]any{"name": "root"}}
		}),
		"too long": good + strings.Repeat("x", 16<<10),
	}
	for at := range good {
		// Another letter there, in whichever part.
		letter := byte('A')
		if good[at] == letter {
			letter = 'B'
		}
		forged["changed at "+good[:at]] = good[:at] + string(letter) + good[at+1:]
	}
	for what, token := range forged {
		u, err := c.authenticate(token)
		require.Error(t, err, what)
		require.Nil(t, u, what)
		if len(token) > 20 {
			require.NotContains(t, err.Error(), token, what)
		}
	}
}

const file = `secret1,alice,1,"admins,people"
secret2,bob,
"sec,ret3",carol,3,
`

func TestStatic(t *testing.T) {
	s, err := tokens.ReadStatic(strings.NewReader(file), []string{"here"})
	require.NoError(t, err)
	for token, want := range map[string]*auth.User{
		"secret1":  {Name: "alice", UID: "1", Groups: []string{"admins", "people"}},
		"secret2":  {Name: "bob"},
		"sec,ret3": {Name: "carol", UID: "3"},
	} {
		u, of, err := s.AuthenticateToken(t.Context(), token, []string{"there", "here"})
		require.NoError(t, err)
		require.Equal(t, want, u)
		require.Equal(t, []string{"here"}, of)
		_, _, err = s.AuthenticateToken(t.Context(), token, []string{"there"})
		require.Error(t, err)
	}
	for _, token := range []string{"", "secret", "secret1 ", "SECRET1"} {
		_, _, err := s.AuthenticateToken(t.Context(), token, []string{"here"})
		require.Error(t, err, token)
	}
	for want, bad := range map[string]string{
		"line 2: there must be": "secret1,a,\nsecret2,b\n",
		"line 1: there must be": ",a,1\n",
		"there must be":         "secret1,,1\n",
		"line 3: the token is":  "secret1,a,1\n\nsecret1,b,2\n",
		"parse error on line 2": "secret1,a,1\nsec\"ret2,b,2\n",
	} {
		_, err := tokens.ReadStatic(strings.NewReader(bad), nil)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
		require.NotContains(t, err.Error(), "ret2")
	}
}

func TestVerifier(t *testing.T) {
	c := newCluster(t)
	static, err := tokens.ReadStatic(strings.NewReader(file), c.issuer.Audiences())
	require.NoError(t, err)
	v := tokens.Verifier{All: []tokens.Authenticator{static, c.issuer}, Audiences: c.issuer.Audiences()}
	signed := c.token(authenticationv1.TokenRequestSpec{})
	for header, want := range map[string]string{
		"Bearer secret2": "bob", "bearer secret2": "bob", "Bearer secret2 and more": "bob", "Bearer " + signed: "system:serviceaccount:default:robot",
		"": "", "Basic secret2": "", "Bearer": "", "Bearer ": "", "secret2": "",
		"Bearer secret4": "error", "Bearer  secret2": "", "Bearer " + signed + "x": "error",
	} {
		r := &http.Request{Header: http.Header{"Authorization": {header}}}
		u, err := v.Authenticate(r)
		switch want {
		case "error":
			require.Error(t, err, header)
			require.Nil(t, u)
		case "":
			require.NoError(t, err, header)
			require.Nil(t, u)
		default:
			require.NoError(t, err, header)
			require.Equal(t, want, u.Name)
			require.Contains(t, u.Groups, auth.Authenticated)
			require.Empty(t, r.Header, "the token comes no further")
		}
	}
	_, _, err = (tokens.Verifier{}).Review(t.Context(), "x", nil)
	require.Error(t, err)
}

func FuzzToken(f *testing.F) {
	c := newCluster(f)
	good := c.token(authenticationv1.TokenRequestSpec{})
	f.Add(good)
	f.Add(c.forge(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, func(jwt.MapClaims) {}))
	f.Add("eyJhbGciOiJFUzI1NiJ9.e30.")
	f.Fuzz(func(t *testing.T, token string) {
		u, _, err := c.issuer.AuthenticateToken(t.Context(), token, c.issuer.Audiences())
		require.Equal(t, err == nil, u != nil)
		if err == nil {
			require.Equal(t, good, token)
		} else if len(token) > 30 {
			require.NotContains(t, err.Error(), token)
		}
	})
}

func FuzzStatic(f *testing.F) {
	f.Add(file, "secret1")
	f.Add("a,b\n", "a")
	f.Add("a,\"b\nc", "a")
	f.Fuzz(func(t *testing.T, data, token string) {
		s, err := tokens.ReadStatic(strings.NewReader(data), []string{"here"})
		if err != nil {
			require.Nil(t, s)
			return
		}
		u, _, err := s.AuthenticateToken(t.Context(), token, []string{"here"})
		require.Equal(t, err == nil, u != nil)
		if err == nil {
			require.NotEmpty(t, u.Name)
			require.Contains(t, data, strings.Split(token, `"`)[0])
		}
	})
}
