package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
)

// listen starts an etcd that others reach by the network, and returns its address.
func listen(t *testing.T, tls transport.TLSInfo, scheme string) string {
	t.Helper()
	c := embed.NewConfig()
	c.Dir = t.TempDir()
	c.UnsafeNoFsync = true
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	c.ListenPeerUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(c.Dir, "peer")}}
	c.ListenClientUrls = []url.URL{{Scheme: scheme, Host: "127.0.0.1:0"}}
	c.ClientTLSInfo = tls
	c.TickMs, c.ElectionMs = 20, 200
	server, err := embed.StartEtcd(c)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	<-server.Server.ReadyNotify()
	return scheme + "://" + server.Clients[0].Addr().String()
}

// certificate makes one that signs itself and serves for both sides.
func certificate(t *testing.T) transport.TLSInfo {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return path
	}
	cert := write("cert", "CERTIFICATE", signed)
	return transport.TLSInfo{
		CertFile: cert, KeyFile: write("key", "PRIVATE KEY", private), TrustedCAFile: cert, ClientCertAuth: true,
	}
}

func TestConnect(t *testing.T) {
	// The first of the endpoints does not answer.
	client, err := etcd.Connect(t.Context(), etcd.ConnectOptions{
		Endpoints: []string{"http://127.0.0.1:1", listen(t, transport.TLSInfo{}, "http")},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	_, err = client.Put(t.Context(), "a", "1")
	require.NoError(t, err)
}

func TestConnectWithTLS(t *testing.T) {
	tls := certificate(t)
	o := etcd.ConnectOptions{
		Endpoints: []string{listen(t, tls, "https")},
		CAFile:    tls.CertFile, CertFile: tls.CertFile, KeyFile: tls.KeyFile,
	}
	client, err := etcd.Connect(t.Context(), o)
	require.NoError(t, err)
	_, err = client.Put(t.Context(), "a", "1")
	require.NoError(t, err)
	require.NoError(t, client.Close())

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	o.CertFile, o.KeyFile = "", ""
	_, err = etcd.Connect(ctx, o)
	require.ErrorContains(t, err, "etcd: connect to", "a client without certificate")
}

func TestConnectFails(t *testing.T) {
	_, err := etcd.Connect(t.Context(), etcd.ConnectOptions{})
	require.ErrorContains(t, err, "no endpoints")
	one := []string{"https://127.0.0.1:1"}
	_, err = etcd.Connect(t.Context(), etcd.ConnectOptions{Endpoints: one, CertFile: "x"})
	require.ErrorContains(t, err, "need each other")
	_, err = etcd.Connect(t.Context(), etcd.ConnectOptions{Endpoints: one, CAFile: filepath.Join(t.TempDir(), "none")})
	require.ErrorContains(t, err, "no such file")
	_, err = etcd.Connect(t.Context(), etcd.ConnectOptions{Endpoints: []string{"no\x00address"}})
	require.ErrorContains(t, err, "etcd: connect")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = etcd.Connect(ctx, etcd.ConnectOptions{Endpoints: one})
	require.ErrorIs(t, err, context.Canceled)
}
