package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seed3bce33ad/listwatch/examples/e2e/cluster"
)

// clients is how many write at the same time.
const clients = 8

// server is one of the two. It runs only while something is measured.
type server struct {
	name    string
	prefix  string // of its keys in etcd
	url     string
	process *cluster.Process
	more    []string // arguments
	started time.Time
	client  *http.Client
	etcd    *clientv3.Client
}

// start starts etcd, and describes both servers.
func start(ctx context.Context, dir string) ([]*server, func() error, error) {
	b, reference, err := programs(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	c, err := cluster.Start(ctx, b, dir)
	if err != nil {
		return nil, nil, err
	}
	fail := func(err error) ([]*server, func() error, error) { return nil, nil, errors.Join(err, c.Stop()) }
	if err := c.APIServer.Term(); err != nil {
		return fail(err)
	}
	config, err := rest.TLSConfigFor(c.Admin())
	if err != nil {
		return fail(err)
	}
	ports, err := cluster.FreePorts(1)
	if err != nil {
		return fail(err)
	}
	theirs := &server{
		name: "kube-apiserver " + b.Kubernetes, prefix: "/real", url: "https://" + c.Address(), process: c.APIServer,
		more: []string{"--etcd-prefix", "/real"}, client: client(config), etcd: c.EtcdClient(),
	}
	ours := &server{name: "apiserver", prefix: "/reference", url: "https://127.0.0.1:" + ports[0], etcd: c.EtcdClient()}
	pki := filepath.Join(dir, "reference")
	ours.process, err = c.Program("apiserver", reference, []string{
		"--listen", "127.0.0.1:" + ports[0], "--etcd-servers", c.EtcdURL(), "--etcd-prefix", ours.prefix, "--compact-every", "-1s",
		"--cert-dir", pki, "--service-account-admission=false", "--log-level", "warn", // as the other one
	}, func(ctx context.Context) error { return ours.ready(ctx, filepath.Join(pki, "admin.kubeconfig")) })
	if err != nil {
		return fail(err)
	}
	stop := func() error {
		if ours.client != nil {
			ours.client.CloseIdleConnections()
		}
		theirs.client.CloseIdleConnections()
		return errors.Join(ours.process.Kill(), c.Stop())
	}
	return []*server{ours, theirs}, stop, nil
}

// ready succeeds when the server answers the administrator, whose credentials it has made.
func (s *server) ready(ctx context.Context, kubeconfig string) error {
	if s.client == nil {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return err
		}
		made, err := rest.TLSConfigFor(config)
		if err != nil {
			return err
		}
		s.client = client(made)
	}
	return s.do(ctx, http.MethodGet, "/readyz", "")
}

// client returns one that speaks HTTP/1.1, so that each watch has a connection with both servers, and that asks for no
// compression.
func client(config *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: config, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		MaxIdleConnsPerHost: 2 * clients, DisableCompression: true,
	}}
}

func (s *server) ask(ctx context.Context, method, path, body string, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "figures")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000)) // only for the message
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return response, nil
}

// do sends a request and reads what comes back, without looking.
func (s *server) do(ctx context.Context, method, path, body string, header ...string) error {
	response, err := s.ask(ctx, method, path, body, header...)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// object sends a request and returns the metadata of what comes back.
func (s *server) object(ctx context.Context, method, path, body string) (meta struct{ UID, ResourceVersion string }, err error) {
	response, err := s.ask(ctx, method, path, body)
	if err != nil {
		return meta, err
	}
	defer response.Body.Close()
	o := struct {
		Metadata *struct{ UID, ResourceVersion string }
	}{&meta}
	return meta, json.NewDecoder(response.Body).Decode(&o)
}

// namespace makes one. It may be there already.
func (s *server) namespace(ctx context.Context, name string) error {
	if s.do(ctx, http.MethodGet, "/api/v1/namespaces/"+name, "") == nil {
		return nil
	}
	return s.do(ctx, http.MethodPost, "/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
}

// together calls f with the numbers below n, from so many goroutines as there are clients.
func together(n int, f func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, clients)
	var group sync.WaitGroup
	for w := range clients {
		group.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[w] = f(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// usage is what the server's process has used.
type usage struct {
	cpu  time.Duration
	peak float64 // MB
}

// tick is the unit of CPU time in /proc.
const tick = 10 * time.Millisecond

func (s *server) usage() (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Pid()))
	if err != nil {
		return usage{}, err
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(after))
	if len(fields) < 13 {
		return usage{}, fmt.Errorf("unknown form: %s", stat)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	status, err3 := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Pid()))
	if err := errors.Join(err1, err2, err3); err != nil {
		return usage{}, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return usage{cpu: time.Duration(user+system) * tick, peak: kb / 1000}, err
}

// forgetPeak makes the largest size count from now on.
func (s *server) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.process.Pid()), []byte("5"), 0)
}
