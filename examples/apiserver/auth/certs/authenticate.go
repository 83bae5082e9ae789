package certs

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// Authenticator knows users by their client certificates: the common name is the user's, the organizations are the
// groups. It is safe for concurrent use.
type Authenticator struct {
	// Roots are the authorities whose certificates are believed.
	Roots *x509.CertPool
	// Clock is the time at which they must be valid.
	Clock clock.Clock
}

// Authenticate implements [auth.Authenticator]. It looks at the certificate in each request, so one that expires while
// its connection is open is refused from then on.
func (a Authenticator) Authenticate(r *http.Request) (*auth.User, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	own := r.TLS.PeerCertificates[0]
	between := x509.NewCertPool()
	for _, c := range r.TLS.PeerCertificates[1:] {
		between.AddCert(c)
	}
	if _, err := own.Verify(x509.VerifyOptions{
		Roots: a.Roots, Intermediates: between, CurrentTime: a.Clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return nil, err
	}
	if own.Subject.CommonName == "" {
		return nil, errors.New("a client certificate without a common name")
	}
	sum := sha256.Sum256(own.Raw)
	return &auth.User{
		Name: own.Subject.CommonName, Groups: own.Subject.Organization,
		Extra: map[string][]string{auth.CredentialID: {"X509SHA256=" + hex.EncodeToString(sum[:])}},
	}, nil
}
