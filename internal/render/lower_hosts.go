package render

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/internal/desired"
)

// host returns a host name as it is matched: in lower case, exact, "*" or "*.suffix". False where it is refused.
func (c *commit) host(p place, at fieldPath, text string) (string, bool) {
	host := strings.ToLower(text)
	if host == desired.AnyHost {
		return host, true
	}
	name := strings.TrimPrefix(host, "*.")
	switch {
	case strings.Contains(host, "://"):
		c.refuse(p.problem(at, "%q is a URL: want the host name alone", text))
	case strings.Contains(name, "*"):
		c.refuse(p.problem(at, "%q: a star may only stand for everything before the first dot, as in *.example.com", text))
	case strings.Contains(host, ":"):
		c.refuse(p.problem(at, "%q has a port: want the host name alone, the port is the listener's", text))
	case !isHostName(name):
		c.refuse(p.problem(at, "%q is no host name: want letters, digits and hyphens between dots (punycode for others)", text))
	default:
		return host, true
	}
	return "", false
}

// hosts returns host and hosts together, sorted, each once; false where one is refused.
func (c *commit) hosts(p place, host string, hosts []string) ([]string, bool) {
	var all []string
	ok := true
	add := func(at fieldPath, text string) {
		name, good := c.host(p, at, text)
		all, ok = append(all, name), ok && good
	}
	if host != "" {
		add(field("spec", "host"), host)
	}
	for i, text := range hosts {
		add(field("spec", "hosts", i), text)
	}
	slices.Sort(all)
	return slices.Compact(all), ok
}

// isHostName says whether a name in lower case can be that of a host (RFC 1123, and underscores as DNS has them).
func isHostName(name string) bool {
	const longest, longestLabel = 253, 63
	if len(name) > longest {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > longestLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool { return isOdd(r) || 'A' <= r && r <= 'Z' }) {
			return false
		}
	}
	return true
}

// hostPort splits host:port into a name in lower case, or an IP address, and a port. What it returns instead says what is
// wrong.
func hostPort(text string) (host string, port uint32, wrong string) {
	host, portText, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, "want host:port, such as api.example.com:443"
	}
	const bits = 16
	n, err := strconv.ParseUint(portText, 10, bits)
	if err != nil || n == 0 {
		return "", 0, "want a port from 1 to 65535 after the colon"
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String(), uint32(n), ""
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !isHostName(host) {
		return "", 0, "want a host name or an IP address before the colon"
	}
	return host, uint32(n), ""
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// proxies returns the groups of proxies that receive a route, sorted, each once; nil for all.
func proxies(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
