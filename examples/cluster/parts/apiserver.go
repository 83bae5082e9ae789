package parts

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startTime bounds how long etcd and the API server may take to begin.
const startTime = time.Minute

// runAPIServer runs etcd and the API server, and writes the kubeconfigs of all parts.
func (s Settings) runAPIServer(ctx context.Context, o Observer) (err error) {
	begin, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	db, err := etcd.Start(begin, etcd.Options{Dir: filepath.Join(s.Dir, "etcd")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	address, err := s.address()
	if err != nil {
		return err
	}
	server, err := apiserver.Start(begin, apiserver.Options{
		Address: address, Etcd: db.Client(), Secure: &apiserver.Secure{Dir: s.pki("")}, RBAC: true, ServiceAccounts: true,
		ServiceIPs: s.ServiceIPs, Logger: o.Logger,
		Namespaces: []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for _, node := range s.NodeNames() {
		_, err1 := server.Kubeconfig("kubelet-"+node, auth.Node(node))
		_, _, err2 := server.KubeletCertificate(node, "127.0.0.1")
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
	}
	at := strings.TrimPrefix(server.URL(), "https://")
	if err := os.WriteFile(filepath.Join(s.Dir, "address"), []byte(at), 0o600); err != nil {
		return err
	}
	o.Logger.Info("serving", "address", server.URL())
	if o.Etcd != nil {
		o.Etcd(db.Client())
	}
	if o.Ready != nil {
		o.Ready()
	}
	<-ctx.Done()
	return nil
}

// address is where the API server listens: where it did before when any free port would do.
func (s Settings) address() (string, error) {
	_, port, err := net.SplitHostPort(s.Listen)
	if err != nil || port != "0" {
		return s.Listen, err
	}
	before, err := os.ReadFile(filepath.Join(s.Dir, "address"))
	if errors.Is(err, fs.ErrNotExist) {
		return s.Listen, nil
	}
	return string(before), err
}
