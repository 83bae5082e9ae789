package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/certs"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/kubelettest"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/server"
)

// kubelet is a server of a host with one pod, default/p with the containers a and b.
type kubelet struct {
	t      testing.TB
	host   *kubelettest.Host
	server *server.Server
	client *http.Client
	// logged is read when the server is closed.
	logged *bytes.Buffer
}

func newPod(name, uid string) *corev1.Pod {
	p := &corev1.Pod{}
	p.Namespace, p.Name, p.UID = "default", name, "uid-1"
	if uid != "" {
		p.UID = "uid-2"
	}
	p.Spec.Containers = []corev1.Container{{Name: "a"}, {Name: "b"}}
	return p
}

func newKubelet(t testing.TB, config *tls.Config) *kubelet {
	t.Helper()
	k := &kubelet{t: t, host: kubelettest.New(t), logged: &bytes.Buffer{}}
	k.host.Add(newPod("p", ""))
	s, err := server.Start(server.Options{Host: k.host, TLS: config, Logger: slog.New(slog.NewTextHandler(k.logged, nil))})
	require.NoError(t, err)
	transport := &http.Transport{}
	k.server, k.client = s, &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(t, s.Close())
	})
	return k
}

// get returns the code and the body of an answer.
func (k *kubelet) get(path string) (int, string) {
	k.t.Helper()
	answer, err := k.client.Get(k.server.URL() + path)
	require.NoError(k.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(k.t, err)
	return answer.StatusCode, string(body)
}

func TestLogs(t *testing.T) {
	k := newKubelet(t, nil)
	k.host.Log("default/p", "a", "one", "two")
	expect := func(path string, code int, body string) {
		t.Helper()
		gotCode, gotBody := k.get("/containerLogs/" + path)
		require.Equal(t, code, gotCode, gotBody)
		require.Equal(t, body, gotBody)
	}
	expect("default/p/a", 200, "one\ntwo\n")
	expect("default/p/a?tailLines=1", 200, "two\n")
	expect("default/p/b", 200, "")
	expect("default/p/a?tailLines=x", 400, "tailLines: Invalid value: \"x\": must be an integer\n")
	expect("default/p/a?previous=true", 400, "previous terminated container \"a\" in pod \"p\" not found\n")
	expect("default/q/a", 404, "pods \"q\" not found\n")
	expect("default/..%2Fp/a", 404, "pods \"../p\" not found\n")
	k.host.Restart("default/p", "a")
	k.host.Log("default/p", "a", "three")
	expect("default/p/a", 200, "three\n")
	expect("default/p/a?previous=true&tailLines=1", 200, "two\n")
	k.host.Add(newPod("p", "another"))
	expect("default/p/a", 200, "")
}

// Who follows a log has each line at once, and the end when the container ends.
func TestFollowedLog(t *testing.T) {
	k := newKubelet(t, nil)
	k.host.Log("default/p", "a", "one")
	answer, err := k.client.Get(k.server.URL() + "/containerLogs/default/p/a?follow=true")
	require.NoError(t, err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for _, line := range []string{"one", "two", "three"} {
		if line != "one" {
			k.host.Log("default/p", "a", line)
		}
		require.True(t, lines.Scan())
		require.Equal(t, line, lines.Text())
	}
	k.host.Exit("default/p", "a")
	require.False(t, lines.Scan())
	require.NoError(t, lines.Err())
}

// executors are the ways to run a command.
var executors = map[string]func(*rest.Config, *url.URL) (remotecommand.Executor, error){
	"websocket v5": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutorForProtocols(c, "GET", u.String(), "v5.channel.k8s.io")
	},
	"websocket v4": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutorForProtocols(c, "GET", u.String(), "v4.channel.k8s.io")
	},
	"spdy": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewSPDYExecutor(c, "POST", u)
	},
}

