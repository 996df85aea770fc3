package render

import (
	"cmp"
	"context"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// lowerTrafficSplit makes a route on the default listener for the hosts of a split, and a Service for each subset. A split
// without a host is reached by ProxyRoutes alone.
func lowerTrafficSplit(_ context.Context, c *commit, r resource[v1alpha1.TrafficSplitSpec]) {
	hosts, hostsOK := c.hosts(r.place, r.spec.Host, r.spec.Hosts)
	backends, ok := c.targets(r)
	if !ok {
		return
	}
	c.splits[r.key()] = backends
	force := switchForced(c, r)
	if len(hosts) == 0 || !hostsOK {
		return
	}
	at := field("spec", "host")
	if r.spec.Host == "" {
		at = field("spec", "hosts")
	}
	c.addRoute(r.place, at, desired.Route{
		Source: r.source(), Origin: r.origin, Force: force,
		Hosts: hosts, Match: everyPath(), Backends: backends,
	}, v1alpha1.Listener{})
}

// targets resolves the targets of a split, in their order; false where one is refused.
func (c *commit) targets(r resource[v1alpha1.TrafficSplitSpec]) ([]desired.Backend, bool) {
	backends, good := make([]desired.Backend, 0, len(r.spec.Targets)), true
	var total uint64
	for i, t := range r.spec.Targets {
		weight := uint32(1)
		if t.Weight != nil {
			weight = uint32(*t.Weight) //nolint:gosec // not negative by the schema
		}
		total += uint64(weight)
		up, ok := c.target(r, i, t)
		backends, good = append(backends, desired.Backend{Name: t.Name, Weight: weight, Upstream: up}), good && ok
	}
	if total == 0 {
		c.warn(r.problem(field("spec", "targets"), "all weights are 0: answers 503"))
	}
	return backends, good
}

// target resolves one target.
func (c *commit) target(r resource[v1alpha1.TrafficSplitSpec], i int, t v1alpha1.Target) (desired.Upstream, bool) {
	at := field("spec", "targets", i)
	ref := backendRef{
		Key:  desired.Key{Namespace: cmp.Or(t.Namespace, r.Namespace), Name: cmp.Or(t.Service, t.Mock, t.Name)},
		mock: t.Mock != "", port: t.Port, name: at.child("name"), portField: at.child("port"),
	}
	switch {
	case t.Mock != "" && t.Service != "":
		c.refuse(r.problem(at, "set one of service and mock"))
		return desired.Upstream{}, false
	case t.Mock != "":
		ref.name = at.child("mock")
	case t.Service != "":
		ref.name = at.child("service")
	}
	if t.Subset == nil {
		return c.upstream(r.place, ref)
	}
	return c.subset(r, t, ref, at.child("subset"))
}
