package rest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// serviceAccount is where a pod finds its credentials.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// Config is how to reach a server: what the sources of one program have in common, its
// connections among them. Get it from [InCluster].
type Config struct {
	host      string
	tokenFile string
	namespace string
	client    *http.Client
}

// InCluster returns the config of a program that runs in a pod: the server from the
// environment, the token and the certificate authorities from the mounted service account.
func InCluster() (*Config, error) { return InClusterAt(serviceAccount, os.Getenv) }

// InClusterAt is [InCluster] with the service account in another directory and another
// environment, for tests and for programs that run elsewhere with the files of a pod. The
// token is read again when it is replaced, the certificate authorities are not.
func InClusterAt(dir string, getenv func(string) string) (*Config, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("in cluster: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set: is this a pod?")
	}
	token := filepath.Join(dir, "token")
	if _, err := os.ReadFile(token); err != nil {
		return nil, fmt.Errorf("in cluster: %w", err)
	}
	pem, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("in cluster: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("in cluster: no certificate in %s", filepath.Join(dir, "ca.crt"))
	}
	// A pod may do without it, so may a program that runs elsewhere.
	namespace, _ := os.ReadFile(filepath.Join(dir, "namespace"))
	o := Options{TLS: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}.withDefaults()
	return &Config{
		host: "https://" + net.JoinHostPort(host, port), tokenFile: token,
		namespace: strings.TrimSpace(string(namespace)), client: newClient(o),
	}, nil
}

// URL returns the address of the collection at path, such as "/api/v1/pods".
func (c *Config) URL(path string) string { return c.host + "/" + strings.TrimPrefix(path, "/") }

// Options returns options with the credentials and the client of the config filled in. All
// sources of them share its connections.
func (c *Config) Options() Options { return Options{Client: c.client, TokenFile: c.tokenFile} }

// Namespace returns the namespace of the pod, or "" when it is not known.
func (c *Config) Namespace() string { return c.namespace }