// exec runs a command in default/p, container a.
func (k *kubelet) exec(ctx context.Context, by string, o remotecommand.StreamOptions, command ...string) error {
	k.t.Helper()
	u, err := url.Parse(k.server.URL() + "/exec/default/p/a")
	require.NoError(k.t, err)
	q := url.Values{"command": command}
	for name, is := range map[string]bool{"input": o.Stdin != nil, "output": o.Stdout != nil, "error": o.Stderr != nil, "tty": o.Tty} {
		if is {
			q.Set(name, "1")
		}
	}
	u.RawQuery = q.Encode()
	executor, err := executors[by](&rest.Config{Host: k.server.URL()}, u)
	require.NoError(k.t, err)
	return executor.StreamWithContext(ctx, o)
}

// sizes are those of a terminal.
type sizes chan remotecommand.TerminalSize

func (s sizes) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

func TestExec(t *testing.T) {
	for by := range executors {
		t.Run(by, func(t *testing.T) {
			k := newKubelet(t, nil)
			var out, errs bytes.Buffer
			err := k.exec(t.Context(), by, remotecommand.StreamOptions{Stdout: &out, Stderr: &errs}, "sh", "-c", "echo out; echo err >&2; exit 7")
			var exit utilexec.CodeExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, 7, exit.Code)
			require.Equal(t, "out\n", out.String())
			require.Equal(t, "err\n", errs.String())
			out.Reset()
			const secret = "what-nobody-should-read"
			if by != "websocket v4" { // it cannot tell the end of what is read
				large := strings.Repeat("0123456789abcdef", 1<<16)
				in := strings.NewReader(large + secret)
				require.NoError(t, k.exec(t.Context(), by, remotecommand.StreamOptions{Stdin: in, Stdout: &out}, "cat"))
				require.True(t, large+secret == out.String(), "%d bytes came back", out.Len())
				out.Reset()
			}
			window := make(sizes, 2)
			window <- remotecommand.TerminalSize{Width: 80, Height: 24}
			window <- remotecommand.TerminalSize{Width: 132, Height: 50}
			read, write := io.Pipe()
			defer func() { require.NoError(t, write.Close()) }()
			seen := &until{text: "size 132x50\r\n", then: func() {
				_, err := io.WriteString(write, "go on\n")
				require.NoError(t, err)
				close(window)
			}}
			require.NoError(t, k.exec(t.Context(), by, remotecommand.StreamOptions{Stdin: read, Stdout: seen, Tty: true, TerminalSizeQueue: window},
				"sh", "-c", "read line; echo $line"))
			require.Equal(t, "size 80x24\r\nsize 132x50\r\ngo on\n", seen.all.String())
			err = k.exec(t.Context(), by, remotecommand.StreamOptions{Stdout: &out}, "/no/such/"+secret)
			require.ErrorContains(t, err, "no such file or directory")
			k.host.Exit("default/p", "a")
			require.Error(t, k.exec(t.Context(), by, remotecommand.StreamOptions{Stdout: &out}, "true"))
			require.NoError(t, k.server.Close())
			require.NotContains(t, k.logged.String(), secret)
			require.Contains(t, k.logged.String(), "msg=exec pod=default/p container=a")
		})
	}
}

// until is a writer that does something once a text has come.
type until struct {
	all  bytes.Buffer
	text string
	then func()
}

func (u *until) Write(data []byte) (int, error) {
	before := strings.Contains(u.all.String(), u.text)
	u.all.Write(data)
	if !before && strings.Contains(u.all.String(), u.text) {
		u.then()
	}
	return len(data), nil
}

// fifo makes a pipe with a name, by which a test sees whether a command still runs: one end is open as long as it does.
func fifo(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, makeFIFO(path))
	return path
}

