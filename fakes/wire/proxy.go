package wire

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// ProxyOptions say how a [Proxy] works. The zero value works.
type ProxyOptions struct {
	// Clock is what time is read from. Defaults to the real clock.
	Clock clock.Clock
}

// Proxy passes connections on from one endpoint to another, badly when it is told so: it is a
// [fakes.Faulty] that does black holes, resets, refusals and throttling. Close it. It is safe for
// concurrent use. The zero value is not usable, use [NewProxy].
type Proxy struct {
	front, back *Endpoint
	clock       clock.Clock
	ctx         context.Context
	cancel      context.CancelFunc
	group       worker.Group

	mu sync.Mutex // guards all below
	// links are the connections that are open.
	links map[*link]struct{}
	// holes and others are the faults that last.
	holes  []*hole
	others []*lasting
	// wake is closed and replaced when one of them ends.
	wake chan struct{}
}

// lasting is a fault that lasts until stop.
type lasting struct {
	fakes.Fault
	stop func()
}

// hole is a black hole with the connections that are in it.
type hole struct {
	lasting
	links map[*link]struct{}
}

// NewProxy passes what connects to front on to back, until it is closed. It returns at once.
func NewProxy(front, back *Endpoint, o ProxyOptions) *Proxy {
	p := &Proxy{
		front: front, back: back, clock: timing.Or(o.Clock),
		links: make(map[*link]struct{}), wake: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.group.Go(p.accept)
	return p
}

// Close closes the front and all connections, and waits until nothing of the proxy runs.
func (p *Proxy) Close() {
	p.cancel()
	_ = p.front.Close()
	p.mu.Lock()
	for l := range p.links {
		l.reset()
	}
	p.mu.Unlock()
	p.Heal()
	p.group.Wait()
}

// Links returns the number of connections that are open.
func (p *Proxy) Links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

func (p *Proxy) accept() {
	for {
		client, err := p.front.Accept()
		if err != nil {
			return
		}
		p.group.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	if p.refuses() {
		reset(client)
		return
	}
	server, err := p.back.Dial(p.ctx)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{proxy: p, client: client, server: server, left: -1}
	p.mu.Lock()
	p.links[l] = struct{}{}
	for _, h := range p.holes {
		if h.N > 0 {
			h.links[l] = struct{}{}
		}
	}
	p.mu.Unlock()
	if p.ctx.Err() != nil { // Close may have looked before
		l.reset()
	}
	p.group.Go(func() { l.copy(server, client, false) })
	l.copy(client, server, true)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
	for _, h := range p.holes {
		delete(h.links, l)
	}
}

// Inject orders a fault of connections. It returns at once. Other kinds are an error that wraps
// [listwatch.ErrUnsupported].
func (p *Proxy) Inject(f fakes.Fault) error {
	if err := f.Validate(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch f.Kind {
	case fakes.FaultReset:
		for l := range p.links {
			if l.left = f.N; f.N == 0 {
				l.reset()
			}
		}
	case fakes.FaultBlackHole:
		h := &hole{lasting: lasting{Fault: f}, links: make(map[*link]struct{})}
		for l := range p.links {
			h.links[l] = struct{}{}
		}
		h.stop = p.after(f.For, func() { p.endLocked(h, nil) })
		p.holes = append(p.holes, h)
	case fakes.FaultRefuse, fakes.FaultThrottle:
		l := &lasting{Fault: f}
		l.N = max(l.N, 1)
		l.stop = p.after(f.For, func() { p.endLocked(nil, l) })
		p.others = append(p.others, l)
		for l := range p.links {
			if f.Kind == fakes.FaultRefuse {
				l.reset()
			}
		}
	default:
		return fmt.Errorf("%w: a proxy does not do fault %q", listwatch.ErrUnsupported, f)
	}
	return nil
}

// after calls f under the lock when a fault of that length is over; 0 is without end.
func (p *Proxy) after(d time.Duration, f func()) (stop func()) {
	if d == 0 {
		return func() {}
	}
	return timing.AfterFunc(p.clock, d, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		f()
	})
}
