// Package proxy has a TCP proxy that stands between clients and a server, and can lose what it is given.
package proxy

import (
	"net"
	"sync"
	"sync/atomic"
)

// Proxy passes connections on to a target until it is told otherwise. All methods are safe for
// concurrent use. Make it with [Listen].
type Proxy struct {
	target   string
	listener net.Listener
	refuse   atomic.Bool
	accepted atomic.Int64
	wait     sync.WaitGroup

	mu     sync.Mutex
	closed bool               // guarded by mu
	links  map[*link]struct{} // guarded by mu; those that may still move bytes
}

// link is one connection of a client and the one to the target that belongs to it.
type link struct {
	client, server net.Conn
	holed          atomic.Bool
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// Listen returns a proxy on a free port of the loopback interface. It must be closed.
func Listen(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, listener: l, links: map[*link]struct{}{}}
	p.wait.Go(p.serve)
	return p, nil
}

// Addr returns the address to connect to, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Accepted returns how many connections were passed on so far.
func (p *Proxy) Accepted() int64 { return p.accepted.Load() }

// Refuse closes all connections, and new ones at once, until it is called with false.
func (p *Proxy) Refuse(on bool) {
	p.refuse.Store(on)
	if on {
		p.Cut()
	}
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	for _, l := range p.all() {
		l.close()
	}
}

// Hole lets all present connections stay open and lose every byte from now on, in both
// directions, as a firewall does that has forgotten them. New connections are passed on.
func (p *Proxy) Hole() {
	for _, l := range p.all() {
		l.holed.Store(true)
	}
}

// Close ends everything, and blocks until it has ended.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Cut()
	p.wait.Wait()
	return err
}

func (p *Proxy) all() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*link, 0, len(p.links))
	for l := range p.links {
		all = append(all, l)
	}
	return all
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wait.Go(func() { p.pass(client) })
	}
}

func (p *Proxy) pass(client net.Conn) {
	defer client.Close()
	if p.refuse.Load() {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	l := &link{client: client, server: server}
	p.mu.Lock()
	p.links[l] = struct{}{}
	closed := p.closed || p.refuse.Load()
	p.mu.Unlock()
	if closed {
		l.close()
	}
	p.accepted.Add(1)
	var both sync.WaitGroup
	both.Go(func() { l.pump(server, client) })
	l.pump(client, server)
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// pump copies until one side ends, and then ends the other one: but a hole says nothing of that
// to anybody.
func (l *link) pump(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if l.holed.Load() {
			if err != nil {
				return
			}
			continue
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			l.close()
			return
		}
	}
}