// runForEver runs a command that ends only by being killed, and returns when it runs. The reader ends when the command
// has ended.
func (k *kubelet) runForEver(ctx context.Context, by string) (ended io.ReadCloser, done *sync.WaitGroup) {
	k.t.Helper()
	path := fifo(k.t)
	done = &sync.WaitGroup{}
	done.Go(func() {
		_ = k.exec(ctx, by, remotecommand.StreamOptions{Stdout: io.Discard, Stdin: blocked(ctx)}, "sh", "-c", "exec 3>"+path+"; echo runs >&3; exec sleep 1000")
	})
	file, err := os.Open(path)
	require.NoError(k.t, err)
	line := make([]byte, len("runs\n"))
	_, err = io.ReadFull(file, line)
	require.NoError(k.t, err)
	return file, done
}

// blocked is what nothing comes from until ctx is done.
func blocked(ctx context.Context) io.Reader {
	read, write := io.Pipe()
	context.AfterFunc(ctx, func() { _ = write.Close() })
	return read
}

func TestExecEndsWithItsClient(t *testing.T) {
	for by := range executors {
		t.Run(by, func(t *testing.T) {
			k := newKubelet(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended, done := k.runForEver(ctx, by)
			cancel()
			_, err := io.ReadAll(ended)
			require.NoError(t, err)
			require.NoError(t, ended.Close())
			done.Wait()
		})
	}
}

func TestCloseEndsAll(t *testing.T) {
	k := newKubelet(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all []*sync.WaitGroup
	for by := range executors {
		ended, done := k.runForEver(ctx, by)
		defer func() {
			_, err := io.ReadAll(ended)
			require.NoError(t, err)
			require.NoError(t, ended.Close())
		}()
		all = append(all, done)
	}
	answer, err := k.client.Get(k.server.URL() + "/containerLogs/default/p/a?follow=true")
	require.NoError(t, err)
	forwarder := k.forward(t.Context(), "1")
	require.NoError(t, k.server.Close())
	_, err = io.ReadAll(answer.Body)
	require.Error(t, err)
	require.NoError(t, answer.Body.Close())
	require.Error(t, <-forwarder.ended)
	cancel()
	for _, done := range all {
		done.Wait()
	}
}

// forwarding is what forwards a port.
type forwarding struct {
	port  uint16
	ended chan error
	errs  *bytes.Buffer
}

// forward forwards a port of default/p until ctx is done.
func (k *kubelet) forward(ctx context.Context, port string) forwarding {
	k.t.Helper()
	u, err := url.Parse(k.server.URL() + "/portForward/default/p")
	require.NoError(k.t, err)
	transport, upgrader, err := spdy.RoundTripperFor(&rest.Config{Host: k.server.URL()})
	require.NoError(k.t, err)
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", u)
	ready, f := make(chan struct{}), forwarding{ended: make(chan error, 1), errs: &bytes.Buffer{}}
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:" + port}, ctx.Done(), ready, io.Discard, f.errs)
	require.NoError(k.t, err)
	var running sync.WaitGroup
	running.Go(func() { f.ended <- forwarder.ForwardPorts() })
	select {
	case <-ready:
	case err := <-f.ended:
		require.NoError(k.t, err)
	}
	ports, err := forwarder.GetPorts()
	require.NoError(k.t, err)
	f.port = ports[0].Local
	return f
}

func TestPortForward(t *testing.T) {
	k := newKubelet(t, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				got, err := io.ReadAll(c) // to the end of what the client has to say
				_, err2 := fmt.Fprintf(c, "got %s", got)
				if err := errors.Join(err, err2, c.Close()); err != nil {
					t.Error(err)
				}
			})
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	f := k.forward(ctx, fmt.Sprint(listener.Addr().(*net.TCPAddr).Port))
	for _, text := range []string{"one", strings.Repeat("two", 1<<16)} {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", f.port))
		require.NoError(t, err)
		_, err = io.WriteString(c, text)
		require.NoError(t, err)
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "got "+text, string(got))
		require.NoError(t, c.Close())
	}
	cancel()
	require.NoError(t, <-f.ended)
	require.NoError(t, listener.Close())
	serving.Wait()

	code, body := k.get("/portForward/default/q")
	require.Equal(t, 400, code)
	require.Equal(t, "pod \"q\" does not run\n", body)
}

