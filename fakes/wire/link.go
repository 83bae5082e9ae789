package wire

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// pieceBytes is how much a link reads at once.
const pieceBytes = 8 << 10

// link is one connection through a proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	// left is how many bytes may still go to the client before the reset; negative: none was
	// ordered. The proxy's lock guards it.
	left int
}

// reset closes both ends at once.
func (l *link) reset() {
	reset(l.client)
	reset(l.server)
}

// copy passes on what comes from one end, until that or the other end is over.
func (l *link) copy(to, from net.Conn, down bool) {
	defer l.client.Close()
	defer l.server.Close()
	buffer := make([]byte, pieceBytes)
	for {
		n, err := from.Read(buffer)
		if !l.pass(to, buffer[:n], down) || err != nil {
			return
		}
	}
}

// pass writes a piece when and as it may. It returns false when the link is over.
func (l *link) pass(to net.Conn, piece []byte, down bool) bool {
	p := l.proxy
	for len(piece) > 0 {
		if p.held(l) != nil {
			return false
		}
		part := piece
		p.mu.Lock()
		rate := p.rateLocked()
		if down && rate > 0 {
			part = part[:min(len(part), max(1, rate/10))]
		}
		last := false
		if down && l.left >= 0 {
			part = part[:min(len(part), l.left)]
			l.left -= len(part)
			last = l.left == 0
		}
		p.mu.Unlock()
		if _, err := to.Write(part); err != nil {
			return false
		}
		piece = piece[len(part):]
		switch {
		case last:
			l.reset()
			return false
		case down && rate > 0:
			if timing.Sleep(p.ctx, p.clock, time.Duration(len(part))*time.Second/time.Duration(rate)) != nil {
				return false
			}
		}
	}
	return true
}

// held blocks while the link is in a black hole.
func (p *Proxy) held(l *link) error {
	for {
		p.mu.Lock()
		wake := p.wake
		in := slices.ContainsFunc(p.holes, func(h *hole) bool { _, in := h.links[l]; return in })
		p.mu.Unlock()
		if !in {
			return nil
		}
		select {
		case <-wake:
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
	}
}

// rateLocked returns how many bytes a second may pass; 0: any number.
func (p *Proxy) rateLocked() int {
	rate := 0
	for _, t := range p.others {
		if t.Kind == fakes.FaultThrottle && (rate == 0 || t.N < rate) {
			rate = t.N
		}
	}
	return rate
}

// refuses reports whether new connections are refused.
func (p *Proxy) refuses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.others, func(o *lasting) bool { return o.Kind == fakes.FaultRefuse })
}

// endLocked ends a fault that lasts.
func (p *Proxy) endLocked(over *hole, other *lasting) {
	p.holes = slices.DeleteFunc(p.holes, func(h *hole) bool { return h == over })
	p.others = slices.DeleteFunc(p.others, func(o *lasting) bool { return o == other })
	close(p.wake)
	p.wake = make(chan struct{})
}

// Heal ends the faults that last, and forgets resets that wait. Connections that were reset stay so.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.holes {
		h.stop()
	}
	for _, o := range p.others {
		o.stop()
	}
	for l := range p.links {
		l.left = -1
	}
	p.holes, p.others = nil, nil
	p.endLocked(nil, nil)
}
