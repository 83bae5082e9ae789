package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	certType = "CERTIFICATE"
	keyType  = "PRIVATE KEY"
)

// makePair makes a key and its certificate, signed by an authority or, when that is nil, by itself.
func makePair(template *x509.Certificate, by *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	if by == nil {
		by = &pair{template, key}
	}
	data, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		return pair{}, err
	}
	cert, err := x509.ParseCertificate(data)
	return pair{cert, key}, err
}

// load reads a file with a certificate and its key.
func (s *Store) load(name string) (pair, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return pair{}, err
	}
	p, err := parsePair(data)
	if err != nil {
		return pair{}, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// save writes a certificate and its key into one file, so that they never belong to two times.
func (s *Store) save(name string, p pair) error {
	key, err := keyPEM(p.key)
	if err != nil {
		return err
	}
	return s.write(name, append(certPEM(p.cert), key...), 0o600)
}

// write replaces a file as a whole, or not at all.
func (s *Store) write(name string, data []byte, mode os.FileMode) error {
	file, err := os.CreateTemp(s.dir, ".new-*") // only its owner may read it
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(s.dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

func parsePair(data []byte) (pair, error) {
	cert, err := parseCert(data)
	if err != nil {
		return pair{}, err
	}
	key, err := parseKey(data)
	if err != nil {
		return pair{}, err
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return pair{}, errors.New("the key is not that of the certificate")
	}
	return pair{cert, key}, nil
}

// block returns the first PEM block of a type.
func block(data []byte, kind string) ([]byte, error) {
	for {
		b, rest := pem.Decode(data)
		if b == nil {
			return nil, fmt.Errorf("there is no %s", kind)
		}
		if b.Type == kind {
			return b.Bytes, nil
		}
		data = rest
	}
}

func parseCert(data []byte) (*x509.Certificate, error) {
	der, err := block(data, certType)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func parseKey(data []byte) (*ecdsa.PrivateKey, error) {
	der, err := block(data, keyType)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok || ec.Curve != elliptic.P256() {
		return nil, errors.New("the key is none of ECDSA P-256")
	}
	return ec, nil
}

func certPEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certType, Bytes: c.Raw})
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: keyType, Bytes: der}), err
}
