package render

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// claim is where a route is declared.
type claim struct {
	place
	// at is the field that claims it: a rule, or a host.
	at fieldPath
	// listener as it is declared; what is zero is left to other routes of the same listener.
	listener  v1alpha1.Listener
	namespace string
	proxies   []string
	// route is its index in out.routes.
	route int
}

// addRoute adds a route that p declares at a field, on a listener.
func (c *commit) addRoute(p place, at fieldPath, r desired.Route, l v1alpha1.Listener) {
	r.Listener.Name = cmp.Or(l.Name, desired.DefaultListener)
	c.claims = append(c.claims, claim{
		place: p, at: at, listener: l, namespace: r.Source.Namespace, proxies: r.Proxies, route: len(c.out.routes),
	})
	c.out.routes = append(c.out.routes, r)
}

// setting is one field of a listener that a route sets.
type setting struct {
	field string
	value string
	claim claim
	apply func(*desired.Listener)
}

// settings returns what a claim says of its listener.
func (cl claim) settings() []setting {
	var out []setting
	add := func(field, value string, apply func(*desired.Listener)) {
		out = append(out, setting{field: field, value: value, claim: cl, apply: apply})
	}
	l := cl.listener
	if l.Address != "" {
		add("address", l.Address, func(d *desired.Listener) { d.Address = l.Address })
	}
	if l.Port != 0 {
		add("port", strconv.Itoa(int(l.Port)), func(d *desired.Listener) { d.Port = uint32(l.Port) }) //nolint:gosec // 1 to 65535 by the schema
	}
	if l.TLS != nil {
		secret := desired.Key{Namespace: cl.namespace, Name: l.TLS.SecretName}
		add("tls", "Secret "+secret.String(), func(d *desired.Listener) { d.TLSSecret = secret })
	}
	if l.AccessLog != nil {
		file := cmp.Or(l.AccessLog.Path, "/dev/stdout")
		add("accessLog", strings.TrimSpace(file+" "+l.AccessLog.Format), func(d *desired.Listener) {
			d.AccessLog, d.AccessLogFormat = file, l.AccessLog.Format
		})
	}
	return out
}

// settleListeners gives every route its whole listener: what routes of one listener set together, else the defaults. Two
// that set one field differently are refused, and so are two listeners on one address.
func (c *commit) settleListeners() {
	byName := map[string][]claim{}
	for _, cl := range c.claims {
		name := c.out.routes[cl.route].Listener.Name
		byName[name] = append(byName[name], cl)
	}
	taken := c.rawListeners
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		claims := byName[name]
		l, ok := c.settle(name, claims)
		if !ok {
			continue
		}
		for _, cl := range claims {
			c.out.routes[cl.route].Listener = l
		}
		taken = append(taken, bound{
			name: name, address: net.JoinHostPort(l.Address, strconv.Itoa(int(l.Port))),
			proxies: unionOf(claims), place: claims[0].place, at: field("spec", "listener"),
		})
	}
	c.refuseSharedAddresses(taken)
}

// settle merges what the claims of one listener say.
func (c *commit) settle(name string, claims []claim) (desired.Listener, bool) {
	l := desired.Listener{Name: name, Address: desired.DefaultAddress}
	if name == desired.DefaultListener {
		l.Port = desired.DefaultPort
	}
	first, ok := map[string]setting{}, true
	for _, cl := range claims {
		for _, s := range cl.settings() {
			other, set := first[s.field]
			if !set {
				first[s.field] = s
				s.apply(&l)
				continue
			}
			if other.value != s.value {
				at := field("spec", "listener", s.field)
				c.refuse(cl.problem(at, "listener %q has %s here, but %s in %s (%s)",
					name, s.value, other.value, other.claim.object, other.claim.place.at(at)))
				ok = false
			}
		}
	}
	if l.Port == 0 {
		c.refuse(claims[0].problem(field("spec", "listener", "port"), "is required for the listener %q", name))
		ok = false
	}
	return l, ok
}

// bound is a listener on its address.
type bound struct {
	place
	at      fieldPath
	name    string
	address string
	proxies []string
}

// unionOf returns the proxies that receive any of these claims; nil where one of them is for all.
func unionOf(claims []claim) []string {
	var all []string
	for _, cl := range claims {
		if len(cl.proxies) == 0 {
			return nil
		}
		all = append(all, cl.proxies...)
	}
	return all
}

// overlap says whether some proxy receives both: no names mean all proxies.
func overlap(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

func (c *commit) refuseSharedAddresses(taken []bound) {
	for i, b := range taken {
		for _, other := range taken[:i] {
			if !overlap(b.proxies, other.proxies) {
				continue
			}
			where := other.object + " (" + other.place.at(other.at).String() + ")"
			switch {
			case b.name == other.name:
				c.refuse(b.problem(b.at, "listener %q is declared by %s too", b.name, where))
			case b.address == other.address && b.address != "":
				c.refuse(b.problem(b.at, "listener %q is on %s, where the listener %q of %s is already",
					b.name, b.address, other.name, where))
			}
		}
	}
}

// refuseRivals refuses two routes of one listener, host and match that reach the same proxies.
func (c *commit) refuseRivals() {
	first := map[string][]claim{}
	for _, cl := range c.claims {
		r := c.out.routes[cl.route]
		for _, host := range r.Hosts {
			key := r.Key(host)
			i := slices.IndexFunc(first[key], func(o claim) bool { return overlap(cl.proxies, o.proxies) })
			if i < 0 {
				first[key] = append(first[key], cl)
				continue
			}
			other := first[key][i]
			c.refuse(cl.problem(cl.at, "host %s, %s on listener %q is claimed by %s too: %s (%s)",
				host, r.Match, r.Listener.Name, other.object, other.at, other.place.at(other.at)))
		}
	}
}
