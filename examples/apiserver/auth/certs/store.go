// Package certs is the cluster's own authority: it keeps a directory with the key that signs, the server's certificate and those of kubelets,
// the key of service-account tokens, and kubeconfigs with client certificates, and knows users by these.
//
// # Usage
//
//	store, err := certs.Open("data/pki", clock.New())
//	certificate, err := store.Server([]string{"localhost", "127.0.0.1"})
//	path, err := store.Kubeconfig("https://127.0.0.1:6443", "admin", &auth.User{Name: "kubernetes-admin", Groups: []string{auth.Masters}})
//
// # Guarantees
//
//  1. What is in the directory is used again while it is good, and renewed a sixth of its life before it expires.
//     (TestUsedAgain, TestRenewed)
//  2. Files with keys can be read by their owner alone. (TestKeysAreTheOwners)
//  3. Only certificates that the authority signed for clients, and that have not expired, name a user. (TestAuthenticate)
//  4. A kubelet's certificate is for serving under the name of its node, a client's for clients. (TestKubelets)
//  5. An authority or a key that cannot be read is an error, and is never replaced. (TestBrokenFiles)
//
// # Concurrency
//
// A [Store] is safe for concurrent use. Two processes must not share a directory.
//
// # Testing
//
// The clock that Open takes is the time by which certificates are made and judged.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
)

// How long certificates are valid. A sixth before the end they are renewed.
const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	renewPart     = 6
)

// backdate is how far in the past certificates begin, for clients whose clocks are late.
const backdate = 5 * time.Minute

// Store is a directory with an authority and what it has signed. See [Open].
type Store struct {
	dir       string
	clock     clock.Clock
	authority pair

	mu sync.Mutex // one at a time renews
}

// pair is a certificate and its key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Open opens a directory, and makes it and an authority when they are not there. An authority that is about to expire is
// replaced, and all that it signed with it.
func Open(dir string, c clock.Clock) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, clock: c}
	var err error
	s.authority, err = s.load("ca.pem")
	if err == nil && s.fresh(s.authority.cert) {
		return s, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	template := s.template("listwatch-ca", nil, authorityLife)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	if s.authority, err = makePair(template, nil); err != nil {
		return nil, err
	}
	if err := s.save("ca.pem", s.authority); err != nil {
		return nil, err
	}
	return s, s.write("ca.crt", certPEM(s.authority.cert), 0o644)
}

// Authority returns the path of the file with the authority's certificate.
func (s *Store) Authority() string { return filepath.Join(s.dir, "ca.crt") }

// Roots returns a pool with the authority. The caller may change it.
func (s *Store) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.authority.cert)
	return pool
}

// SigningKey returns the key that signs service-account tokens, and makes it when it is not there.
func (s *Store) SigningKey() (*ecdsa.PrivateKey, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, "sa.key"))
	if errors.Is(err, fs.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		encoded, err := keyPEM(key)
		if err != nil {
			return nil, err
		}
		return key, s.write("sa.key", encoded, 0o600)
	}
	if err != nil {
		return nil, err
	}
	key, err := parseKey(data)
	if err != nil {
		return nil, fmt.Errorf("sa.key: %w", err)
	}
	return key, nil
}

// template is what certificates have in common.
func (s *Store) template(name string, groups []string, life time.Duration) *x509.Certificate {
	now := s.clock.Now()
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) // crypto/rand never fails
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(life), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// fresh reports whether a certificate is valid and not about to expire.
func (s *Store) fresh(c *x509.Certificate) bool {
	now, life := s.clock.Now(), c.NotAfter.Sub(c.NotBefore)
	return !now.Before(c.NotBefore) && now.Before(c.NotAfter.Add(-life/renewPart))
}

// good reports whether a certificate is fresh and signed by the authority for a use.
func (s *Store) good(c *x509.Certificate, use x509.ExtKeyUsage) bool {
	_, err := c.Verify(x509.VerifyOptions{Roots: s.Roots(), CurrentTime: s.clock.Now(), KeyUsages: []x509.ExtKeyUsage{use}})
	return err == nil && s.fresh(c)
}
