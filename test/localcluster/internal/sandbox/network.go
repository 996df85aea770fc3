package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Network is how the host and a sandbox reach each other.
type Network struct {
	// Link is the name of the host's end of the link.
	Link string `json:"link"`
	// Host is the host's address on the link: where the sandbox reaches servers of the host.
	Host netip.Addr `json:"host"`
	// Node is the sandbox's address on it.
	Node netip.Addr `json:"node"`
	// Pods are the addresses that the sandbox may give to pods; the host has a route to them.
	Pods netip.Prefix `json:"pods"`
}

const (
	innerLink = "eth0"
	linkBits  = 30
	podBits   = 24
	blocks    = 256
)

// networkOf returns one of the blocks of 512 addresses in 198.18.0.0/15, which RFC 2544 sets aside for tests of networks:
// hardly anything else is there, unlike in the private ranges with their VPNs and containers. The upper half is the pods'.
func networkOf(link string, block byte) Network {
	second, third := 18+block>>7, block<<1
	return Network{
		Link: link,
		Host: netip.AddrFrom4([4]byte{198, second, third, 1}),
		Node: netip.AddrFrom4([4]byte{198, second, third, 2}),
		Pods: netip.PrefixFrom(netip.AddrFrom4([4]byte{198, second, third + 1, 0}), podBits),
	}
}

func (n Network) both() netip.Prefix { return netip.PrefixFrom(n.Host, podBits-1).Masked() }

// freeNetwork returns a network whose addresses no route of the host touches, from the first block on.
func freeNetwork(link string, first byte) (Network, error) {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return Network{}, fmt.Errorf("list the routes: %w", err)
	}
	for i := range blocks {
		n := networkOf(link, first+byte(i)) // it wraps around
		if !touched(n.both(), routes) {
			return n, nil
		}
	}
	return Network{}, fmt.Errorf("all %d networks in 198.18.0.0/15 are in use", blocks)
}

func touched(block netip.Prefix, routes []netlink.Route) bool {
	for _, r := range routes {
		if r.Dst == nil {
			continue
		}
		addr, ok := netip.AddrFromSlice(r.Dst.IP.To4())
		bits, _ := r.Dst.Mask.Size()
		// A default route leads everywhere and is nobody's claim.
		if ok && bits > 0 && netip.PrefixFrom(addr, bits).Overlaps(block) {
			return true
		}
	}
	return false
}

// connect makes the link between the host and the network namespace of a process, and the host's route to the pods.
func (n Network) connect(pid int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = n.Link
	link := &netlink.Veth{LinkAttrs: attrs, PeerName: innerLink, PeerNamespace: netlink.NsPid(pid)}
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("make link %s: %w", n.Link, err)
	}
	if err := raise(n.Link, n.Host); err != nil {
		return err
	}
	if err := netlink.RouteAdd(&netlink.Route{Dst: ipNet(n.Pods), Gw: n.Node.AsSlice()}); err != nil {
		return fmt.Errorf("route %s to the pods: %w", n.Pods, err)
	}
	return nil
}

// disconnect removes the link where the kernel has not done so yet; its routes go with it.
func disconnect(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	var gone netlink.LinkNotFoundError
	if err != nil && !errors.As(err, &gone) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove link %s: %w", name, err)
	}
	return nil
}

// configure sets up the network inside, where the link is.
func (n Network) configure() error {
	if err := raise("lo", netip.Addr{}); err != nil {
		return err
	}
	if err := raise(innerLink, n.Node); err != nil {
		return err
	}
	if err := netlink.RouteAdd(&netlink.Route{Gw: n.Host.AsSlice()}); err != nil {
		return fmt.Errorf("route to the host: %w", err)
	}
	return nil
}

// raise gives a link its address, where there is one, and takes it into use.
func raise(name string, addr netip.Addr) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find link %s: %w", name, err)
	}
	if addr.IsValid() {
		if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(addr, linkBits))}); err != nil {
			return fmt.Errorf("give link %s the address %s: %w", name, addr, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("raise link %s: %w", name, err)
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
