package proxy

import (
	"errors"
	"net"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
)

// localTable is the kernel's routing table of what this machine takes for itself.
const localTable = 255

// makeLocal lets this machine take all addresses of a range for its own, and returns what undoes that. A route that was
// there before is left.
func makeLocal(p netip.Prefix) (undo func() error, err error) {
	p = p.Masked()
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	route := &netlink.Route{
		LinkIndex: lo.Attrs().Index, Type: syscall.RTN_LOCAL, Table: localTable, Scope: netlink.SCOPE_HOST,
		Dst: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())},
	}
	switch err := netlink.RouteAdd(route); {
	case errors.Is(err, syscall.EEXIST):
		return func() error { return nil }, nil
	case err != nil:
		return nil, err
	}
	return func() error { return netlink.RouteDel(route) }, nil
}
