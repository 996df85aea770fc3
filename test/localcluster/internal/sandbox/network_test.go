package sandbox

import (
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
)

func TestNetworksLieApartInTheRangeForTests(t *testing.T) {
	t.Parallel()
	whole := netip.MustParsePrefix("198.18.0.0/15")
	seen := map[netip.Addr]bool{}
	for block := range blocks {
		n := networkOf("lc-test", byte(block))
		link := netip.PrefixFrom(n.Host, linkBits)
		if !link.Contains(n.Node) || link.Overlaps(n.Pods) {
			t.Errorf("block %d: %+v", block, n)
		}
		for _, p := range []netip.Prefix{link, n.Pods} {
			if !whole.Contains(p.Addr()) || !n.both().Contains(p.Addr()) {
				t.Errorf("block %d has %s", block, p)
			}
			if seen[p.Masked().Addr()] {
				t.Errorf("block %d has %s, as another has", block, p)
			}
			seen[p.Masked().Addr()] = true
		}
	}
}

func TestNetworkInUseIsLeftAlone(t *testing.T) {
	t.Parallel()
	mine := networkOf("lc-test", 3).both()
	for dst, tc := range map[string]struct {
		want   bool
		reason string
	}{
		"":                {false, "a default route is not a claim"},
		"0.0.0.0/0":       {false, "nor where it is written out"},
		"10.0.0.0/8":      {false, "another range"},
		"198.18.6.0/30":   {true, "another node's link"},
		"198.18.7.128/25": {true, "part of the pods"},
		"198.18.0.0/15":   {true, "somebody uses the range as a whole"},
		"198.18.8.0/23":   {false, "the next block"},
	} {
		var route netlink.Route
		if dst != "" {
			_, parsed, err := net.ParseCIDR(dst)
			if err != nil {
				t.Fatal(err)
			}
			route.Dst = parsed
		}
		if got := touched(mine, []netlink.Route{route}); got != tc.want {
			t.Errorf("%s is touched by %s: %t, want %t: %s", mine, dst, got, tc.want, tc.reason)
		}
	}
}
