package certs

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// cluster is what kubeconfigs call the cluster and the context.
const cluster = "listwatch"

// Kubeconfig writes NAME.kubeconfig, with which a user's client reaches the server at the address, and returns its
// path. The client certificate in an older one is used again while it is good.
func (s *Store) Kubeconfig(url, name string, u *auth.User) (string, error) {
	if errs := content.IsPathSegmentName(name); len(errs) > 0 {
		return "", fmt.Errorf("kubeconfig %q: %s", name, errs[0])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	file := name + ".kubeconfig"
	path := filepath.Join(s.dir, file)
	client, ok := s.clientOf(path, u)
	if !ok {
		var err error
		if client, err = s.makeClient(u); err != nil {
			return "", err
		}
	}
	key, err := keyPEM(client.key)
	if err != nil {
		return "", err
	}
	data, err := yaml.Marshal(clientcmdv1.Config{
		Kind: "Config", APIVersion: "v1", CurrentContext: cluster,
		Clusters: []clientcmdv1.NamedCluster{{Name: cluster, Cluster: clientcmdv1.Cluster{
			Server: url, CertificateAuthorityData: certPEM(s.authority.cert)}}},
		Contexts: []clientcmdv1.NamedContext{{Name: cluster, Context: clientcmdv1.Context{Cluster: cluster, AuthInfo: u.Name}}},
		AuthInfos: []clientcmdv1.NamedAuthInfo{{Name: u.Name, AuthInfo: clientcmdv1.AuthInfo{
			ClientCertificateData: certPEM(client.cert), ClientKeyData: key}}},
	})
	if err != nil {
		return "", err
	}
	return path, s.write(file, data, 0o600)
}

// clientOf returns the client certificate in a kubeconfig; false when there is none that is good for the user.
func (s *Store) clientOf(path string, u *auth.User) (pair, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return pair{}, false
	}
	var config clientcmdv1.Config
	if err := yaml.Unmarshal(data, &config); err != nil || len(config.AuthInfos) != 1 {
		return pair{}, false
	}
	info := config.AuthInfos[0].AuthInfo
	p, err := parsePair(append(slices.Clone(info.ClientCertificateData), info.ClientKeyData...))
	return p, err == nil && s.isOf(p, u)
}

// isOf reports whether a pair is good for a client who is the user.
func (s *Store) isOf(p pair, u *auth.User) bool {
	subject := p.cert.Subject
	return s.good(p.cert, x509.ExtKeyUsageClientAuth) && subject.CommonName == u.Name &&
		slices.Equal(slices.Sorted(slices.Values(subject.Organization)), slices.Sorted(slices.Values(u.Groups)))
}

// makeClient makes a pair for a client who is the user.
func (s *Store) makeClient(u *auth.User) (pair, error) {
	template := s.template(u.Name, u.Groups, leafLife)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return makePair(template, &s.authority)
}
