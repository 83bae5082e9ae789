package certs_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/certs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const day = 24 * time.Hour

var (
	start = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	bob   = &auth.User{Name: "bob", Groups: []string{"team", "people"}}
)

// directory is one with a clock of its own.
type directory struct {
	t     *testing.T
	path  string
	clock *clock.Mock
}

func newDirectory(t *testing.T) *directory {
	d := &directory{t: t, path: filepath.Join(t.TempDir(), "pki"), clock: clock.NewMock()}
	d.clock.Set(start)
	return d
}

func (d *directory) open() *certs.Store {
	d.t.Helper()
	s, err := certs.Open(d.path, d.clock)
	require.NoError(d.t, err)
	return s
}

// server returns the certificate that the server shows for the hosts.
func (d *directory) server(s *certs.Store, hosts ...string) *x509.Certificate {
	d.t.Helper()
	get, err := s.Server(hosts)
	require.NoError(d.t, err)
	return d.shown(get)
}

func (d *directory) shown(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *x509.Certificate {
	d.t.Helper()
	c, err := get(nil)
	require.NoError(d.t, err)
	return c.Leaf
}

// client returns the certificate in the kubeconfig of a user.
func (d *directory) client(s *certs.Store, url string, u *auth.User) *x509.Certificate {
	d.t.Helper()
	path, err := s.Kubeconfig(url, "x", u)
	require.NoError(d.t, err)
	data, err := os.ReadFile(path)
	require.NoError(d.t, err)
	var c clientcmdv1.Config
	require.NoError(d.t, yaml.Unmarshal(data, &c))
	require.Equal(d.t, url, c.Clusters[0].Cluster.Server)
	pair, err := tls.X509KeyPair(c.AuthInfos[0].AuthInfo.ClientCertificateData, c.AuthInfos[0].AuthInfo.ClientKeyData)
	require.NoError(d.t, err)
	return pair.Leaf
}

// What was made once is found again, by another process too, also when only the address has changed.
func TestUsedAgain(t *testing.T) {
	d := newDirectory(t)
	s := d.open()
	server, client := d.server(s, "localhost", "127.0.0.1"), d.client(s, "https://127.0.0.1:1", bob)
	key, err := s.SigningKey()
	require.NoError(t, err)
	d.clock.Add(300 * day)
	s = d.open()
	require.Equal(t, server, d.server(s, "127.0.0.1"))
	require.Equal(t, client, d.client(s, "https://127.0.0.1:2", bob))
	again, err := s.SigningKey()
	require.NoError(t, err)
	require.Equal(t, key, again)
	require.NotEqual(t, server, d.server(s, "127.0.0.1", "example.org"), "it is not for that name")
	require.NotEqual(t, client, d.client(s, "https://127.0.0.1:2", &auth.User{Name: "bob"}), "the groups are others")
}

// The certificates by which the server and its kubelets know each other are for that alone.
func TestKubelets(t *testing.T) {
	d := newDirectory(t)
	s := d.open()
	path, err := s.Kubelet("n1", []string{"127.0.0.1"})
	require.NoError(t, err)
	read := func() *x509.Certificate {
		pair, err := tls.LoadX509KeyPair(path, path)
		require.NoError(t, err)
		return pair.Leaf
	}
	serving := read()
	require.Equal(t, "system:node:n1", serving.Subject.CommonName)
	require.Equal(t, []string{"system:nodes"}, serving.Subject.Organization)
	require.NoError(t, serving.VerifyHostname("n1"))
	require.NoError(t, serving.VerifyHostname("127.0.0.1"))
	require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, serving.ExtKeyUsage)
	_, err = d.open().Kubelet("n1", nil)
	require.NoError(t, err)
	require.Equal(t, serving, read(), "it is used again")
	_, err = s.Kubelet("n1", []string{"10.0.0.1"})
	require.NoError(t, err)
	require.NoError(t, read().VerifyHostname("10.0.0.1"))
	_, err = s.Kubelet("../n1", nil)
	require.ErrorContains(t, err, `node "../n1"`)

	get, err := s.Client("client", bob)
	require.NoError(t, err)
	client := func(get func() (*tls.Certificate, error)) *x509.Certificate {
		c, err := get()
		require.NoError(t, err)
		return c.Leaf
	}
	first := client(get)
	require.Equal(t, "bob", first.Subject.CommonName)
	require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, first.ExtKeyUsage)
	again, err := d.open().Client("client", bob)
	require.NoError(t, err)
	require.Equal(t, first, client(again))
	d.clock.Add(310 * day)
	require.NotEqual(t, first, client(get), "it is renewed while the server runs")
}

