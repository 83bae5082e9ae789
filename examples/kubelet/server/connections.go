package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
)

// connections are those that are open, whoever reads from them.
type connections struct {
	mu sync.Mutex
	// open and closed are guarded by mu.
	open   map[*connection]struct{}
	closed bool
}

// connection is one of a client. Its context is done once the client has gone, or the connection is closed.
type connection struct {
	net.Conn
	all    *connections
	ctx    context.Context
	cancel context.CancelFunc
}

// listener notes what it accepts.
type listener struct {
	net.Listener
	ctx context.Context
	all *connections
}

func (c *connections) listen(ctx context.Context, l net.Listener) net.Listener {
	return &listener{l, ctx, c}
}

// Accept waits for a client.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, all: l.all}
	c.ctx, c.cancel = context.WithCancel(l.ctx)
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	if l.all.closed {
		c.cancel()
		_ = accepted.Close()
		return nil, net.ErrClosed
	}
	if l.all.open == nil {
		l.all.open = make(map[*connection]struct{})
	}
	l.all.open[c] = struct{}{}
	return c, nil
}

// close closes all, also those that were taken over from the HTTP server.
func (c *connections) close() {
	c.mu.Lock()
	c.closed = true
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for one := range open {
		_ = one.Close() // nobody can do anything about it
	}
}

// Read notices when the client goes.
func (c *connection) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.cancel()
	}
	return n, err
}

// Close closes the connection. To close it again is no error, after which spdystream would wait for somebody to ask for it.
func (c *connection) Close() error {
	c.cancel()
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	if err := c.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

type connectionKey struct{}

// connContext notes in the context of requests when their client has gone.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c.(*connection).ctx)
}

// whileConnected returns a context that is done when ctx is, and when the client of its request has gone; unlike that of
// the request, also once the connection was upgraded.
func whileConnected(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx.Value(connectionKey{}).(context.Context), cancel)
	return ctx, func() { stop(); cancel() }
}
