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

// largestPacket is what a UDP packet can hold.
const largestPacket = 1 << 16

// packets passes UDP packets of one portal on. A client's go to one endpoint, until none has come for a while.
type packets struct {
	*proxy
	listener *net.UDPConn
	to       *balancer
	mu       sync.Mutex
	// clients are the connections to endpoints. Guarded by mu.
	clients map[netip.AddrPort]*session
}

// session is a client's way to its endpoint.
type session struct {
	endpoint netip.AddrPort
	server   *net.UDPConn
}

// listenUDP begins to take packets.
func (p *proxy) listenUDP(at address, b *balancer) (io.Closer, error) {
	l, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at.AddrPort))
	if err != nil {
		return nil, err
	}
	u := &packets{proxy: p, listener: l, to: b, clients: map[netip.AddrPort]*session{}}
	p.running.Go(u.receive)
	return l, nil
}

// receive passes packets to endpoints until the listener is closed.
func (u *packets) receive() {
	defer u.close()
	buffer := make([]byte, largestPacket)
	for {
		n, client, err := u.listener.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // a client that has gone, as the kernel tells it
		}
		s, err := u.session(client)
		if err == nil {
			_, err = s.server.Write(buffer[:n])
		}
		if err != nil {
			u.Logger.Debug("packet lost", "client", client, "err", err) // as packets are
		}
	}
}

// session finds or makes a client's. One whose endpoint is gone is replaced.
func (u *packets) session(client netip.AddrPort) (*session, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s, ok := u.clients[client]; ok {
		if u.to.has(s.endpoint) {
			return s, s.server.SetReadDeadline(time.Now().Add(u.IdleTimeout))
		}
		closeQuietly(s.server)
	}
	endpoint := u.to.choose(client.Addr().Unmap())[0]
	server, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(endpoint))
	if err != nil {
		return nil, err
	}
	u.to.took(client.Addr().Unmap(), endpoint)
	s := &session{endpoint, server}
	u.clients[client] = s
	u.running.Go(func() { u.answer(client, s) })
	return s, s.server.SetReadDeadline(time.Now().Add(u.IdleTimeout))
}

// answer passes packets back to a client until its session has ended.
func (u *packets) answer(client netip.AddrPort, s *session) {
	stop := context.AfterFunc(u.ctx, func() { closeQuietly(s.server) })
	defer stop()
	buffer := make([]byte, largestPacket)
	for {
		n, err := s.server.Read(buffer)
		if err == nil {
			_, err = u.listener.WriteToUDPAddrPort(buffer[:n], client)
		}
		if err != nil { // refused, idle or closed
			u.forget(client, s)
			return
		}
	}
}

// forget ends a session.
func (u *packets) forget(client netip.AddrPort, s *session) {
	u.mu.Lock()
	defer u.mu.Unlock()
	closeQuietly(s.server)
	if u.clients[client] == s {
		delete(u.clients, client)
	}
}

// close ends all sessions.
func (u *packets) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range u.clients {
		closeQuietly(s.server)
	}
}
