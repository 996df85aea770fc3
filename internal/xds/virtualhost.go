package xds

import (
	"fmt"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/tidelock/tidelock/internal/desired"
)

// hostMemo is a virtual host as it was built, and all that it was built from.
type hostMemo struct {
	routes []*desired.Route
	// absent are the pending Services that they send requests to and that did not exist.
	absent []ServicePort

	wire      []byte
	upstreams []namedUpstream
	notes     []Note
}

// virtualHost returns one host of a listener. A request is looked up under the most specific host alone, as Envoy does.
func (b *builder) virtualHost(key hostKey, routes []*desired.Route) (hostMemo, error) {
	absent := b.absentPorts(routes)
	old, found := b.old.hosts[key]
	if found && slices.Equal(old.absent, absent) && slices.EqualFunc(old.routes, routes, sameRoute) {
		old.routes = routes // those of the last commit can go
		return old, nil
	}
	out := hostMemo{routes: routes, absent: absent}
	byPrecedence := slices.SortedStableFunc(slices.Values(routes), func(x, y *desired.Route) int {
		return x.Match.Compare(y.Match)
	})
	message := &routev3.VirtualHost{Name: key.host, Domains: []string{key.host}}
	seen := map[string]*desired.Route{}
	var problems desired.Problems
	for _, r := range byPrecedence {
		if first, taken := seen[r.Match.String()]; taken {
			problems = append(problems, conflict(r, first, key))
			continue
		}
		seen[r.Match.String()] = r
		built := buildRoute(r, key.host, b.world)
		problems = append(problems, checkRoute(r, built.message)...)
		message.Routes = append(message.Routes, built.message)
		out.upstreams = append(out.upstreams, built.upstreams...)
		if built.note != "" {
			out.notes = append(out.notes, Note{Source: r.Source, Text: describe(*r, key.host) + ": " + built.note})
		}
	}
	if len(problems) > 0 {
		return hostMemo{}, problems
	}
	wire, err := marshal(message)
	if err != nil {
		return hostMemo{}, fmt.Errorf("virtual host %s of listener %s: %w", key.host, key.listener, err)
	}
	out.wire = wire
	return out, nil
}

// absentPorts lists the pending Services of routes that do not exist.
func (b *builder) absentPorts(routes []*desired.Route) []ServicePort {
	var out []ServicePort
	for _, r := range routes {
		for u := range r.Upstreams() {
			if isAbsent(*u, b.world) {
				out = append(out, servicePort(*u))
			}
		}
	}
	return out
}

func conflict(second, first *desired.Route, key hostKey) desired.Problem {
	return problem(second, "match", fmt.Sprintf("%s is claimed by %s too (%s): let one of them go",
		describe(*second, key.host), first.Source, first.Origin))
}

// problem is a fault of one rule.
func problem(r *desired.Route, field, text string) desired.Problem {
	return desired.Problem{
		Origin: r.Origin,
		Object: r.Source.String(),
		Field:  fmt.Sprintf("spec.rules[%d].%s", r.Rule, field),
		Text:   text,
	}
}
