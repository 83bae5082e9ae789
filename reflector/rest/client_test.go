package rest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// tunnel passes TCP connections on. One that is silenced stays open, but whatever comes is
// thrown away: a middlebox that has forgotten it.
type tunnel struct {
	listener  net.Listener
	target    string
	group     worker.Group
	opened    atomic.Int64
	silent    atomic.Int64  // connections up to this number are silent
	swallowed chan struct{} // something has been thrown away

	mu          sync.Mutex
	connections []net.Conn
}

func newTunnel(t *testing.T, target string) *tunnel {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &tunnel{listener: listener, target: target, swallowed: make(chan struct{}, 1)}
	p.group.Go(p.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		for _, c := range p.connections {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.group.Wait()
	})
	return p
}

func (p *tunnel) serve() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		number := p.opened.Add(1)
		far, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.mu.Lock()
		p.connections = append(p.connections, near, far)
		p.mu.Unlock()
		p.group.Go(func() { p.pass(near, far, number) })
		p.group.Go(func() { p.pass(far, near, number) })
	}
}

func (p *tunnel) pass(from, to net.Conn, number int64) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		switch {
		case number <= p.silent.Load():
			select {
			case p.swallowed <- struct{}{}:
			default:
			}
		case n > 0:
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if number > p.silent.Load() {
				_ = to.Close()
			}
			return
		}
	}
}

// Scenario 47. A connection that a middlebox has forgotten says nothing for ever: the end of
// the context ends the watch, and the next one is on a new connection.
func TestSilentConnection(t *testing.T) {
	second := make(chan struct{})
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		body(event("ADDED", "a", "10"))(w, r)
		w.(http.Flusher).Flush()
		<-second
		_, _ = io.WriteString(w, event("ADDED", "b", "11"))
	}, body(event("ADDED", "b", "11")))
	address, err := url.Parse(s.server.URL)
	require.NoError(t, err)
	proxy := newTunnel(t, address.Host)
	src, err := rest.New[*Pod]("http://"+proxy.listener.Addr().String()+"/api/v1/pods", rest.Options{})
	require.NoError(t, err)
	t.Cleanup(src.CloseIdleConnections)

	deadline := errors.New("deadline of the watch")
	ctx, cancel := context.WithCancelCause(t.Context())
	group.Go(func() { <-proxy.swallowed; cancel(deadline) })
	r := &record[*Pod]{}
	err = src.Watch(ctx, listwatch.WatchOptions{ResourceVersion: "9", Timeout: 3 * time.Second}, func(events ...listwatch.Event[*Pod]) error {
		proxy.silent.Store(proxy.opened.Load())
		close(second)
		return r.watch(events...)
	})
	require.ErrorIs(t, err, deadline)
	require.NoError(t, src.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "10"}, r.watch))
	require.Equal(t, []string{"Added ns/a@10", "Added ns/b@11"}, r.events)
	require.EqualValues(t, 2, proxy.opened.Load())
}

// secure starts an HTTP/2 server and returns options that trust it.
func secure(t *testing.T, handler http.Handler) (*httptest.Server, rest.Options) {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	return server, rest.Options{TLS: &tls.Config{RootCAs: authorities}}
}

// Scenario 48. Everything shares one HTTP/2 connection; when that dies without a word, a ping
// finds it out: the watch on it fails, and new requests are on a new connection.
func TestDeadHTTP2Connection(t *testing.T) {
	s := newScript(t)
	server, o := secure(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		if !r.URL.Query().Has("watch") {
			body(podList("9", "", pod("a", "1")))(w, r)
			return
		}
		body(event("ADDED", "a", "10"))(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	address, err := url.Parse(server.URL)
	require.NoError(t, err)
	proxy := newTunnel(t, address.Host)
	o.PingIdle, o.PingTimeout = 100*time.Millisecond, 100*time.Millisecond
	src, err := rest.New[*Pod]("https://"+proxy.listener.Addr().String()+"/api/v1/pods", o)
	require.NoError(t, err)
	t.Cleanup(src.CloseIdleConnections)
	_, _, err = list(src)
	require.NoError(t, err)

	var begin time.Time
	short, cancel := context.WithCancel(t.Context())
	defer cancel()
	listed := make(chan error, 1)
	err = src.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "9"}, func(...listwatch.Event[*Pod]) error {
		proxy.silent.Store(proxy.opened.Load())
		begin = time.Now()
		short, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		group.Go(func() { // on the dead connection, too
			_, err := src.List(short, listwatch.ListOptions{}, func(...*Pod) error { return nil })
			listed <- err
		})
		return nil
	})
	require.ErrorIs(t, err, listwatch.ErrUnavailable, "no context has ended")
	if err := <-listed; err != nil { // it may have been begun again on the new connection
		require.ErrorIs(t, err, listwatch.ErrUnavailable)
	}
	require.NoError(t, short.Err(), "a ping was faster than the timeout of the list")
	cancel()
	require.Less(t, time.Since(begin), 2*time.Second, "the default would be 45 s")
	_, _, err = list(src)
	require.NoError(t, err)
	ended := errors.New("enough")
	err = src.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "10"}, func(...listwatch.Event[*Pod]) error { return ended })
	require.ErrorIs(t, err, ended)
	require.EqualValues(t, 2, proxy.opened.Load(), "all that came later is on one new connection")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		require.Equal(t, "HTTP/2.0", r.Proto)
	}
	require.Equal(t, "10", s.requests[len(s.requests)-1].URL.Query().Get("resourceVersion"))
}

// Over HTTP/2 an event may come in several frames, and the stream ends without the connection.
func TestWatchOverHTTP2(t *testing.T) {
	big := strings.Replace(event("ADDED", "big", "11"), `"kind"`, `"x":"`+strings.Repeat("x", 70<<10)+`","kind"`, 1)
	server, o := secure(t, body(event("ADDED", "a", "10")+big+bookmark("12", "")))
	src, err := rest.New[*Pod](server.URL+"/api/v1/pods", o)
	require.NoError(t, err)
	t.Cleanup(src.CloseIdleConnections)
	for range 2 {
		r, err := watch(src, listwatch.WatchOptions{ResourceVersion: "9"})
		require.NoError(t, err)
		require.Equal(t, []string{"Added ns/a@10", "Added ns/big@11", "Bookmark@12"}, r.events)
	}
	// Who is not trusted is not talked to.
	stranger, err := rest.New[*Pod](server.URL+"/api/v1/pods", rest.Options{})
	require.NoError(t, err)
	t.Cleanup(stranger.CloseIdleConnections)
	_, _, err = list(stranger)
	require.ErrorIs(t, err, listwatch.ErrUnavailable)
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown)
}

// Scenario 29. A server that goes away in the middle, or before it answers, is unavailable; the
// context has not ended.
func TestConnectionReset(t *testing.T) {
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		body(event("ADDED", "a", "10"))(w, r)
		w.(http.Flusher).Flush()
		abort(w, r)
	}, abort)
	r, err := watch(source[*Pod](s, rest.Options{}), listwatch.WatchOptions{ResourceVersion: "9"})
	require.ErrorIs(t, err, listwatch.ErrUnavailable)
	require.NotErrorIs(t, err, listwatch.ErrDecode, "what came was in order")
	require.Equal(t, []string{"Added ns/a@10"}, r.events)
	_, err = watch(source[*Pod](s, rest.Options{}), listwatch.WatchOptions{ResourceVersion: "10"})
	require.ErrorIs(t, err, listwatch.ErrUnavailable, "before the header")
	require.ErrorIs(t, err, io.EOF)
}
