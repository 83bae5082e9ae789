package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// acceptPause is how long to wait when the kernel has no file descriptor for a connection.
const acceptPause = 50 * time.Millisecond

// listenTCP begins to accept connections.
func (p *proxy) listenTCP(at address, b *balancer) (io.Closer, error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at.AddrPort))
	if err != nil {
		return nil, err
	}
	p.running.Go(func() { p.accept(l, b) })
	return l, nil
}

// accept takes connections until the listener is closed.
func (p *proxy) accept(l *net.TCPListener, b *balancer) {
	for {
		client, err := l.AcceptTCP()
		switch {
		case err == nil:
			p.running.Go(func() { p.serve(client, b) })
		case errors.Is(err, net.ErrClosed):
			return
		default:
			p.Logger.Warn("accept", "address", l.Addr(), "err", err)
			select {
			case <-p.ctx.Done():
				return
			case <-p.Clock.After(acceptPause):
			}
		}
	}
}

// serve passes one connection on, to the first endpoint that takes it.
func (p *proxy) serve(client *net.TCPConn, b *balancer) {
	defer closeQuietly(client)
	from := client.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	server := p.dial(from, b)
	if server == nil {
		_ = client.SetLinger(0) // so that the client sees a reset, not an end
		return
	}
	defer closeQuietly(server)
	stop := context.AfterFunc(p.ctx, func() {
		closeQuietly(client)
		closeQuietly(server)
	})
	defer stop()
	var back sync.WaitGroup
	back.Go(func() { pass(client, server) })
	pass(server, client)
	back.Wait()
}

// dial connects to an endpoint: nil when there is none that accepts.
func (p *proxy) dial(from netip.Addr, b *balancer) *net.TCPConn {
	dialer := net.Dialer{Timeout: p.DialTimeout}
	for _, endpoint := range b.choose(from) {
		c, err := dialer.DialContext(p.ctx, "tcp", endpoint.String())
		if err == nil {
			b.took(from, endpoint)
			return c.(*net.TCPConn)
		}
		if p.ctx.Err() != nil {
			return nil
		}
		p.Logger.Debug("endpoint does not accept", "endpoint", endpoint, "err", err)
	}
	return nil
}

// pass copies what comes from one side to the other, and the end of it: a client that has nothing more to say may still
// listen. A failure ends both sides.
func pass(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil || to.CloseWrite() != nil {
		closeQuietly(to)
		closeQuietly(from)
	}
}

// closeQuietly closes what may be closed already.
func closeQuietly(c io.Closer) { _ = c.Close() }
