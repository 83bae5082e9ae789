package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/proxy"
)

func TestMain(m *testing.M) {
	if os.Getenv(inNamespace) != "" {
		if err := raiseLoopback(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// rig is an API server with a proxy on it.
type rig struct {
	*testing.T
	server *apiserver.Server
	*kube.Cluster
	lines *lines
	// stop ends the proxy and waits for it.
	stop func()
}

// newRig starts both. Addresses of services and nodes are from ranges that nobody else on the machine listens on.
func newRig(t *testing.T, o proxy.Options) *rig {
	t.Helper()
	ips := o.ServiceIPs
	if !ips.IsValid() {
		ips = netip.MustParsePrefix("127.97.0.0/16")
	}
	server, err := apiserver.Start(t.Context(), apiserver.Options{ServiceIPs: ips})
	require.NoError(t, err)
	c, err := kube.Connect(&clientrest.Config{Host: server.URL()})
	require.NoError(t, err)
	r := &rig{T: t, server: server, Cluster: c, lines: newLines()}
	o.Cluster, o.Logger = c, slog.New(slog.NewTextHandler(r.lines, nil))
	o.NodeAddresses = []netip.Addr{netip.MustParseAddr("127.98.0.1")}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := proxy.Run(ctx, o); err != nil {
			t.Error(err)
		}
	})
	r.stop = func() { cancel(); running.Wait() }
	t.Cleanup(func() {
		r.stop()
		c.Close()
		require.NoError(t, server.Close())
	})
	return r
}

// service makes one with a port by name http.
func (r *rig) service(name string, change func(*corev1.Service)) *corev1.Service {
	r.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: freePort(r.T)}}
	if change != nil {
		change(s)
	}
	made, err := kube.For[*corev1.Service](r.Cluster).Create(r.Context(), s)
	require.NoError(r, err)
	return made
}

func (r *rig) deleteService(s *corev1.Service) {
	r.Helper()
	require.NoError(r, kube.For[*corev1.Service](r.Cluster).Delete(r.Context(), key(s), metav1.DeleteOptions{}))
}

// endpoints makes the slices of a service that are wanted: one for each endpoint, as ports differ.
func (r *rig) endpoints(s *corev1.Service, to ...netip.AddrPort) {
	r.Helper()
	all := kube.For[*discoveryv1.EndpointSlice](r.Cluster)
	for i, e := range to {
		slice := sliceOf(s, fmt.Sprintf("%s-%s-%d", s.Name, s.UID, i), e)
		if _, err := all.Create(r.Context(), slice); err != nil {
			_, err = all.Update(r.Context(), slice)
			require.NoError(r, err)
		}
	}
	for i := len(to); ; i++ {
		k := listwatch.Key{Namespace: s.Namespace, Name: fmt.Sprintf("%s-%s-%d", s.Name, s.UID, i)}
		if kube.UnlessBehind(all.Delete(r.Context(), k, metav1.DeleteOptions{})) != nil || i >= 10 {
			return
		}
	}
}

// sliceOf is a slice of one endpoint.
func sliceOf(s *corev1.Service, name string, e netip.AddrPort) *discoveryv1.EndpointSlice {
	http, port := "http", int32(e.Port())
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: s.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, corev1.SchemeGroupVersion.WithKind("Service"))},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{e.Addr().String()}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &http, Port: &port}},
	}
}

func key(o metav1.Object) listwatch.Key {
	return listwatch.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) int32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return int32(l.Addr().(*net.TCPAddr).Port)
}

// at is where a service is listened on.
func at(s *corev1.Service) string {
	return net.JoinHostPort(s.Spec.ClusterIP, fmt.Sprint(s.Spec.Ports[0].Port))
}

// echo is an endpoint: it says its name, and then what it hears.
func echo(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				if _, err := c.Write([]byte(name)); err == nil {
					_, _ = io.Copy(c, c) // until the client ends
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// dial connects to a service and returns the one byte that the endpoint says first.
func dial(t *testing.T, to string) (*net.TCPConn, string) {
	t.Helper()
	c, err := net.Dial("tcp", to)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn), say(t, c, "")
}

// say sends a text and reads an answer as long, or one byte.
func say(t *testing.T, c net.Conn, text string) string {
	t.Helper()
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
	answer := make([]byte, max(1, len(text)))
	_, err = io.ReadFull(c, answer)
	require.NoError(t, err)
	return string(answer)
}

// lines are what the proxy has logged.
type lines struct {
	mu   sync.Mutex
	more sync.Cond
	all  []string // guarded by mu
	next int      // guarded by mu; what until has not looked at yet
}

func newLines() *lines {
	l := &lines{}
	l.more.L = &l.mu
	return l
}

// Write takes a line.
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(bytes.TrimSpace(line)))
	l.more.Broadcast()
	return len(line), nil
}

// until blocks until a line comes that matches, behind the one that the last call has found.
func (l *lines) until(t *testing.T, expression string, a ...any) {
	t.Helper()
	want := regexp.MustCompile(fmt.Sprintf(expression, a...))
	stop := context.AfterFunc(t.Context(), l.more.Broadcast)
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for t.Context().Err() == nil {
		for l.next < len(l.all) {
			if l.next++; want.MatchString(l.all[l.next-1]) {
				return
			}
		}
		l.more.Wait()
	}
	t.Fatalf("no line %s in %q", want, l.all)
}

// count says how many lines match.
func (l *lines) count(expression string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if regexp.MustCompile(expression).MatchString(line) {
			n++
		}
	}
	return n
}
