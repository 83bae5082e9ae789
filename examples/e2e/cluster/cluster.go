package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/rest"
)

// issuer is who signs tokens, and whom they are for.
const issuer = "https://e2e.invalid"

// Cluster is an API server and its etcd. Make it with [Start], end it with [Cluster.Stop].
type Cluster struct {
	// APIServer and Etcd are the two processes. Etcd goes on with its data when it is started
	// again, and so does the API server.
	APIServer, Etcd *Process

	dir      string
	binaries Binaries
	certs    certs
	api      string // host:port
	etcdURL  string
	peerURL  string
	logs     []*os.File
	client   *clientv3.Client
}

// Start starts a cluster whose files are in dir, and blocks until it is ready. The processes live
// until [Cluster.Stop], whatever becomes of ctx.
func Start(ctx context.Context, b Binaries, dir string) (*Cluster, error) {
	c := &Cluster{dir: dir, binaries: b}
	ports, err := FreePorts(3)
	if err != nil {
		return nil, err
	}
	c.api = "127.0.0.1:" + ports[0]
	c.etcdURL, c.peerURL = "http://127.0.0.1:"+ports[1], "http://127.0.0.1:"+ports[2]
	if c.certs, err = makeCerts(dir); err != nil {
		return nil, err
	}
	if c.client, err = clientv3.New(clientv3.Config{Endpoints: []string{c.etcdURL}, Logger: quiet()}); err != nil {
		return nil, err
	}
	if err := errors.Join(c.describeEtcd(), c.describeAPIServer()); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	err = c.Etcd.Start(ctx)
	if err == nil {
		err = c.APIServer.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) describeEtcd() error {
	log, err := c.log("etcd")
	c.Etcd = &Process{
		name: "etcd", path: c.binaries.Etcd, log: log,
		args: []string{
			"--data-dir", c.data(), "--listen-client-urls", c.etcdURL, "--advertise-client-urls", c.etcdURL,
			"--listen-peer-urls", c.peerURL, "--initial-advertise-peer-urls", c.peerURL,
			"--initial-cluster", "default=" + c.peerURL, "--log-level", "warn",
			"--unsafe-no-fsync", // a process that dies leaves what it wrote to the system
			"--quota-backend-bytes", "8589934592",
		},
		ready: func(ctx context.Context) error { return get(ctx, http.DefaultClient, c.etcdURL+"/health") },
	}
	return err
}

func (c *Cluster) describeAPIServer() error {
	log, err := c.log("kube-apiserver")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(c.api)
	client, err := rest.HTTPClientFor(c.Admin())
	c.APIServer = &Process{
		name: "kube-apiserver", path: c.binaries.APIServer, log: log,
		args: []string{
			"--etcd-servers", c.etcdURL, "--etcd-compaction-interval", "0", // tests compact when they want to
			"--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", c.dir,
			"--tls-cert-file", c.certs.server, "--tls-private-key-file", c.certs.serverKey,
			"--client-ca-file", c.certs.ca, "--authorization-mode", "RBAC", "--anonymous-auth=false",
			"--service-account-issuer", issuer, "--api-audiences", issuer,
			"--service-account-key-file", c.certs.tokenKey, "--service-account-signing-key-file", c.certs.tokenKey,
			"--disable-admission-plugins", "ServiceAccount", // no controller makes accounts
			"--shutdown-watch-termination-grace-period", "3s", // otherwise a SIGTERM waits for watches for a minute
			"--service-cluster-ip-range", "10.0.0.0/24", "--endpoint-reconciler-type", "none",
		},
		ready: func(ctx context.Context) error { return get(ctx, client, "https://"+c.api+"/readyz") },
	}
	return err
}

// get succeeds when url answers 200. It leaves no connection behind, since the program at its end
// may be killed next.
func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

// Program returns another program, which has not been started: with arguments of its own, a log beside the others, and a
// function that tells whether it answers. [Cluster.Stop] does not end it.
func (c *Cluster) Program(name, path string, args []string, ready func(context.Context) error) (*Process, error) {
	log, err := c.log(name)
	return &Process{name: name, path: path, log: log, args: args, ready: ready}, err
}

// EtcdURL returns the address of etcd.
func (c *Cluster) EtcdURL() string { return c.etcdURL }

// Address returns where the API server listens, as host:port.
func (c *Cluster) Address() string { return c.api }

// CAFile returns the path of the certificate authority.
func (c *Cluster) CAFile() string { return c.certs.ca }

// Admin returns the config of a client that may do everything, without a rate limit. It has no
// names of files, which client-go would start goroutines for that never end.
func (c *Cluster) Admin() *rest.Config {
	return &rest.Config{
		Host: "https://" + c.api, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.certs.caPEM, CertData: c.certs.admin, KeyData: c.certs.adminKey},
	}
}

// EtcdClient returns a client of the cluster's etcd. The cluster closes it.
func (c *Cluster) EtcdClient() *clientv3.Client { return c.client }

// Stop ends both processes, whatever state they are in, and blocks until they have ended.
func (c *Cluster) Stop() error {
	errs := []error{c.client.Close()}
	for _, p := range []*Process{c.APIServer, c.Etcd} {
		if p != nil {
			errs = append(errs, p.Kill())
		}
	}
	for _, f := range c.logs {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) log(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		c.logs = append(c.logs, f)
	}
	return f, err
}

// FreePorts returns ports that were free a moment ago: the programs can't be given listeners.
func FreePorts(n int) ([]string, error) {
	ports := make([]string, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		if _, ports[i], err = net.SplitHostPort(l.Addr().String()); err != nil {
			return nil, err
		}
	}
	return ports, nil
}
