package proxy

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
)

// balancer chooses endpoints: in turn, or for a client the one that it had before.
type balancer struct {
	clock clock.Clock
	mu    sync.Mutex
	to    target // guarded by mu
	next  int    // guarded by mu; the turn's
	// had says which endpoint a client has had. Guarded by mu; empty without affinity.
	had map[netip.Addr]visit
	// swept is when had was last rid of what is over. Guarded by mu.
	swept time.Time
}

// visit is which endpoint a client has had, and when last.
type visit struct {
	endpoint netip.AddrPort
	at       time.Time
}

func newBalancer(c clock.Clock, to target) *balancer {
	return &balancer{clock: c, to: to, had: map[netip.Addr]visit{}, swept: c.Now()}
}

// set gives the balancer other endpoints and says whether they are others. Clients stay with theirs where it is among
// them.
func (b *balancer) set(to target) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed = !slices.Equal(b.to.endpoints, to.endpoints)
	if b.to = to; to.sticky == 0 {
		clear(b.had)
	}
	b.next %= len(to.endpoints)
	return changed
}

// has says whether an endpoint is among those of now.
func (b *balancer) has(endpoint netip.AddrPort) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.to.endpoints, endpoint)
}

// choose returns the endpoints in the order in which they are to be tried for a client.
func (b *balancer) choose(client netip.Addr) []netip.AddrPort {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.next
	if v, ok := b.had[client]; ok && b.clock.Since(v.at) < b.to.sticky {
		if had := slices.Index(b.to.endpoints, v.endpoint); had >= 0 {
			return rotated(b.to.endpoints, had)
		}
	}
	b.next = (at + 1) % len(b.to.endpoints)
	return rotated(b.to.endpoints, at)
}

func rotated(all []netip.AddrPort, first int) []netip.AddrPort {
	return slices.Concat(all[first:], all[:first])
}

// took tells which endpoint a client has got.
func (b *balancer) took(client netip.Addr, endpoint netip.AddrPort) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.to.sticky == 0 {
		return
	}
	now := b.clock.Now()
	if now.Sub(b.swept) >= b.to.sticky {
		for c, v := range b.had {
			if now.Sub(v.at) >= b.to.sticky {
				delete(b.had, c)
			}
		}
		b.swept = now
	}
	b.had[client] = visit{endpoint, now}
}
