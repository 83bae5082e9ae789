package apiserver_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// reads reads one config map again and again, as who the headers say.
func (a *api) reads(b *testing.B, header ...string) {
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, a.server.URL()+configMaps+"/c", nil)
		require.NoError(b, err)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		response, err := a.client.Do(r)
		require.NoError(b, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(b, err)
		response.Body.Close()
		require.Equal(b, http.StatusOK, response.StatusCode)
	}
}

// BenchmarkWho is what it costs to know who reads a config map, and whether he may: a request after the other.
func BenchmarkWho(b *testing.B) {
	plain := newAPI(b, apiserver.Options{})
	plain.must("POST", configMaps, `{"metadata":{"name":"c"}}`)
	b.Run("anybody over HTTP", func(b *testing.B) { plain.reads(b) })

	a := newSecureAPI(b, apiserver.Options{RBAC: true})
	a.must("POST", configMaps, `{"metadata":{"name":"c"}}`)
	a.must("POST", serviceAccounts, `{"metadata":{"name":"robot"}}`)
	a.must("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"all"},
		"subjects":[{"kind":"Group","name":"system:authenticated","apiGroup":"rbac.authorization.k8s.io"}],
		"roleRef":{"kind":"ClusterRole","name":"view","apiGroup":"rbac.authorization.k8s.io"}}`)
	dir := directoryOf(b, a)
	bob := a.as(dir, signed(b, dir, x509.Certificate{Subject: pkix.Name{CommonName: "bob"}}))
	nobody := a.as(dir, nil)
	robot := a.requestToken("robot", `{}`)
	b.Run("certificate", func(b *testing.B) { bob.reads(b) })
	b.Run("token of a file", func(b *testing.B) { nobody.reads(b, "Authorization", "Bearer "+secret1) })
	b.Run("token of a service account", func(b *testing.B) { nobody.reads(b, "Authorization", "Bearer "+robot) })
}

// BenchmarkStart is how long a server takes to start, in a directory of its own, with its etcd.
func BenchmarkStart(b *testing.B) {
	for name, start := range map[string]func(testing.TB){
		"plain":             func(t testing.TB) { newAPI(t, apiserver.Options{}).close() },
		"with TLS and RBAC": func(t testing.TB) { newSecureAPI(t, apiserver.Options{RBAC: true}).close() },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				start(b)
			}
		})
	}
}

func (a *api) close() {
	a.client.CloseIdleConnections()
	require.NoError(a.t, a.server.Close())
}
