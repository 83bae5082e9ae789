package apiserver_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// A service account's token is good while the account and what it is bound to are there.
func TestServiceAccountTokens(t *testing.T) {
	a := newSecureAPI(t, apiserver.Options{})
	a.must("POST", serviceAccounts, `{"metadata":{"name":"robot"}}`)
	a.must("POST", pods, pod("p", `,"serviceAccountName":"robot"`))
	free := a.requestToken("robot", `{}`)
	bound := a.requestToken("robot", `{"spec":{"audiences":["https://kubernetes.default.svc.cluster.local","vault"],"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}}}`)
	other := a.requestToken("robot", `{"spec":{"audiences":["vault"]}}`)
	nobody := a.as(directoryOf(t, a), nil)
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }

	user := nobody.whoami(bearer(bound)...)
	require.Equal(t, "system:serviceaccount:default:robot", user.Username)
	require.NotEmpty(t, user.UID)
	require.Equal(t, []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"}, user.Groups)
	require.Equal(t, authenticationv1.ExtraValue{"p"}, user.Extra["authentication.kubernetes.io/pod-name"])
	require.Equal(t, 401, nobody.do("GET", pods, "", bearer(other)...).code, "it is for another audience")

	review := func(token, audiences string) authenticationv1.TokenReviewStatus {
		got := a.do("POST", tokenReviews, `{"spec":{"token":"`+token+`","audiences":[`+audiences+`]}}`)
		require.Equal(t, 201, got.code, got.body)
		var r authenticationv1.TokenReview
		unmarshal(t, got.body, &r)
		return r.Status
	}
	told := review(bound, `"vault","x"`)
	require.True(t, told.Authenticated)
	require.Equal(t, user.Username, told.User.Username)
	require.Equal(t, []string{"vault"}, told.Audiences)
	require.True(t, review(secret1, "").Authenticated)
	require.False(t, review(free, `"vault"`).Authenticated)
	require.NotEmpty(t, review("x", "").Error)
	require.Equal(t, 400, a.do("POST", tokenReviews, `{}`).code)

	a.must("DELETE", pods+"/p", "")
	require.Equal(t, 401, nobody.do("GET", pods, "", bearer(bound)...).code)
	require.Equal(t, 200, nobody.do("GET", pods, "", bearer(free)...).code)
	a.must("DELETE", serviceAccounts+"/robot", "")
	require.Equal(t, 401, nobody.do("GET", pods, "", bearer(free)...).code)
	a.must("POST", serviceAccounts, `{"metadata":{"name":"robot"}}`)
	require.Equal(t, 401, nobody.do("GET", pods, "", bearer(free)...).code, "that is another robot")
}

// Requests for tokens that cannot be are refused as the API does.
func TestTokenRequestsAreRefused(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", serviceAccounts, `{"metadata":{"name":"robot"}}`)
	robot := serviceAccounts + "/robot/token"
	for _, c := range []struct {
		code               int
		method, path, body string
	}{
		{201, "POST", robot, `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{"expirationSeconds":600}}`},
		{422, "POST", robot, `{"spec":{"expirationSeconds":599}}`},
		{404, "POST", serviceAccounts + "/nope/token", `{}`},
		{404, "POST", "/api/v1/namespaces/nope/serviceaccounts/robot/token", `{}`},
		{404, "POST", pods + "/robot/token", `{}`},
		{400, "POST", robot, `{"kind":"Pod"}`},
		{400, "POST", robot, `{"metadata":{"name":"other"}}`},
		{405, "GET", robot, ``}, {405, "PUT", robot, `{}`}, {405, "DELETE", robot, ``}, {405, "PATCH", robot, `{}`},
	} {
		got := a.do(c.method, c.path, c.body)
		require.Equal(t, c.code, got.code, "%s %s %s: %s", c.method, c.path, c.body, got.body)
	}
}

// asked is an Authorizer that allows everything but what is denied, and hears what is asked.
type asked struct {
	mu     sync.Mutex
	denied string
	heard  []string
}

func (a *asked) Authorize(_ context.Context, what auth.Attributes) (bool, string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := strings.Join([]string{what.User.Name, what.Verb, what.Resource, what.Subresource, what.Namespace, what.Name}, " ")
	a.heard = append(a.heard, name)
	return what.Verb+" "+what.Resource != a.denied, "", nil
}

func (a *asked) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	heard := a.heard
	a.heard = nil
	return heard
}

