package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

const serviceAccounts = "/api/v1/namespaces/default/serviceaccounts"

// secret1 is the token of alice.
const secret1 = "secret1-of-alice"

// newSecureAPI returns a secure server whose directory is the options', with the administrator as client. It knows the
// token of alice, too.
func newSecureAPI(t testing.TB, o apiserver.Options) *api {
	t.Helper()
	if o.Secure == nil {
		o.Secure = &apiserver.Secure{}
	}
	o.Secure.Dir, o.Secure.TokenFile = filepath.Join(t.TempDir(), "pki"), filepath.Join(t.TempDir(), "tokens.csv")
	require.NoError(t, os.WriteFile(o.Secure.TokenFile, []byte(secret1+`,alice,1,"people"`+"\n"), 0o600))
	a := newAPI(t, o)
	path, err := a.server.Kubeconfig("admin", apiserver.Admin())
	require.NoError(t, err)
	certificate := certificateOf(t, path)
	a.client = a.as(o.Secure.Dir, &certificate).client
	return a
}

// certificateOf returns the client certificate in a kubeconfig.
func certificateOf(t testing.TB, path string) tls.Certificate {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	certificate, err := tls.X509KeyPair(config.CertData, config.KeyData)
	require.NoError(t, err)
	return certificate
}

// clientOf returns what client-go makes of a kubeconfig.
func clientOf(t testing.TB, path string) *http.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// as returns the server with a client that has a certificate, or none when it is nil.
func (a *api) as(dir string, certificate *tls.Certificate) *api {
	a.t.Helper()
	config := &tls.Config{RootCAs: rootsOf(a.t, dir)}
	if certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	a.t.Cleanup(transport.CloseIdleConnections)
	return &api{t: a.t, server: a.server, client: &http.Client{Transport: transport}}
}

// rootsOf returns the authority of a directory.
func rootsOf(t testing.TB, dir string) *x509.CertPool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(data))
	return roots
}

// whoami returns who the server takes the client for.
func (a *api) whoami(header ...string) authenticationv1.UserInfo {
	a.t.Helper()
	got := a.do("POST", selfReviews, `{}`, header...)
	require.Equal(a.t, 201, got.code, got.body)
	var review authenticationv1.SelfSubjectReview
	unmarshal(a.t, got.body, &review)
	return review.Status.UserInfo
}

