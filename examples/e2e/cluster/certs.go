package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certs is how a cluster's parts trust each other: an authority of its own, a certificate of the
// server, one of the administrator, and the key that signs tokens.
type certs struct {
	ca, server, serverKey, tokenKey string // paths
	caPEM, admin, adminKey          []byte
}

// makeCerts makes them, valid for a day, and writes files for those that are passed as such.
func makeCerts(dir string) (certs, error) {
	ca := template(1, pkix.Name{CommonName: "listwatch e2e"})
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	server := template(2, pkix.Name{CommonName: "kube-apiserver"})
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	admin := template(3, pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}})
	c := certs{
		ca: filepath.Join(dir, "ca.crt"), server: filepath.Join(dir, "server.crt"),
		serverKey: filepath.Join(dir, "server.key"), tokenKey: filepath.Join(dir, "tokens.key"),
	}
	caPEM, _, caKey, err := sign(ca, ca, nil)
	if err != nil {
		return c, err
	}
	serverPEM, serverKey, _, err := sign(server, ca, caKey)
	if err != nil {
		return c, err
	}
	_, tokenKey, _, err := sign(template(4, pkix.Name{CommonName: "tokens"}), ca, caKey)
	if err != nil {
		return c, err
	}
	if c.admin, c.adminKey, _, err = sign(admin, ca, caKey); err != nil {
		return c, err
	}
	c.caPEM = caPEM
	for path, data := range map[string][]byte{c.ca: caPEM, c.server: serverPEM, c.serverKey: serverKey, c.tokenKey: tokenKey} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return c, err
		}
	}
	return c, nil
}

// sign returns a certificate with a new key. A nil key of the authority: it signs itself.
func sign(cert, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (certPEM, keyPEM []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, nil, err
	}
	if caKey == nil {
		caKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, key.Public(), caKey)
	if err != nil {
		return nil, nil, nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	return encode("CERTIFICATE", der), encode("EC PRIVATE KEY", keyDER), key, err
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func template(serial int64, name pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: name,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}
