package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// entrance is where requests for a host come in, in the words of an output. Empty section and port 0 stand for all.
type entrance struct {
	gateway, section string
	port             int32
}

func (e entrance) overlaps(o entrance) bool {
	return e.gateway == o.gateway && (e.section == o.section || e.section == "" || o.section == "") &&
		(e.port == o.port || e.port == 0 || o.port == 0)
}

// entered is what a split claims of a host.
type entered struct {
	split     *split
	entrances []entrance
}

// refuseRival refuses a split that claims a host where another one does: neither Istio nor a Gateway divides requests by two
// such routes, they take one of them alone.
func (c *commit) refuseRival(s *split, output v1alpha1.Output, entrances []entrance) {
	for _, host := range s.hosts {
		key := string(output) + " " + host
		for _, other := range c.entered[key] {
			if where, both := meet(entrances, other.entrances); both {
				c.refuse(s.problem(s.hostField(), "host %s at %s is claimed by TrafficSplit %s (%s) too, for the output %s: one of "+
					"them would get no request", host, where, other.split.Split.Key, other.split.origin, output))
			}
		}
		c.entered[key] = append(c.entered[key], entered{split: s, entrances: entrances})
	}
}

// meet returns the first entrance that two lists share.
func meet(a, b []entrance) (string, bool) {
	for _, x := range a {
		if slices.ContainsFunc(b, x.overlaps) {
			return x.gateway, true
		}
	}
	return "", false
}

// istioEntrances are the gateways of a split, "mesh" or by namespace and name.
func (s *split) istioEntrances() []entrance {
	const mesh = "mesh"
	if s.spec.Istio == nil || len(s.spec.Istio.Gateways) == 0 {
		return []entrance{{gateway: mesh}}
	}
	var out []entrance
	for _, name := range s.spec.Istio.Gateways {
		if name != mesh && !strings.Contains(name, "/") {
			name = s.Namespace + "/" + name
		}
		out = append(out, entrance{gateway: name})
	}
	return out
}

// gatewayEntrances are the parents of a split's HTTPRoute.
func (s *split) gatewayEntrances() []entrance {
	var out []entrance
	for _, p := range s.spec.GatewayAPI.ParentRefs {
		key := desired.Key{Namespace: cmp.Or(p.Namespace, s.Namespace), Name: p.Name}
		out = append(out, entrance{gateway: cmp.Or(p.Kind, "Gateway") + " " + key.String(), section: p.SectionName, port: p.Port})
	}
	return out
}
