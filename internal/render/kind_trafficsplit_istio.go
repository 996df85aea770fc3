package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

const (
	istioGroup   = "networking.istio.io"
	istioVersion = istioGroup + "/v1"
)

// istioClaim is what a split says of a destination in Istio. Istio merges the DestinationRules of one host, so two splits
// must not contradict each other.
type istioClaim struct {
	split   *split
	subsets map[string]string // labels by name, as a text
}

// istio makes a VirtualService for the hosts of a split, in its namespace, and a DestinationRule for each Service that needs
// one, in the Service's: there the proxies of every namespace look for it.
func (c *commit) istio(s *split) {
	if slices.Contains(s.hosts, desired.AnyHost) && (s.spec.Istio == nil || slices.Contains(s.spec.Istio.Gateways, "mesh")) {
		c.refuse(s.problem(s.hostField(), "the mesh of Istio takes no host *: name gateways in istio.gateways"))
	}
	if s.sticky != nil && len(s.targets) > 1 {
		c.warn(s.problem(field("spec", "stickiness"), "Istio chooses the target of each request by chance: there a client keeps "+
			"to one pod of a target, not to one target"))
	}
	c.refuseRival(s, v1alpha1.OutputIstio, s.istioEntrances())
	byService := map[desired.Key][]splitTarget{}
	for i, t := range s.targets {
		if t.subset != nil || s.sticky != nil {
			byService[t.service] = append(byService[t.service], t)
		}
		c.agree(s, i, t)
	}
	for _, service := range slices.SortedFunc(maps.Keys(byService), desired.Key.Compare) {
		c.destinationRule(s, service, byService[service])
	}
	id := desired.ID{Group: istioGroup, Kind: "VirtualService", Namespace: s.Namespace, Name: s.Name}
	c.generateStepped(s, id, func(weights []uint32) map[string]any {
		spec := map[string]any{"hosts": anyList(s.hosts), "http": []any{s.istioRoute(weights)}}
		if s.spec.Istio != nil && len(s.spec.Istio.Gateways) > 0 {
			spec["gateways"] = anyList(s.spec.Istio.Gateways)
		}
		return generated(s.source(), id, istioVersion, spec)
	})
}

// agree refuses what contradicts another split about the same Service.
func (c *commit) agree(s *split, i int, t splitTarget) {
	other, ok := c.istioClaims[t.service]
	if !ok {
		other = istioClaim{split: s, subsets: map[string]string{}}
		c.istioClaims[t.service] = other
	}
	said := fmt.Sprintf("TrafficSplit %s (%s)", other.split.Split.Key, other.split.origin)
	if !sameSticky(other.split, s) {
		c.refuse(s.problem(field("spec", "stickiness"), "%s says otherwise of Service %s: Istio knows one stickiness of a Service",
			said, t.service))
	}
	if t.subset == nil {
		return
	}
	if len(validation.IsDNS1123Label(t.name)) > 0 {
		c.refuse(s.problem(field("spec", "targets", i, "name"), "names a subset in Istio: want lower-case letters, digits and '-', got %q",
			t.name))
	}
	text := labels.Set(t.subset).String()
	if known, ok := other.subsets[t.name]; ok && known != text {
		c.refuse(s.problem(field("spec", "targets", i, "subset"), "%s has a subset %q of Service %s with other labels (%s): give "+
			"this target another name", said, t.name, t.service, known))
		return
	}
	other.subsets[t.name] = text
}

func sameSticky(a, b *split) bool {
	if a.sticky == nil || b.sticky == nil {
		return a.sticky == b.sticky
	}
	return *a.sticky == *b.sticky && a.spec.Stickiness.Algorithm == b.spec.Stickiness.Algorithm
}

// destinationRule makes the subsets of one Service, and how its pods are picked. Its name changes with its content: a new one
// is there before the VirtualService names its subsets, and the old one goes when none names them any more.
func (c *commit) destinationRule(s *split, service desired.Key, targets []splitTarget) {
	spec := map[string]any{"host": istioName(service)}
	text := []string{s.Split.Key.String(), service.String(), fmt.Sprint(s.istioBalancer())}
	var subsets []any
	for _, t := range targets {
		if t.subset == nil {
			continue
		}
		set := map[string]any{}
		for name, value := range t.subset {
			set[name] = value
		}
		subsets = append(subsets, map[string]any{"name": t.name, "labels": set})
		text = append(text, t.name, labels.Set(t.subset).String())
	}
	if len(subsets) > 0 {
		spec["subsets"] = subsets
	}
	if balancer := s.istioBalancer(); balancer != nil {
		spec["trafficPolicy"] = map[string]any{"loadBalancer": map[string]any{"consistentHash": balancer}}
	}
	id := desired.ID{
		Group: istioGroup, Kind: "DestinationRule", Namespace: service.Namespace,
		Name: hashedName(s.Name+"-"+service.Name, text...),
	}
	c.generateUnstructured(s.place, s.source(), id, generated(s.source(), id, istioVersion, spec))
}

// istioBalancer is the stickiness of a split in Istio's words; nil for none.
func (s *split) istioBalancer() map[string]any {
	if s.sticky == nil {
		return nil
	}
	out := map[string]any{}
	if s.sticky.Header != "" {
		out["httpHeaderName"] = s.sticky.Header
	} else {
		out["httpCookie"] = map[string]any{"name": s.sticky.Cookie, "path": s.sticky.Path, "ttl": fmt.Sprintf("%ds", int(s.sticky.TTL.Seconds()))}
	}
	if s.spec.Stickiness.Algorithm == v1alpha1.Maglev {
		out["maglev"] = map[string]any{}
	}
	return out
}

// istioRoute divides the requests by weight. Weights that are all 0 get a direct response: Istio sends everything to a lone
// destination of weight 0, and refuses several.
func (s *split) istioRoute(weights []uint32) map[string]any {
	if isNone(weights) {
		return map[string]any{"directResponse": map[string]any{
			"status": int64(503), "body": map[string]any{"string": "tidelock: every target has weight 0\n"},
		}}
	}
	var routes []any
	for i, t := range s.targets {
		destination := istioDestination(t.service, t.upstream)
		if t.subset != nil {
			destination["subset"] = t.name
		}
		routes = append(routes, map[string]any{"destination": destination, "weight": int64(weights[i])})
	}
	out := map[string]any{"route": routes}
	if m := s.mirror; m != nil {
		out["mirror"] = istioDestination(m.service, m.upstream)
		out["mirrorPercentage"] = map[string]any{"value": int64(m.percent)}
	}
	return out
}

func istioDestination(service desired.Key, up desired.Upstream) map[string]any {
	return map[string]any{"host": istioName(service), "port": map[string]any{"number": int64(up.Port)}}
}

// istioName is a Service's full name: a short one would be read in the namespace of whoever reads it.
func istioName(service desired.Key) string {
	return strings.Join([]string{service.Name, service.Namespace, "svc.cluster.local"}, ".")
}
