package apiserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/certs"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/tokens"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// Secure are the options of a server that speaks TLS alone and asks who sends a request: nobody is let in without a
// client certificate of its authority or a token. The zero value works.
type Secure struct {
	// Dir is where the authority, the certificates, the keys and the kubeconfigs are kept. Defaults to "pki" in
	// Options.Dir, or when that is not given either, to a temporary directory that goes with the server.
	Dir string
	// Hosts are names and addresses that clients reach the server by, beside the one that it listens on and the usual
	// ones within a cluster and on its own machine.
	Hosts []string
	// TokenFile is a file of tokens, read at the start; see [tokens.ReadStatic]. Defaults to none.
	TokenFile string
	// Issuer is who signs tokens of service accounts. Defaults to tokens.DefaultIssuer.
	Issuer string
	// Audiences are what tokens for this server must be for. Defaults to Issuer.
	Audiences []string
}

// clusterHosts are the names that a server has within its cluster and on its own machine.
var clusterHosts = []string{"localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
	"kubernetes.default.svc.cluster.local"}

// Admin returns the user of the kubeconfig "admin", who may do everything.
func Admin() *auth.User { return &auth.User{Name: "kubernetes-admin", Groups: []string{auth.Masters}} }

// components are who gets a kubeconfig at the start, by its name.
var components = map[string]*auth.User{
	"admin":              Admin(),
	"controller-manager": {Name: "system:kube-controller-manager"},
	"scheduler":          {Name: "system:kube-scheduler"},
	"proxy":              {Name: "system:kube-proxy"},
}

// access is what a server knows users by.
type access struct {
	// authenticator is nil when everybody is trusted.
	authenticator auth.Authenticator
	issuer        *tokens.Issuer
	verifier      tokens.Verifier
	// certs is nil when the server speaks plain HTTP.
	certs *certs.Store
	// kubeletClient returns the certificate that kubelets know the server by.
	kubeletClient func() (*tls.Certificate, error)
	// temporary is a directory that goes with the server, or "".
	temporary string
}

// openAccess makes what the server knows users by.
func (s *Server) openAccess() error {
	o := s.options.Secure
	if o == nil {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		s.access.authenticator = s.options.Authenticator
		s.knowTokens(tokens.IssuerOptions{Key: key})
		return err
	}
	dir := o.Dir
	if dir == "" && s.options.Dir != "" {
		dir = filepath.Join(s.options.Dir, "pki")
	}
	var err error
	if dir == "" {
		if dir, err = os.MkdirTemp("", "apiserver-pki-"); err != nil {
			return err
		}
		s.access.temporary = dir
	}
	if s.access.certs, err = certs.Open(dir, s.options.Clock); err != nil {
		return err
	}
	client := &auth.User{Name: auth.KubeletClient}
	if s.access.kubeletClient, err = s.access.certs.Client("apiserver-kubelet-client", client); err != nil {
		return err
	}
	key, err := s.access.certs.SigningKey()
	if err != nil {
		return err
	}
	s.knowTokens(tokens.IssuerOptions{Key: key, Issuer: o.Issuer, Audiences: o.Audiences})
	if err := s.readTokens(o.TokenFile); err != nil {
		return err
	}
	all := auth.Any{certs.NewAuthenticator(s.access.certs.Roots(), s.options.Clock), s.access.verifier}
	if s.options.Authenticator != nil {
		all = append(all, s.options.Authenticator)
	}
	s.access.authenticator = all
	return nil
}

func (s *Server) knowTokens(o tokens.IssuerOptions) {
	o.Find, o.Clock = s.find, s.options.Clock
	s.access.issuer = tokens.NewIssuer(o)
	s.access.verifier = tokens.Verifier{All: []tokens.Authenticator{s.access.issuer}, Audiences: s.access.issuer.Audiences()}
}

// readTokens adds the tokens of a file to those that the server knows.
func (s *Server) readTokens(name string) error {
	if name == "" {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	static, err := tokens.ReadStatic(file, s.access.issuer.Audiences())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.access.verifier.All = append([]tokens.Authenticator{static}, s.access.verifier.All...)
	return nil
}

// bindable are the rows of what a token can be bound to, by kind.
var bindable = map[string]*kinds.Kind{
	"ServiceAccount": kinds.ServiceAccounts(), "Pod": kinds.Pods(), "Secret": kinds.Secrets(), "Node": kinds.Nodes(),
}

// find is [tokens.IssuerOptions.Find].
func (s *Server) find(ctx context.Context, kind string, of types.NamespacedName) (metav1.Object, error) {
	return s.registry.Get(ctx, registry.Target{Kind: bindable[kind], Namespace: of.Namespace, Name: of.Name}, "")
}

// checkPlain refuses to speak plain HTTP on an address that others can reach.
func checkPlain(address string) error {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return err
	}
	if !at.IP.IsLoopback() {
		return fmt.Errorf("plain HTTP is for loopback addresses only, and %s is none", address)
	}
	return nil
}

// address sets the URL of the server, and the TLS it speaks.
func (s *Server) address(listener net.Listener) (*tls.Config, error) {
	at := listener.Addr().(*net.TCPAddr)
	host, _, err := net.SplitHostPort(at.String())
	if err != nil {
		return nil, err
	}
	port := fmt.Sprint(at.Port)
	if s.options.Secure == nil {
		s.url = "http://" + net.JoinHostPort(host, port)
		return nil, nil
	}
	hosts := append(append([]string{}, s.options.Secure.Hosts...), clusterHosts...)
	if !at.IP.IsUnspecified() {
		hosts = append([]string{host}, hosts...)
	}
	s.url = "https://" + net.JoinHostPort(hosts[0], port)
	certificate, err := s.access.certs.Server(hosts)
	if err != nil {
		return nil, err
	}
	for name, u := range components {
		if _, err := s.Kubeconfig(name, u); err != nil {
			return nil, err
		}
	}
	// Certificates of clients are judged with each request, so that a bad one is answered with a Status.
	return &tls.Config{GetCertificate: certificate, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}, nil
}

// Kubeconfig writes NAME.kubeconfig, with a client certificate of the user, into the directory of [Secure], and returns
// its path. An older one's certificate is used again while it is good. Those of "admin", "controller-manager",
// "scheduler" and "proxy" are there when the server has started; kubelets are [auth.Node]. It fails on a server without
// Options.Secure.
func (s *Server) Kubeconfig(name string, u *auth.User) (string, error) {
	if s.access.certs == nil {
		return "", errors.New("apiserver: a server that trusts everybody has no kubeconfigs")
	}
	return s.access.certs.Kubeconfig(s.url, name, u)
}

// KubeletCertificate writes the certificate and the key that the kubelet of a node serves with into the directory of
// [Secure], for the name of the node and other names and addresses, and returns the paths of that file and of the one with
// the authority that signs for clients, this server among them. An older certificate is used again while it is good. It
// fails on a server without Options.Secure.
func (s *Server) KubeletCertificate(node string, hosts ...string) (certificate, authority string, err error) {
	if s.access.certs == nil {
		return "", "", errors.New("apiserver: a server that trusts everybody has no certificates")
	}
	certificate, err = s.access.certs.Kubelet(node, hosts)
	return certificate, s.access.certs.Authority(), err
}
