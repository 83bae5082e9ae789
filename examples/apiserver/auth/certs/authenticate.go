package certs

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/benbjohnson/clock"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// Authenticator knows users by their client certificates: the common name is the user's, the organizations are the
// groups. Make one with [NewAuthenticator]. It is safe for concurrent use.
type Authenticator struct {
	roots *x509.CertPool
	clock clock.Clock
	// proved are the times between which certificates are good whose chain has been followed: that takes longer than
	// most requests.
	proved *lru.Cache[[sha256.Size]byte, validity]
}

// validity is when a certificate, and all on its way to the authority, are good.
type validity struct{ from, until time.Time }

// remembered is how many certificates need no second look at their signatures.
const remembered = 4096

// NewAuthenticator returns one that believes the certificates of some authorities, which must be valid at the time that
// the clock tells.
func NewAuthenticator(roots *x509.CertPool, clock clock.Clock) *Authenticator {
	proved, _ := lru.New[[sha256.Size]byte, validity](remembered) // fails for other sizes alone
	return &Authenticator{roots, clock, proved}
}

// Authenticate implements [auth.Authenticator]. It looks at the certificate in each request, so one that expires while
// its connection is open is refused from then on.
func (a *Authenticator) Authenticate(r *http.Request) (*auth.User, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	own, now := r.TLS.PeerCertificates[0], a.clock.Now()
	sum := sha256.Sum256(own.Raw)
	if good, ok := a.proved.Get(sum); !ok || now.Before(good.from) || now.After(good.until) {
		chain, err := a.verify(r.TLS.PeerCertificates, now)
		if err != nil {
			return nil, err
		}
		a.proved.Add(sum, common(chain))
	}
	if own.Subject.CommonName == "" {
		return nil, errors.New("a client certificate without a common name")
	}
	return &auth.User{
		Name: own.Subject.CommonName, Groups: own.Subject.Organization,
		Extra: map[string][]string{auth.CredentialID: {"X509SHA256=" + hex.EncodeToString(sum[:])}},
	}, nil
}

// verify follows the first of some certificates to an authority, over the others.
func (a *Authenticator) verify(shown []*x509.Certificate, now time.Time) ([]*x509.Certificate, error) {
	between := x509.NewCertPool()
	for _, c := range shown[1:] {
		between.AddCert(c)
	}
	chains, err := shown[0].Verify(x509.VerifyOptions{
		Roots: a.roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, err
	}
	return chains[0], nil
}

// common is when all certificates of a chain are good.
func common(chain []*x509.Certificate) validity {
	v := validity{chain[0].NotBefore, chain[0].NotAfter}
	for _, c := range chain[1:] {
		if c.NotBefore.After(v.from) {
			v.from = c.NotBefore
		}
		if c.NotAfter.Before(v.until) {
			v.until = c.NotAfter
		}
	}
	return v
}