// signed returns a certificate for a client: signed by the authority of a directory, or by another when it is "".
func signed(t testing.TB, dir string, template x509.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber = big.NewInt(7)
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	if template.ExtKeyUsage == nil {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	by := tls.Certificate{PrivateKey: key, Leaf: &x509.Certificate{Subject: pkix.Name{CommonName: "listwatch-ca"}}}
	if dir != "" {
		by, err = tls.LoadX509KeyPair(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca.pem"))
		require.NoError(t, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, by.Leaf, key.Public(), by.PrivateKey)
	require.NoError(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Whoever has one of the kubeconfigs is let in, under the name and in the groups that it is for, by HTTP/2.
func TestKubeconfigs(t *testing.T) {
	a := newSecureAPI(t, apiserver.Options{})
	node, err := a.server.Kubeconfig("n1", auth.Node("n1"))
	require.NoError(t, err)
	in := func(name string) string { return filepath.Join(filepath.Dir(node), name+".kubeconfig") }
	for path, want := range map[string]string{
		in("admin"): "kubernetes-admin system:masters", in("controller-manager"): "system:kube-controller-manager",
		in("scheduler"): "system:kube-scheduler", in("proxy"): "system:kube-proxy", node: "system:node:n1 system:nodes",
	} {
		user := (&api{t: t, server: a.server, client: clientOf(t, path)}).whoami()
		require.Equal(t, want+" system:authenticated", strings.Join(append([]string{user.Username}, user.Groups...), " "))
	}
	response, err := a.send(t.Context(), "GET", "/version", "")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "HTTP/2.0", response.Proto)
	_, err = newAPI(t, apiserver.Options{}).server.Kubeconfig("x", auth.Node("x"))
	require.Error(t, err)
}

// A server keeps its authority, so what its clients have is good after a restart, and kubeconfigs follow its address.
func TestSecureRestart(t *testing.T) {
	dir := t.TempDir()
	var client *tls.Certificate
	for range 2 {
		server, err := apiserver.Start(t.Context(), apiserver.Options{Dir: dir, Secure: &apiserver.Secure{}})
		require.NoError(t, err)
		a := &api{t: t, server: server}
		pki := filepath.Join(dir, "pki")
		if client == nil {
			client = signed(t, pki, x509.Certificate{Subject: pkix.Name{CommonName: "bob"}})
		}
		require.Equal(t, "bob", a.as(pki, client).whoami().Username)
		a.client = clientOf(t, filepath.Join(pki, "admin.kubeconfig"))
		require.Equal(t, "kubernetes-admin", a.whoami().Username)
		require.NoError(t, server.Close())
	}
}

// Bad credentials of each kind are answered as recorded, wherever they are sent.
func TestUnauthorized(t *testing.T) {
	a := newSecureAPI(t, apiserver.Options{})
	dir := directoryOf(t, a)
	bob := pkix.Name{CommonName: "bob"}
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	certificates := map[string]*tls.Certificate{
		"none":        nil,
		"foreign":     signed(t, "", x509.Certificate{Subject: bob}),
		"expired":     signed(t, dir, x509.Certificate{Subject: bob, NotBefore: past.Add(-time.Hour), NotAfter: past}),
		"of tomorrow": signed(t, dir, x509.Certificate{Subject: bob, NotBefore: future, NotAfter: future.Add(time.Hour)}),
		"a server's":  signed(t, dir, x509.Certificate{Subject: bob, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}),
		"nobody's":    signed(t, dir, x509.Certificate{Subject: pkix.Name{Organization: []string{auth.Masters}}}),
	}
	headers := []string{"", "Bearer x", "Bearer " + secret1 + "x", "Bearer a.b.c", "Bearer ..", "Basic " + secret1, secret1, "Bearer", "Bearer \xff",
		"Bearer " + strings.Repeat("x", 20<<10), "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ."}
	for name, c := range certificates {
		client := a.as(dir, c)
		for _, header := range headers {
			for _, path := range []string{"/healthz", "/version", "/api", pods, pods + "?watch=true", "/nope", openAPI} {
				got := client.do("GET", path, "", "Authorization", header)
				require.Equal(t, 401, got.code, "%s %q %s", name, header, path)
				require.Equal(t, recorded(t, "status-401.json"), strings.TrimSpace(got.body))
				require.NotContains(t, got.header, "Www-Authenticate")
			}
		}
		require.Equal(t, 401, client.do("POST", selfReviews, `{}`, "Authorization", "Bearer x").code)
		require.Equal(t, "alice", client.whoami("Authorization", "Bearer "+secret1).Username, "a good token beside a bad certificate")
	}
	good := a.as(dir, signed(t, dir, x509.Certificate{Subject: bob}))
	require.Equal(t, "bob", good.whoami("Authorization", "Bearer x").Username, "the certificate is looked at first, as the real server does")
}

const openAPI = "/openapi/v3"

// directoryOf returns where a server keeps its authority.
func directoryOf(t testing.TB, a *api) string {
	t.Helper()
	path, err := a.server.Kubeconfig("admin", apiserver.Admin())
	require.NoError(t, err)
	return filepath.Dir(path)
}

// A certificate that expires while its connection is open is not good any more.
func TestCertificateExpiresOnAConnection(t *testing.T) {
	c := clock.NewMock()
	c.Set(time.Now())
	a := newSecureAPI(t, apiserver.Options{Clock: c, CompactEvery: -1})
	a.client = a.as(directoryOf(t, a), signed(t, directoryOf(t, a), x509.Certificate{Subject: pkix.Name{CommonName: "bob"}})).client
	require.Equal(t, "bob", a.whoami().Username)
	c.Add(2 * time.Hour)
	require.Equal(t, 401, a.do("GET", pods, "").code)
}

func TestTLSOnly(t *testing.T) {
	a := newSecureAPI(t, apiserver.Options{})
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(strings.Replace(a.server.URL(), "https:", "http:", 1) + "/healthz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 400, response.StatusCode)
	old := a.as(directoryOf(t, a), nil)
	old.client.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS11
	old.client.Transport.(*http.Transport).TLSClientConfig.MinVersion = tls.VersionTLS10
	_, err = old.send(t.Context(), "GET", "/healthz", "")
	require.ErrorContains(t, err, "protocol version")
	_, err = apiserver.Start(t.Context(), apiserver.Options{Address: ":0"})
	require.ErrorContains(t, err, "plain HTTP is for loopback addresses only")
}

// Whatever goes wrong, a log has no tokens, headers or keys.
func TestNoSecretsInLogs(t *testing.T) {
	log := &logged{}
	a := newSecureAPI(t, apiserver.Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	dir := directoryOf(t, a)
	a.must("POST", serviceAccounts, `{"metadata":{"name":"robot"}}`)
	token := a.requestToken("robot", `{}`)
	a.must("DELETE", serviceAccounts+"/robot", "")
	secrets := []string{secret1, token, token[:len(token)-2] + "xx", "a-token-nobody-knows", "c2VjcmV0.c2VjcmV0.c2VjcmV0", "dXNlcjpwYXNzd29yZA"}
	for _, secret := range secrets {
		for _, c := range []*tls.Certificate{nil, signed(t, "", x509.Certificate{Subject: pkix.Name{CommonName: "bob"}})} {
			client := a.as(dir, c)
			for _, header := range []string{"Bearer " + secret, "Basic " + secret, secret} {
				client.do("GET", pods, "", "Authorization", header)
				client.do("POST", pods, `{`, "Authorization", header)
				client.do("GET", "/readyz?exclude=x", "", "Authorization", header)
			}
		}
		a.do("POST", tokenReviews, `{"spec":{"token":"`+secret+`"}}`)
		a.do("POST", tokenReviews, `{"spec":{"token":"`+secret+`"`)
	}
	_, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(a.server.URL() + "/healthz")
	require.Error(t, err, "a client that does not know the authority")
	require.NoError(t, a.server.Close())
	text := log.String()
	require.Contains(t, text, "request refused")
	require.Contains(t, text, "TLS handshake error")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		if block, _ := pem.Decode(data); f.Name() == "sa.key" {
			secrets = append(secrets, string(block.Bytes))
		}
	}
	for _, secret := range secrets {
		require.NotContains(t, text, secret)
		for part := range strings.SplitSeq(secret, ".") {
			require.NotContains(t, text, part)
		}
	}
	require.NotContains(t, text, "Bearer")
	require.NotContains(t, text, "PRIVATE KEY")
}

// requestToken makes a token of a service account.
func (a *api) requestToken(name, body string) string {
	a.t.Helper()
	got := a.do("POST", serviceAccounts+"/"+name+"/token", body)
	require.Equal(a.t, 201, got.code, got.body)
	var r authenticationv1.TokenRequest
	unmarshal(a.t, got.body, &r)
	return r.Status.Token
}
