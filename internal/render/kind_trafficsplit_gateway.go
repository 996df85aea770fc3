package render

import (
	"slices"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

const (
	gatewayGroup   = "gateway.networking.k8s.io"
	gatewayVersion = gatewayGroup + "/v1"
	// gatewayMost is how many targets and how many hosts an HTTPRoute takes.
	gatewayMost = 16
)

// gatewayAPI makes an HTTPRoute for the hosts of a split. A subset is a Service of its own there too. Weights that are all 0
// are written as they are: Gateway API answers them 500, and knows no response of its own that could say 503.
func (c *commit) gatewayAPI(s *split) {
	if len(s.targets) > gatewayMost {
		c.refuse(s.problem(field("spec", "targets"), "Gateway API takes at most %d targets, got %d", gatewayMost, len(s.targets)))
	}
	if len(s.hosts) > gatewayMost {
		c.refuse(s.problem(field("spec", "hosts"), "Gateway API takes at most %d hosts, got %d", gatewayMost, len(s.hosts)))
	}
	c.refuseRival(s, v1alpha1.OutputGatewayAPI, s.gatewayEntrances())
	for i, t := range s.targets {
		c.checkGatewayBackend(s, field("spec", "targets", i), t.service, t.upstream)
	}
	if s.mirror != nil {
		c.checkGatewayBackend(s, field("spec", "mirror"), s.mirror.service, s.mirror.upstream)
	}
	id := desired.ID{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: s.Namespace, Name: s.Name}
	c.generateStepped(s, id, func(weights []uint32) map[string]any {
		spec := map[string]any{"parentRefs": s.parentRefs(), "rules": []any{s.gatewayRule(weights)}}
		// A route without host names is for every one of its Gateway.
		if !slices.Contains(s.hosts, desired.AnyHost) {
			spec["hostnames"] = anyList(s.hosts)
		}
		return generated(s.source(), id, gatewayVersion, spec)
	})
}

// checkGatewayBackend finds what a Gateway would not send requests to.
func (c *commit) checkGatewayBackend(s *split, at fieldPath, service desired.Key, up desired.Upstream) {
	if up.Address != "" {
		c.refuse(s.problem(at, "Service %s is an ExternalName: Gateway API takes none as a backend", service))
	}
	if service.Namespace != s.Namespace && !c.granted(s.Namespace, service) {
		c.warn(s.problem(at, "no ReferenceGrant of the repository lets HTTPRoutes of %s name Service %s: without one a Gateway sends "+
			"no request there", s.Namespace, service))
	}
}

// granted reports whether a ReferenceGrant lets the HTTPRoutes of a namespace name a Service of another.
func (c *commit) granted(from string, service desired.Key) bool {
	for id, grant := range c.objects {
		if id.Group != gatewayGroup || id.Kind != "ReferenceGrant" || id.Namespace != service.Namespace {
			continue
		}
		comes := func(v any) bool {
			m, _ := v.(map[string]any)
			return textAt(m, "group") == gatewayGroup && textAt(m, "kind") == "HTTPRoute" && textAt(m, "namespace") == from
		}
		goes := func(v any) bool {
			m, _ := v.(map[string]any)
			name := textAt(m, "name")
			return textAt(m, "group") == "" && textAt(m, "kind") == "Service" && (name == "" || name == service.Name)
		}
		spec, _ := grant.content.Object["spec"].(map[string]any)
		if slices.ContainsFunc(listAt(spec, "from"), comes) && slices.ContainsFunc(listAt(spec, "to"), goes) {
			return true
		}
	}
	return false
}

func (s *split) parentRefs() []any {
	var out []any
	for _, p := range s.spec.GatewayAPI.ParentRefs {
		ref := map[string]any{"name": p.Name}
		if p.Group != nil {
			ref["group"] = *p.Group
		}
		for name, value := range map[string]string{"kind": p.Kind, "namespace": p.Namespace, "sectionName": p.SectionName} {
			if value != "" {
				ref[name] = value
			}
		}
		if p.Port != 0 {
			ref["port"] = int64(p.Port)
		}
		out = append(out, ref)
	}
	return out
}

func (s *split) gatewayRule(weights []uint32) map[string]any {
	var backends []any
	for i, t := range s.targets {
		ref := s.gatewayBackend(t.upstream)
		ref["weight"] = int64(weights[i])
		backends = append(backends, ref)
	}
	out := map[string]any{"backendRefs": backends}
	if m := s.mirror; m != nil {
		out["filters"] = []any{map[string]any{
			"type":          "RequestMirror",
			"requestMirror": map[string]any{"backendRef": s.gatewayBackend(m.upstream), "percent": int64(m.percent)},
		}}
	}
	return out
}

func (s *split) gatewayBackend(up desired.Upstream) map[string]any {
	out := map[string]any{"name": up.Service.Name, "port": int64(up.Port)}
	if up.Service.Namespace != s.Namespace {
		out["namespace"] = up.Service.Namespace
	}
	return out
}
