package mock

import (
	"net"
	"net/netip"
	"strconv"
)

// addrPort returns the address of a TCP listener.
func addrPort(ln net.Listener) netip.AddrPort {
	if a, ok := ln.Addr().(*net.TCPAddr); ok {
		ap := a.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return netip.AddrPort{}
}

// port returns the address of a port on all interfaces.
func port(n int) string { return ":" + strconv.Itoa(n) }
