//go:build linux

// Package bridge is the network of a node's pods: a bridge on the node, and for each pod a pair of links, of which one
// end is at the bridge and the other in the pod's network namespace.
package bridge

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Bridge is the bridge of a node.
type Bridge struct {
	name    string
	prefix  netip.Prefix
	gateway netip.Addr
}

// PodLink is the name of a link in its pod.
const PodLink = "eth0"

// Open makes a bridge that has the address gateway in a prefix, or takes the one that is there. Name has at most 15
// characters.
func Open(name string, prefix netip.Prefix, gateway netip.Addr) (*Bridge, error) {
	b := &Bridge{name: name, prefix: prefix, gateway: gateway}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attributes}); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("make bridge %s: %w", name, err)
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("bridge %s: %w", name, err)
	}
	if link.Type() != "bridge" {
		return nil, fmt.Errorf("link %s is there and no bridge", name)
	}
	if err := b.settle(link); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bridge) settle(link netlink.Link) error {
	if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: network(b.gateway, b.prefix)}); err != nil {
		return fmt.Errorf("address of bridge %s: %w", b.name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set bridge %s up: %w", b.name, err)
	}
	// What comes from pods may go on to the pods of other nodes on this machine. Where this is not allowed, they reach
	// those of their own node.
	_ = os.WriteFile("/proc/sys/net/ipv4/conf/"+b.name+"/forwarding", []byte("1"), 0)
	return nil
}

// Attach gives the network namespace of a process a link to the bridge, whose other end has the name link.
func (b *Bridge) Attach(link string, pid int) error {
	bridge, err := netlink.LinkByName(b.name)
	if err != nil {
		return fmt.Errorf("bridge %s: %w", b.name, err)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MasterIndex = link, bridge.Attrs().Index
	veth := &netlink.Veth{LinkAttrs: attributes, PeerName: PodLink, PeerNamespace: netlink.NsPid(pid)}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("make link %s: %w", link, err)
	}
	if err := netlink.LinkSetUp(veth); err != nil {
		return fmt.Errorf("set link %s up: %w", link, err)
	}
	return nil
}

// Detach removes a link, and its other end with it. One that is not there is no error.
func (b *Bridge) Detach(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if notFound(err) {
		return nil
	}
	return err
}

// Close removes the bridge.
func (b *Bridge) Close() error { return b.Detach(b.name) }

func notFound(err error) bool {
	return errors.As(err, &netlink.LinkNotFoundError{}) || errors.Is(err, unix.ENODEV)
}

// SetUp gives the network namespace of this process an address on its link and a way out, and its loopback.
func SetUp(link string, address netip.Addr, prefix netip.Prefix, gateway netip.Addr) error {
	if err := SetUpLoopback(); err != nil {
		return err
	}
	l, err := netlink.LinkByName(link)
	if err != nil {
		return fmt.Errorf("link %s: %w", link, err)
	}
	if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: network(address, prefix)}); err != nil {
		return fmt.Errorf("address of %s: %w", link, err)
	}
	if err := netlink.LinkSetUp(l); err != nil {
		return fmt.Errorf("set %s up: %w", link, err)
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Gw: gateway.AsSlice()}); err != nil {
		return fmt.Errorf("route by %s: %w", gateway, err)
	}
	return nil
}

// SetUpLoopback makes the loopback of the network namespace of this process usable.
func SetUpLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err == nil && lo.Attrs().Flags&net.FlagUp != 0 {
		return nil
	}
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("set lo up: %w", err)
	}
	return nil
}

func network(address netip.Addr, prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(prefix.Bits(), address.BitLen())}
}