func TestRenewed(t *testing.T) {
	d := newDirectory(t)
	s := d.open()
	get, err := s.Server([]string{"localhost"})
	require.NoError(t, err)
	server, client, roots := d.shown(get), d.client(s, "https://a", bob), s.Roots()
	d.clock.Add(310 * day)
	renewed := d.shown(get)
	require.Equal(t, start.Add(310*day+365*day), renewed.NotAfter.UTC(), "also while a server runs")
	require.NotEqual(t, server, renewed)
	require.Equal(t, renewed, d.server(d.open(), "localhost"))
	require.NotEqual(t, client, d.client(s, "https://a", bob))
	require.True(t, roots.Equal(d.open().Roots()))
	d.clock.Add(9 * 365 * day)
	s = d.open()
	require.False(t, roots.Equal(s.Roots()), "the authority is new, and all with it")
	_, err = d.server(s, "localhost").Verify(x509.VerifyOptions{Roots: s.Roots(), CurrentTime: d.clock.Now(), DNSName: "localhost"})
	require.NoError(t, err)
	_, err = d.client(s, "https://a", bob).Verify(x509.VerifyOptions{Roots: s.Roots(), CurrentTime: d.clock.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
}

func TestKeysAreTheOwners(t *testing.T) {
	d := newDirectory(t)
	s := d.open()
	d.server(s, "localhost")
	d.client(s, "https://a", bob)
	_, err := s.SigningKey()
	require.NoError(t, err)
	modes := map[string]os.FileMode{}
	files, err := os.ReadDir(d.path)
	require.NoError(t, err)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		modes[f.Name()] = info.Mode()
	}
	require.Equal(t, map[string]os.FileMode{"apiserver.pem": 0o600, "ca.crt": 0o644, "ca.pem": 0o600, "sa.key": 0o600, "x.kubeconfig": 0o600}, modes)
}

// What others rely on is never made anew because it cannot be read; the rest is.
func TestBrokenFiles(t *testing.T) {
	d := newDirectory(t)
	s := d.open()
	first := d.server(s, "localhost")
	d.client(s, "https://a", bob)
	_, err := s.SigningKey()
	require.NoError(t, err)
	spoil := func(name string) {
		data, err := os.ReadFile(filepath.Join(d.path, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(d.path, name), data[:len(data)/2], 0o600))
	}
	spoil("apiserver.pem")
	require.NotEqual(t, first, d.server(s, "localhost"))
	spoil("x.kubeconfig")
	d.client(s, "https://a", bob)
	spoil("sa.key")
	_, err = s.SigningKey()
	require.ErrorContains(t, err, "sa.key: there is no PRIVATE KEY")
	spoil("ca.pem")
	_, err = certs.Open(d.path, d.clock)
	require.ErrorContains(t, err, "ca.pem: ")
	_, err = s.Kubeconfig("https://a", "../x", bob)
	require.ErrorContains(t, err, `kubeconfig "../x"`)
	_, err = certs.Open(filepath.Join(d.path, "ca.pem"), d.clock)
	require.Error(t, err)
}

// foreign returns a certificate for a client, signed by another authority that has the same name.
func foreign(t *testing.T) *x509.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "listwatch-ca"}, IsCA: true, BasicConstraintsValid: true}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "bob"},
		NotBefore: start.Add(-day), NotAfter: start.Add(day), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), key)
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return c
}

func TestAuthenticate(t *testing.T) {
	d := newDirectory(t)
	s := d.open()
	authenticator := certs.NewAuthenticator(s.Roots(), d.clock)
	authenticate := func(c ...*x509.Certificate) (*auth.User, error) {
		return authenticator.Authenticate(&http.Request{TLS: &tls.ConnectionState{PeerCertificates: c}})
	}
	own := d.client(s, "https://a", bob)
	u, err := authenticate(own)
	require.NoError(t, err)
	require.Equal(t, "bob", u.Name)
	require.Equal(t, []string{"team", "people"}, u.Groups)
	require.Regexp(t, "^X509SHA256=[0-9a-f]{64}$", u.Extra[auth.CredentialID][0])

	for name, c := range map[string]*x509.Certificate{
		"a server's":       d.server(s, "localhost"),
		"another's":        foreign(t),
		"a nobody's":       d.client(s, "https://a", &auth.User{}),
		"that of an empty": {},
	} {
		u, err := authenticate(c)
		require.Error(t, err, name)
		require.Nil(t, u, name)
	}
	again, err := authenticate(own)
	require.NoError(t, err)
	require.Equal(t, u, again)
	u, err = authenticate(foreign(t), own)
	require.Error(t, err, "a good one that comes along does not help")
	require.Nil(t, u)
	for _, r := range []*http.Request{{}, {TLS: &tls.ConnectionState{}}} {
		u, err = authenticator.Authenticate(r)
		require.NoError(t, err)
		require.Nil(t, u)
	}
	d.clock.Add(366 * day)
	_, err = authenticate(own)
	require.ErrorContains(t, err, "expired")
	d.clock.Set(start.Add(-day))
	_, err = authenticate(own)
	require.Error(t, err, "it is not valid yet")
}