// Who may impersonate somebody is taken for him.
func TestImpersonation(t *testing.T) {
	authorizer := &asked{}
	a := newSecureAPI(t, apiserver.Options{Authorizer: authorizer})
	got := a.whoami("Impersonate-User", "bob", "Impersonate-Group", "people", "Impersonate-Uid", "7", "Impersonate-Extra-Scopes", "view")
	require.Equal(t, authenticationv1.UserInfo{Username: "bob", UID: "7", Groups: []string{"people", "system:authenticated"},
		Extra: map[string]authenticationv1.ExtraValue{"scopes": {"view"}}}, got)
	require.Equal(t, []string{
		"kubernetes-admin impersonate users   bob", "kubernetes-admin impersonate groups   people", "kubernetes-admin impersonate uids   7",
		"kubernetes-admin impersonate userextras scopes  view", "bob create selfsubjectreviews   ",
	}, authorizer.take())
	require.Equal(t, []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"},
		a.whoami("Impersonate-User", "system:serviceaccount:ns:robot").Groups)
	require.Equal(t, "kubernetes-admin impersonate serviceaccounts  ns robot", authorizer.take()[0])
	require.Equal(t, []string{"system:unauthenticated"}, a.whoami("Impersonate-User", "system:anonymous").Groups)
	require.Equal(t, 400, a.do("GET", pods, "", "Impersonate-Group", "system:masters").code)

	authorizer.denied = "impersonate groups"
	require.Equal(t, "bob", a.whoami("Impersonate-User", "bob").Username)
	refused := a.do("GET", pods, "", "Impersonate-User", "bob", "Impersonate-Group", "system:masters")
	require.Equal(t, 403, refused.code)
	require.Equal(t, `groups "system:masters" is forbidden: User "kubernetes-admin" cannot impersonate resource "groups" in API group "" at the cluster scope`,
		refused.object(t).Message)
}

// following is an informer of config maps and what it hears.
func following(t *testing.T, source listwatch.ListerWatcher[*corev1.ConfigMap]) chan string {
	t.Helper()
	heard := make(chan string, 100)
	configs := informer.New(source, informer.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := configs.AddHandler(ctx, func(_ context.Context, c informer.Change[*corev1.ConfigMap]) {
		heard <- c.Key.Name
	}, informer.HandlerOptions{})
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() { _ = configs.Run(ctx) }) // it says that ctx is done
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	return heard
}

// An informer with the files of a pod goes on when its token has expired and another one was put in its place.
func TestInformerWithRotatingToken(t *testing.T) {
	c := clock.NewMock()
	c.Set(time.Now())
	a := newSecureAPI(t, apiserver.Options{Clock: c, CompactEvery: -1})
	a.must("POST", serviceAccounts, `{"metadata":{"name":"robot"}}`)
	dir := t.TempDir()
	put := func(name, data string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	authority, err := os.ReadFile(filepath.Join(directoryOf(t, a), "ca.crt"))
	require.NoError(t, err)
	put("ca.crt", string(authority))
	put("namespace", "default")
	first := a.requestToken("robot", `{"spec":{"expirationSeconds":600}}`)
	put("token", first)
	address, err := url.Parse(a.server.URL())
	require.NoError(t, err)
	config, err := rest.InClusterAt(dir, func(name string) string {
		return map[string]string{"KUBERNETES_SERVICE_HOST": address.Hostname(), "KUBERNETES_SERVICE_PORT": address.Port()}[name]
	})
	require.NoError(t, err)
	source, err := rest.New[*corev1.ConfigMap](config.URL(configMaps), config.Options())
	require.NoError(t, err)
	t.Cleanup(source.CloseIdleConnections)
	a.must("POST", configMaps, configMap("before", ""))
	heard := following(t, source)
	require.Equal(t, "before", <-heard)

	c.Add(11 * time.Minute)
	require.Equal(t, 401, a.as(directoryOf(t, a), nil).do("GET", configMaps, "", "Authorization", "Bearer "+first).code)
	put("token", a.requestToken("robot", `{}`))
	a.cutConnections()
	a.must("POST", configMaps, configMap("after", ""))
	require.Equal(t, "after", <-heard)
}

// An informer whose client certificate is replaced goes on with the new one.
func TestInformerWithRotatingCertificate(t *testing.T) {
	authorizer := &asked{}
	a := newSecureAPI(t, apiserver.Options{Authorizer: authorizer})
	dir := directoryOf(t, a)
	var mu sync.Mutex
	use := func(name string) *tls.Certificate {
		return signed(t, dir, x509.Certificate{Subject: pkix.Name{CommonName: name}})
	}
	current := use("first")
	source, err := rest.New[*corev1.ConfigMap](a.server.URL()+configMaps, rest.Options{TLS: &tls.Config{
		RootCAs: rootsOf(t, dir),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			mu.Lock()
			defer mu.Unlock()
			return current, nil
		},
	}})
	require.NoError(t, err)
	t.Cleanup(source.CloseIdleConnections)
	a.must("POST", configMaps, configMap("before", ""))
	heard := following(t, source)
	require.Equal(t, "before", <-heard)
	require.Contains(t, authorizer.take(), "first watch configmaps  default ")
	mu.Lock()
	current = use("second")
	mu.Unlock()
	a.cutConnections()
	a.must("POST", configMaps, configMap("after", ""))
	require.Equal(t, "after", <-heard)
	require.Contains(t, authorizer.take(), "second watch configmaps  default ")
}