func TestOtherPaths(t *testing.T) {
	k := newKubelet(t, nil)
	for path, want := range map[string]string{
		"/healthz":                       "200 ok",
		"/stats/summary":                 `200 {"node":`,
		"/pods":                          `200 {"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"p"`,
		"/attach/default/p/a":            "400 nobody can attach",
		"/":                              "404 404 page not found",
		"/run/default/p/a":               "404 ",
		"/exec/default/p/a":              "400 you must specify at least 1 command",
		"/exec/default/p/a?command=true": "400 you must specify at least 1 of stdin, stdout, stderr",
		"/exec/default/p/a?command=true&output=1": "400 ", // it is no stream
	} {
		code, body := k.get(path)
		require.True(t, strings.HasPrefix(fmt.Sprint(code, " ", body), want), "%s: %d %s", path, code, body)
	}
	k.host.Exit("default/p", "a")
	code, body := k.get("/exec/default/p/a?command=true&output=1")
	require.Equal(t, `400 container not found ("a")`+"\n", fmt.Sprint(code, " ", body))
}

func TestOptions(t *testing.T) {
	_, err := server.Start(server.Options{})
	require.ErrorContains(t, err, "Host must be given")
	open, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	_, err = server.Start(server.Options{Host: kubelettest.New(t), Listener: open})
	require.ErrorContains(t, err, "plain HTTP is for loopback addresses only")
	_, err = open.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, server.Run(ctx, server.Options{Host: kubelettest.New(t)}))
	for _, file := range []string{"", t.TempDir()} {
		_, err = server.LoadTLS(file, file)
		require.Error(t, err)
	}
}

func TestOnlyTheAPIServerIsLetIn(t *testing.T) {
	dir := t.TempDir()
	store, err := certs.Open(dir, clock.New())
	require.NoError(t, err)
	file, err := store.Kubelet("n1", []string{"127.0.0.1"})
	require.NoError(t, err)
	config, err := server.LoadTLS(file, store.Authority())
	require.NoError(t, err)
	_, err = server.LoadTLS(file, filepath.Join(dir, "sa.key"))
	require.Error(t, err)
	k := newKubelet(t, config)
	get := func(certificate func() (*tls.Certificate, error)) (string, error) {
		c := &tls.Config{RootCAs: store.Roots()}
		if certificate != nil {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate() }
		}
		transport := &http.Transport{TLSClientConfig: c}
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get(k.server.URL() + "/healthz")
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return string(body), err
	}
	client, err := store.Client("apiserver-kubelet-client", &auth.User{Name: auth.KubeletClient})
	require.NoError(t, err)
	got, err := get(client)
	require.NoError(t, err)
	require.Equal(t, "ok", got)

	_, err = get(nil)
	require.ErrorContains(t, err, "certificate required")
	admin, err := store.Client("admin", &auth.User{Name: "kubernetes-admin", Groups: []string{auth.Masters}})
	require.NoError(t, err)
	got, err = get(admin)
	require.NoError(t, err)
	require.Equal(t, "Forbidden\n", got, "another client of the cluster")
	other, err := certs.Open(t.TempDir(), clock.New())
	require.NoError(t, err)
	foreign, err := other.Client("x", &auth.User{Name: auth.KubeletClient})
	require.NoError(t, err)
	_, err = get(foreign)
	require.Error(t, err, "one of another authority")
	serving, err := tls.LoadX509KeyPair(file, file)
	require.NoError(t, err)
	_, err = get(func() (*tls.Certificate, error) { return &serving, nil })
	require.Error(t, err, "one that is for serving")
	require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, serving.Leaf.ExtKeyUsage)
}
