// Package addresses gives out the addresses of a prefix.
package addresses

import (
	"fmt"
	"net/netip"
)

// Pool gives out addresses, each to one at a time, and one that was given back as late as possible. It is not safe for
// concurrent use.
type Pool struct {
	prefix netip.Prefix
	next   netip.Addr
	taken  map[netip.Addr]bool
}

// New returns a pool of the addresses of prefix but for the first two and, in IPv4, the last: the network's own, the
// gateway's, and that of broadcasts.
func New(prefix netip.Prefix) *Pool {
	return &Pool{prefix: prefix.Masked(), taken: map[netip.Addr]bool{}}
}

// Gateway returns the address that the node has in the prefix.
func (p *Pool) Gateway() netip.Addr { return p.prefix.Addr().Next() }

// Take returns an address that nobody has.
func (p *Pool) Take() (netip.Addr, error) {
	first := p.Gateway().Next()
	turned := false
	for a := p.next; ; a = a.Next() {
		if !a.IsValid() || !p.usable(a) {
			if turned {
				return netip.Addr{}, fmt.Errorf("all addresses of %s are taken", p.prefix)
			}
			a, turned = first, true
			if !p.usable(a) {
				return netip.Addr{}, fmt.Errorf("%s has no addresses for pods", p.prefix)
			}
		}
		if !p.taken[a] {
			p.taken[a], p.next = true, a.Next()
			return a, nil
		}
	}
}

// Claim takes an address that somebody has from before.
func (p *Pool) Claim(a netip.Addr) { p.taken[a] = true }

// Give takes an address back.
func (p *Pool) Give(a netip.Addr) { delete(p.taken, a) }

func (p *Pool) usable(a netip.Addr) bool {
	return p.prefix.Contains(a) && (a.Is6() || p.prefix.Contains(a.Next()))
}
