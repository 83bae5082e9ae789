package wire

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Endpoint is a place that connections are made to: a listener, and the way to reach it. It is
// safe for concurrent use. The zero value is not usable, use [Memory], [Loopback] or [Remote].
type Endpoint struct {
	net.Listener
	dial func(ctx context.Context) (net.Conn, error)
}

// Dial connects. It blocks until the connection is taken or ctx is done.
func (e *Endpoint) Dial(ctx context.Context) (net.Conn, error) { return e.dial(ctx) }

// Loopback returns an endpoint of TCP on a free port of this machine, which nobody else reaches.
func Loopback() (*Endpoint, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	e := Remote(listener.Addr().String())
	e.Listener = listener
	return e, nil
}

// Remote returns the endpoint of a server that runs elsewhere, for the back of a [Proxy]: address
// is its host and port. Nothing can be accepted there.
func Remote(address string) *Endpoint {
	nobody := &listener{closed: make(chan struct{})}
	_ = nobody.Close()
	return &Endpoint{Listener: nobody, dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", address)
	}}
}

// Memory returns an endpoint in memory, whose connections hold at most 256 KiB each way. In a
// bubble of testing/synctest it lives in virtual time.
func Memory() *Endpoint {
	l := &listener{taken: make(chan net.Conn), closed: make(chan struct{})}
	return &Endpoint{Listener: l, dial: l.dial}
}

// Client returns a client whose requests all go to the endpoint, whatever the host of their URL
// is. With http2 it speaks HTTP/2 from the first byte and pings a silent connection after 30 s,
// else it speaks HTTP/1.1. Close its idle connections at the end.
func (e *Endpoint) Client(http2 bool) *http.Client {
	transport := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return e.dial(ctx) },
		Protocols:       new(http.Protocols),
		IdleConnTimeout: 90 * time.Second,
		HTTP2:           &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	return &http.Client{Transport: transport}
}

// listener is the listener of an endpoint in memory.
type listener struct {
	taken  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *listener) dial(ctx context.Context) (net.Conn, error) {
	here, there := pipe()
	select {
	case l.taken <- there:
		return here, nil
	case <-l.closed:
		return nil, fmt.Errorf("wire: %w", net.ErrClosed)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept waits for a connection.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.taken:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses further connections.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr names the listener.
func (l *listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "memory" }
