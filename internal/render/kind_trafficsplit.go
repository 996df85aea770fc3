package render

import (
	"cmp"
	"context"
	"slices"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// split is a TrafficSplit with all that it refers to resolved.
type split struct {
	resource[v1alpha1.TrafficSplitSpec]
	desired.Split
	// hosts as they are matched, sorted.
	hosts   []string
	targets []splitTarget
	sticky  *desired.Sticky
	// mirror is nil where nothing is mirrored.
	mirror *mirrorTarget
}

// splitTarget is one target of a split.
type splitTarget struct {
	name string
	// service that was named, and its port.
	service desired.Key
	// subset of its pods, by labels; nil for all.
	subset map[string]string
	// upstream is what answers: the Service, or the one of its subset.
	upstream desired.Upstream
}

// mirrorTarget is where copies of requests go.
type mirrorTarget struct {
	service  desired.Key
	upstream desired.Upstream
	percent  uint32
}

// lowerTrafficSplit makes what the outputs of a split ask for: a route on the default listener for its hosts, objects of
// Istio and of Gateway API, and a Service for each subset. A split without a host is reached by ProxyRoutes alone.
func lowerTrafficSplit(_ context.Context, c *commit, r resource[v1alpha1.TrafficSplitSpec]) {
	before := len(c.problems)
	s := &split{resource: r, Split: desired.Split{Key: r.key()}}
	s.hosts, _ = c.hosts(r.place, r.spec.Host, r.spec.Hosts)
	c.checkOutputs(s)
	c.targets(s)
	c.steps(s)
	c.sticky(s)
	c.mirror(s)
	force := switchForced(c, r)
	if len(c.problems) > before {
		return
	}
	c.splits[s.Split.Key] = s
	c.out.splits = append(c.out.splits, s.Split)
	if s.writes(v1alpha1.OutputEnvoy) && len(s.hosts) > 0 {
		route := desired.Route{
			Source: r.source(), Origin: r.origin, Force: force, Hosts: s.hosts, Match: everyPath(), Backends: s.backends(),
		}
		s.divide(&route)
		c.addRoute(r.place, s.hostField(), route, v1alpha1.Listener{})
	}
	if s.writes(v1alpha1.OutputIstio) {
		c.istio(s)
	}
	if s.writes(v1alpha1.OutputGatewayAPI) {
		c.gatewayAPI(s)
	}
}

// writes reports whether a split is written for an output.
func (s *split) writes(o v1alpha1.Output) bool {
	if len(s.spec.Outputs) == 0 {
		return o == v1alpha1.OutputEnvoy
	}
	return slices.Contains(s.spec.Outputs, o)
}

// hostField is where the host of a split stands.
func (s *split) hostField() fieldPath {
	if s.spec.Host == "" && len(s.spec.Hosts) > 0 {
		return field("spec", "hosts")
	}
	return field("spec", "host")
}

// backends are the targets as those of a route.
func (s *split) backends() []desired.Backend {
	out := make([]desired.Backend, len(s.targets))
	for i, t := range s.targets {
		out[i] = desired.Backend{Name: t.name, Weight: s.Own[i], Upstream: t.upstream}
	}
	return out
}

// divide gives a route whose backends are those of the split what else the split says.
func (s *split) divide(route *desired.Route) {
	route.Split, route.Sticky = s.Split.Key, s.sticky
	if s.mirror != nil {
		route.Mirror = &desired.Mirror{Upstream: s.mirror.upstream, Percent: s.mirror.percent}
	}
}

// checkOutputs refuses what the outputs lack, and what is said of one that is not asked for.
func (c *commit) checkOutputs(s *split) {
	istio, gateway := s.writes(v1alpha1.OutputIstio), s.writes(v1alpha1.OutputGatewayAPI)
	if (istio || gateway) && s.spec.Host == "" && len(s.spec.Hosts) == 0 {
		c.refuse(s.problem(field("spec", "host"), "is required for the outputs Istio and GatewayAPI"))
	}
	if s.spec.Istio != nil && !istio {
		c.refuse(s.problem(field("spec", "istio"), "goes with the output Istio: add it to outputs"))
	}
	switch {
	case s.spec.GatewayAPI != nil && !gateway:
		c.refuse(s.problem(field("spec", "gatewayAPI"), "goes with the output GatewayAPI: add it to outputs"))
	case s.spec.GatewayAPI == nil && gateway:
		c.refuse(s.problem(field("spec", "gatewayAPI"), "is required for the output GatewayAPI: name the Gateway in parentRefs"))
	}
}

// targets resolves the targets of a split, in their order.
func (c *commit) targets(s *split) {
	for i, t := range s.spec.Targets {
		weight := uint32(1)
		if t.Weight != nil {
			weight = uint32(*t.Weight) //nolint:gosec // not negative by the schema
		}
		s.Targets, s.Own = append(s.Targets, t.Name), append(s.Own, weight)
		s.targets = append(s.targets, c.target(s, i, t))
	}
	c.warnNone(s, field("spec", "targets"), s.Own, "")
}

// warnNone points out weights of which nobody gets a request.
func (c *commit) warnNone(s *split, at fieldPath, weights []uint32, when string) {
	if isNone(weights) {
		text := "all weights are 0: answers 503"
		if s.writes(v1alpha1.OutputGatewayAPI) {
			text += " (Gateway API: 500)"
		}
		c.warn(s.problem(at, "%s%s", text, when))
	}
}

// isNone reports whether all weights are 0.
func isNone(weights []uint32) bool {
	return !slices.ContainsFunc(weights, func(w uint32) bool { return w > 0 })
}

// target resolves one target; where it cannot, that is reported.
func (c *commit) target(s *split, i int, t v1alpha1.Target) splitTarget {
	at := field("spec", "targets", i)
	ref := backendRef{
		Key:  desired.Key{Namespace: cmp.Or(t.Namespace, s.Namespace), Name: cmp.Or(t.Service, t.Mock, t.Name)},
		mock: t.Mock != "", port: t.Port, name: at.child("name"), portField: at.child("port"),
	}
	out := splitTarget{name: t.Name, service: ref.Key}
	switch {
	case t.Mock != "" && t.Service != "":
		c.refuse(s.problem(at, "set one of service and mock"))
		return out
	case t.Mock != "":
		ref.name = at.child("mock")
	case t.Service != "":
		ref.name = at.child("service")
	}
	switch {
	case t.Subset == nil:
		out.upstream, _ = c.upstream(s.place, ref)
	case s.writes(v1alpha1.OutputEnvoy) || s.writes(v1alpha1.OutputGatewayAPI):
		out.subset = t.Subset.Labels
		out.upstream, _ = c.subset(s, t, ref, at.child("subset"))
	default: // Istio picks the pods itself
		out.subset = t.Subset.Labels
		out.upstream, _ = c.upstream(s.place, ref)
		base, _, _ := c.service(ref.Key)
		c.subsetLabels(s, t, at.child("subset"), base)
	}
	return out
}
