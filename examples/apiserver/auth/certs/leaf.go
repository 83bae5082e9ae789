package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// Server returns a function for [tls.Config] that gives the server's certificate for names and addresses. It is renewed
// when a client comes and it is about to expire.
func (s *Store) Server(hosts []string) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	get := s.renewed(func() (pair, error) { return s.server(hosts) })
	_, err := get() // what fails, fails at the start
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return get() }, err
}

// Client returns a function that gives a user's client certificate, kept in NAME.pem. It is renewed when it is asked for
// and it is about to expire.
func (s *Store) Client(name string, u *auth.User) (func() (*tls.Certificate, error), error) {
	get := s.renewed(func() (pair, error) { return s.client(name+".pem", u) })
	_, err := get() // what fails, fails at the start
	return get, err
}

// renewed returns a function that gives what get gives for as long as that is fresh.
func (s *Store) renewed(get func() (pair, error)) func() (*tls.Certificate, error) {
	var current pair
	return func() (*tls.Certificate, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if current.cert == nil || !s.fresh(current.cert) {
			var err error
			if current, err = get(); err != nil {
				return nil, err
			}
		}
		return &tls.Certificate{Certificate: [][]byte{current.cert.Raw}, PrivateKey: current.key, Leaf: current.cert}, nil
	}
}

// client returns the pair in a file, or a new one when that is not good for the user.
func (s *Store) client(file string, u *auth.User) (pair, error) {
	if old, err := s.load(file); err == nil && s.isOf(old, u) {
		return old, nil
	}
	made, err := s.makeClient(u)
	if err != nil {
		return pair{}, err
	}
	return made, s.save(file, made)
}

// Kubelet makes the certificate by which the kubelet of a node serves, for the name of the node and for other names and
// addresses, writes it and its key into kubelet-NODE.pem, and returns the path of that file. An older one is used again
// while it is good.
func (s *Store) Kubelet(node string, hosts []string) (string, error) {
	if errs := content.IsPathSegmentName(node); len(errs) > 0 {
		return "", fmt.Errorf("node %q: %s", node, errs[0])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	file := "kubelet-" + node + ".pem"
	u := auth.Node(node)
	_, err := s.serving(file, s.template(u.Name, u.Groups, leafLife), append([]string{node}, hosts...))
	return filepath.Join(s.dir, file), err
}

func (s *Store) server(hosts []string) (pair, error) {
	return s.serving("apiserver.pem", s.template("kube-apiserver", nil, leafLife), hosts)
}

// serving returns the pair in a file, or a new one when that is not good for all names and addresses.
func (s *Store) serving(file string, template *x509.Certificate, hosts []string) (pair, error) {
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	old, err := s.load(file)
	if err == nil && s.good(old.cert, x509.ExtKeyUsageServerAuth) &&
		!slices.ContainsFunc(hosts, func(h string) bool { return old.cert.VerifyHostname(h) != nil }) {
		return old, nil
	}
	made, err := makePair(template, &s.authority)
	if err != nil {
		return pair{}, err
	}
	return made, s.save(file, made)
}
