package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/proxy"
	"github.com/seed3bce33ad/listwatch/informer"
)

func TestOptions(t *testing.T) {
	require.ErrorContains(t, proxy.Run(t.Context(), proxy.Options{}), "Cluster")
	require.ErrorContains(t, proxy.Run(t.Context(), proxy.Options{Cluster: &kube.Cluster{}, Retry: -1}), "Retry")
}

func TestEndpointsTakeTurns(t *testing.T) {
	r := newRig(t, proxy.Options{})
	s := r.service("web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })
	r.endpoints(s, echo(t, "a"), echo(t, "b"), echo(t, "c"))
	r.lines.until(t, `service=default/web address=%s/TCP endpoints=3`, at(s))
	got := map[string]int{}
	for range 9 {
		_, name := dial(t, at(s))
		got[name]++
	}
	require.Equal(t, map[string]int{"a": 3, "b": 3, "c": 3}, got)
	_, name := dial(t, net.JoinHostPort("127.98.0.1", fmt.Sprint(s.Spec.Ports[0].NodePort)))
	require.Contains(t, got, name)
}

func TestWithoutEndpointsRefused(t *testing.T) {
	r := newRig(t, proxy.Options{})
	s, a := r.service("web", nil), echo(t, "a")
	r.endpoints(s, a)
	r.lines.until(t, "msg=listening")
	c, _ := dial(t, at(s))

	r.endpoints(s)
	r.lines.until(t, `msg="stopped listening"`)
	_, err := net.Dial("tcp", at(s))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.Equal(t, "go on", say(t, c, "go on"), "what was connected stays so")

	r.endpoints(s, a)
	r.lines.until(t, "msg=listening")
	dial(t, at(s))
	r.deleteService(s)
	r.lines.until(t, `msg="stopped listening"`)
	_, err = net.Dial("tcp", at(s))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.Equal(t, "go on", say(t, c, "go on"))
}

func TestRefusingEndpointIsPassedOver(t *testing.T) {
	r := newRig(t, proxy.Options{})
	s := r.service("web", nil)
	dead := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(freePort(t)))
	r.endpoints(s, dead, echo(t, "b"))
	r.lines.until(t, "endpoints=2")
	for range 4 {
		_, name := dial(t, at(s))
		require.Equal(t, "b", name)
	}
	r.endpoints(s, dead)
	r.lines.until(t, "endpoints=1")
	c, err := net.Dial("tcp", at(s))
	if err == nil { // it may be reset before it is known to be open
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestHalfClosed(t *testing.T) {
	r := newRig(t, proxy.Options{})
	s := r.service("web", nil)
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer l.Close()
	r.endpoints(s, l.Addr().(*net.TCPAddr).AddrPort())
	r.lines.until(t, "msg=listening")
	c, err := net.Dial("tcp", at(s))
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("question"))
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	served, err := l.AcceptTCP()
	require.NoError(t, err)
	defer served.Close()
	heard, err := io.ReadAll(served) // to the end
	require.NoError(t, err)
	require.Equal(t, "question", string(heard))
	_, err = served.Write([]byte("answer"))
	require.NoError(t, err)
	require.NoError(t, served.Close())
	heard, err = io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "answer", string(heard))
}

// The address of the old service is given back and the slices of the old service stay for a while.
func TestServiceIsMadeAgain(t *testing.T) {
	r := newRig(t, proxy.Options{})
	old := r.service("web", nil)
	r.endpoints(old, echo(t, "a"))
	r.lines.until(t, "msg=listening")
	r.deleteService(old)
	anew := r.service("web", func(s *corev1.Service) { s.Spec.ClusterIP = "127.97.200.1" })
	r.lines.until(t, `msg="stopped listening" .*address=%s/`, at(old))
	r.endpoints(anew, echo(t, "b"))
	r.lines.until(t, `msg=listening .*address=%s/TCP endpoints=1`, at(anew))
	for range 3 {
		_, name := dial(t, at(anew))
		require.Equal(t, "b", name)
	}
	_, err := net.Dial("tcp", at(old))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

// One service takes over the address of another.
func TestAddressChangesHands(t *testing.T) {
	r := newRig(t, proxy.Options{})
	fixed := func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.Ports[0].Port = "127.97.200.2", 8080 }
	for i, name := range []string{"a", "b", "c"} {
		s := r.service(name, fixed)
		r.endpoints(s, echo(t, name))
		r.lines.until(t, `msg=listening service=default/%s `, name)
		_, got := dial(t, at(s))
		require.Equal(t, name, got)
		if i < 2 {
			r.deleteService(s)
		}
	}
}

func TestAddressIsTaken(t *testing.T) {
	now := clock.NewMock()
	r := newRig(t, proxy.Options{Clock: now, Retry: time.Minute})
	taken, err := net.Listen("tcp", "127.97.200.3:0")
	require.NoError(t, err)
	s := r.service("web", func(s *corev1.Service) {
		s.Spec.ClusterIP, s.Spec.Ports[0].Port = "127.97.200.3", int32(taken.Addr().(*net.TCPAddr).Port)
	})
	r.endpoints(s, echo(t, "a"))
	r.lines.until(t, `msg="can't listen".*address already in use`)
	var f informer.Factory
	events, err := kube.Follow[*corev1.Event](r.Cluster, &f, kube.Select{Namespace: "default"})
	require.NoError(t, err)
	told := make(chan *corev1.Event, 10)
	_, err = events.AddHandler(t.Context(), func(_ context.Context, c informer.Change[*corev1.Event]) { told <- c.Object }, informer.HandlerOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = f.Run(ctx) })
	defer running.Wait()
	defer cancel()
	require.Equal(t, "CantListen", (<-told).Reason)

	r.endpoints(s, echo(t, "a"), echo(t, "b")) // another step, which fails too
	require.NoError(t, taken.Close())
	// The queue looks at the clock when a key is added, so a step more may be needed until it is parked.
	require.Eventually(t, func() bool {
		now.Add(time.Minute)
		return r.lines.count("msg=listening") == 1
	}, time.Minute, 10*time.Millisecond)
	dial(t, at(s))
	require.Equal(t, 1, r.lines.count("can't listen"))
}

