package render

import (
	"context"
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// longestTimeout bounds the timeouts of a route: beyond a day it is a slip of the unit.
const longestTimeout = 24 * time.Hour

// lowerProxyRoute makes a route of each rule.
func lowerProxyRoute(_ context.Context, c *commit, r resource[v1alpha1.ProxyRouteSpec]) {
	listener := c.listener(r.place, r.spec.Listener)
	hosts, ok := c.hosts(r.place, "", r.spec.Hosts)
	if len(hosts) == 0 {
		hosts = []string{desired.AnyHost}
	}
	force := switchForced(c, r)
	for i, rule := range r.spec.Rules {
		rl := ruler{commit: c, resource: r, at: field("spec", "rules", i), rule: rule}
		route, good := rl.route()
		if !good || !ok {
			continue
		}
		route.Source, route.Rule, route.Origin = r.source(), i, r.origin
		route.Proxies, route.Force, route.Hosts = proxies(r.spec.Proxies), force, hosts
		c.addRoute(r.place, rl.at, route, listener)
	}
}

// listener returns a listener with its address as it is compared.
func (c *commit) listener(p place, l v1alpha1.Listener) v1alpha1.Listener {
	if l.Address == "" {
		return l
	}
	addr, err := netip.ParseAddr(l.Address)
	if err != nil {
		c.refuse(p.problem(field("spec", "listener", "address"), "want an IP address, such as 0.0.0.0"))
		return l
	}
	l.Address = addr.String()
	return l
}

// ruler lowers one rule of a ProxyRoute. Its methods report what is wrong and go on, so that all of it is seen.
type ruler struct {
	*commit
	resource[v1alpha1.ProxyRouteSpec]
	at   fieldPath
	rule v1alpha1.Rule
}

// wrong refuses a field of the rule.
func (rl ruler) wrong(at fieldPath, format string, args ...any) {
	rl.refuse(rl.problem(at, format, args...))
}

// route returns the rule as a route that lacks only what all rules of the resource share; false where it is refused.
func (rl ruler) route() (desired.Route, bool) {
	before := len(rl.problems)
	rule := rl.rule
	route := desired.Route{
		Match:   rl.match(rule.Match),
		Headers: rl.headers(rule.Headers),
	}
	actions := 0
	if rule.Backend != nil {
		actions++
		route.Backends = rl.backend(*rule.Backend)
		rl.divide(&route)
	}
	if rule.Redirect != nil {
		actions++
		route.Redirect = rl.redirect(*rule.Redirect)
	}
	if rule.DirectResponse != nil {
		actions++
		route.Direct = rl.direct(*rule.DirectResponse)
	}
	switch {
	case actions != 1:
		rl.wrong(rl.at, "set one of backend, redirect and directResponse")
	case rule.Backend != nil:
		route.Rewrite = rl.rewrite(rule.Rewrite)
		route.Timeout = rl.timeout(rl.at.child("timeout"), rule.Timeout, 0)
		route.Retries = rl.retries(rule.Retries)
	default:
		rl.onlyWithBackend()
	}
	return route, len(rl.problems) == before
}

// onlyWithBackend refuses what would have no effect without a backend.
func (rl ruler) onlyWithBackend() {
	for name, set := range map[string]bool{
		"rewrite": rl.rule.Rewrite != nil, "timeout": rl.rule.Timeout != nil, "retries": rl.rule.Retries != nil,
	} {
		if set {
			rl.wrong(rl.at.child(name), "goes with a backend only")
		}
	}
}

// timeout returns a duration between least and a day.
func (rl ruler) timeout(at fieldPath, d *metav1.Duration, least time.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	if d.Duration < least || d.Duration > longestTimeout {
		rl.wrong(at, "want %s to %s, got %s", least, longestTimeout, d.Duration)
	}
	return &d.Duration
}
