package chaos_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// chance is a source of random numbers for several goroutines.
type chance struct {
	mu  sync.Mutex
	rng *rand.Rand // guarded by mu
}

func newChance(seed, stream uint64) *chance { return &chance{rng: rand.New(rand.NewPCG(seed, stream))} }

func (c *chance) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

func (c *chance) hit(percent float64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.Float64()*100 < percent
}

func (c *chance) float() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.Float64()
}

// fate is what becomes of a connection after some bytes.
type fate int

const (
	lives    fate = iota
	isReset       // closed at once in both directions
	isClosed      // what comes from the server ends well
	stalls        // silence
	isSlow        // goes on byte by byte, nearly
	isTurned      // the way to the server is closed alone
	fates
)

// proxy passes TCP connections on to a server, badly.
type proxy struct {
	listener net.Listener
	target   string
	chance   *chance
	bad      atomic.Int64 // percent of the connections that have a fate
	deaf     atomic.Bool  // connections are refused
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // guarded by mu
}

func newProxy(t *testing.T, target string, c *chance) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, target: target, chance: c, conns: make(map[net.Conn]struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p
}

func (p *proxy) close() {
	p.cancel()
	p.listener.Close()
	p.cut()
	p.running.Wait()
}

// cut resets all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
}

func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

func (p *proxy) track(c net.Conn) (forget func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
	return func() {
		_ = c.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || p.deaf.Load() || p.ctx.Err() != nil {
			if c != nil {
				reset(c)
			}
			continue
		}
		p.running.Go(func() { p.serve(c) })
	}
}

func (p *proxy) serve(client net.Conn) {
	defer p.track(client)()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer p.track(server)()
	f := lives
	if p.chance.hit(float64(p.bad.Load())) {
		f = fate(1 + p.chance.n(int(fates)-1))
	}
	stop := context.AfterFunc(p.ctx, func() { reset(client); reset(server) })
	defer stop()
	after := int64(p.chance.n(1 << (4 + p.chance.n(14))))
	var up sync.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
		if f == stalls { // the client has given up
			_ = server.Close()
		}
	})
	p.down(client, server, f, after)
	up.Wait()
}

// down passes on what the server says.
func (p *proxy) down(client, server net.Conn, f fate, after int64) {
	if f == lives {
		_, _ = io.Copy(client, server)
		_ = client.(*net.TCPConn).CloseWrite()
		return
	}
	if _, err := io.CopyN(client, server, after); err != nil {
		_ = client.Close()
		return
	}
	switch f {
	case isReset:
		reset(client)
		reset(server)
	case isClosed:
		_ = client.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, server)
	case stalls:
		_, _ = io.Copy(io.Discard, server)
	case isSlow:
		for timing.Sleep(p.ctx, timing.Or(nil), time.Millisecond) == nil {
			if _, err := io.CopyN(client, server, 256); err != nil {
				break
			}
		}
		_ = client.Close()
	case isTurned:
		_ = server.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}
}