func TestCutWatches(t *testing.T) {
	r := newRig(t, proxy.Options{})
	s, names := r.service("web", nil), "abc"
	var to []netip.AddrPort
	for _, name := range names {
		to = append(to, echo(t, string(name)))
		r.server.CutConnections()
		r.Cluster.Close()
		r.endpoints(s, to...)
		require.NoError(t, r.server.Compact(t.Context()))
		r.server.CutConnections()
		r.Cluster.Close()
		r.lines.until(t, "endpoints=%d", len(to))
	}
	got := map[string]bool{}
	for range names {
		_, name := dial(t, at(s))
		got[name] = true
	}
	require.Len(t, got, len(names))
}

// Endpoints come and go while connections are made: each is served, and goes on for as long as it wants.
func TestEndpointsFlap(t *testing.T) {
	r := newRig(t, proxy.Options{})
	s := r.service("web", nil)
	a, b, c := echo(t, "a"), echo(t, "b"), echo(t, "c")
	r.endpoints(s, a, b, c)
	r.lines.until(t, "endpoints=3")
	var open []net.Conn
	for i := range 60 {
		switch i % 3 {
		case 0:
			r.endpoints(s, b)
		case 1:
			r.endpoints(s, c, a)
		case 2:
			r.endpoints(s, a, b, c)
		}
		conn, _ := dial(t, at(s))
		open = append(open, conn)
	}
	for _, conn := range open {
		require.Equal(t, "still here", say(t, conn, "still here"))
	}
	r.stop()
	for _, conn := range open {
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err, "who stops leaves no connection")
	}
}

func TestAffinity(t *testing.T) {
	now := clock.NewMock()
	r := newRig(t, proxy.Options{Clock: now})
	seconds := int32(60)
	s := r.service("web", func(s *corev1.Service) {
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	})
	all := map[string]netip.AddrPort{"a": echo(t, "a"), "b": echo(t, "b")}
	r.endpoints(s, all["a"], all["b"])
	r.lines.until(t, "endpoints=2")
	from := func(client string) string {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}}
		c, err := d.DialContext(t.Context(), "tcp", at(s))
		require.NoError(t, err)
		defer c.Close()
		return say(t, c, "")
	}
	mine, other := from("127.0.0.11"), from("127.0.0.12")
	require.NotEqual(t, mine, other)
	for range 3 {
		require.Equal(t, mine, from("127.0.0.11"))
		require.Equal(t, other, from("127.0.0.12"))
		now.Add(59 * time.Second)
	}
	require.Equal(t, mine, from("127.0.0.11"), "each connection makes it last longer")
	now.Add(time.Minute)
	require.Equal(t, mine, from("127.0.0.13"), "the turn goes on")
	require.Equal(t, other, from("127.0.0.11"), "forgotten")

	r.endpoints(s, all[mine])
	r.lines.until(t, "endpoints=1")
	require.Equal(t, mine, from("127.0.0.11"), "its endpoint is gone")
}

func TestUDP(t *testing.T) {
	r := newRig(t, proxy.Options{})
	s := r.service("dns", func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP })
	serve := func(name string) netip.AddrPort {
		l, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(t, err)
		var running sync.WaitGroup
		running.Go(func() {
			packet := make([]byte, 100)
			for {
				n, from, err := l.ReadFromUDPAddrPort(packet)
				if errors.Is(err, net.ErrClosed) {
					return
				}
				_, _ = l.WriteToUDPAddrPort(append([]byte(name), packet[:n]...), from)
			}
		})
		t.Cleanup(func() { l.Close(); running.Wait() })
		return l.LocalAddr().(*net.UDPAddr).AddrPort()
	}
	ask := func(c net.Conn, text string) string {
		_, err := c.Write([]byte(text))
		require.NoError(t, err)
		answer := make([]byte, 100)
		n, err := c.Read(answer)
		require.NoError(t, err)
		return string(answer[:n])
	}
	client := func() net.Conn {
		c, err := net.Dial("udp", at(s))
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	a, b := serve("a"), serve("b")
	r.endpoints(s, a, b)
	r.lines.until(t, "/UDP endpoints=2")
	one, two := client(), client()
	first, second := ask(one, "1"), ask(two, "1")
	require.ElementsMatch(t, []string{"a1", "b1"}, []string{first, second})
	require.Equal(t, first, ask(one, "1"), "a client's packets go to one endpoint")
	r.endpoints(s, b)
	r.lines.until(t, "/UDP endpoints=1")
	require.Equal(t, "b2", ask(one, "2"), "while it is there")
	require.Equal(t, "b2", ask(two, "2"))
}
