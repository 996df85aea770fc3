package render

import (
	"context"
	"io/fs"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// rawResource is one xDS message as it stands in the repository.
type rawResource struct {
	place
	// at is where it stands in its document.
	at fieldPath
	// typeURL as it is written; empty where it is missing.
	typeURL string
	// content without its "@type".
	content map[string]any
}

// lowerEnvoyConfig makes one route that holds the resources, each checked as far as that can be done without Envoy.
func lowerEnvoyConfig(_ context.Context, c *commit, r resource[v1alpha1.EnvoyConfigSpec]) {
	raws, ok := c.rawResources(r)
	route := desired.Route{Source: r.source(), Origin: r.origin, Proxies: proxies(r.spec.Proxies), Force: switchForced(c, r)}
	for _, raw := range raws {
		msg, good := c.rawMessage(raw)
		if !good {
			ok = false
			continue
		}
		res, err := toResource(msg)
		if err != nil {
			c.refuse(raw.problem(raw.at, "%v", err))
			ok = false
			continue
		}
		route.Resources = append(route.Resources, res)
		c.claimName(raw, res, route.Proxies)
		if l, isListener := msg.(*listenerv3.Listener); isListener {
			c.claimAddress(raw, l, route.Proxies)
		}
	}
	if !ok {
		return
	}
	slices.SortFunc(route.Resources, func(a, b desired.Resource) int {
		return strings.Compare(a.TypeURL+" "+a.Name, b.TypeURL+" "+b.Name)
	})
	c.out.routes = append(c.out.routes, route)
}

// rawResources gathers the resources of an EnvoyConfig from where they stand.
func (c *commit) rawResources(r resource[v1alpha1.EnvoyConfigSpec]) ([]rawResource, bool) {
	at := field("spec", "resources")
	switch {
	case (r.spec.File == "") == (len(r.spec.Resources) == 0):
		c.refuse(r.problem(field("spec"), "set one of resources and file"))
		return nil, false
	case r.spec.File != "":
		return c.resourcesOfFile(r)
	}
	spec, _ := r.content.Object["spec"].(map[string]any)
	return c.resourceList(r.place, at, spec["resources"])
}

// resourceList reads a list of messages that name their types.
func (c *commit) resourceList(p place, at fieldPath, v any) ([]rawResource, bool) {
	list, ok := v.([]any)
	if !ok {
		c.refuse(p.problem(at, "want a list, got %s", typeName(v)))
		return nil, false
	}
	var raws []rawResource
	for i, item := range list {
		m, isObject := item.(map[string]any)
		if !isObject {
			c.refuse(p.problem(at.child(i), "want an object, got %s", typeName(item)))
			ok = false
			continue
		}
		content := maps.Clone(m)
		typeURL, _ := content["@type"].(string)
		delete(content, "@type")
		raws = append(raws, rawResource{place: p, at: at.child(i), typeURL: typeURL, content: content})
	}
	return raws, ok
}

// resourcesOfFile reads a file in one of Envoy's own shapes: a list under "resources", or the "static_resources" of a
// bootstrap.
func (c *commit) resourcesOfFile(r resource[v1alpha1.EnvoyConfigSpec]) ([]rawResource, bool) {
	at := field("spec", "file")
	name, err := beside(r.origin.Path, r.spec.File)
	if err != nil {
		c.refuse(r.problem(at, "%v", err))
		return nil, false
	}
	data, err := fs.ReadFile(c.tree, name)
	if err != nil {
		c.refuse(r.problem(at, "%s", unreadable(name, err)))
		return nil, false
	}
	p := place{start: desired.Origin{Path: name, Line: 1}, object: r.object}
	doc := parseYAML(data)
	for _, f := range doc.objects() {
		c.refuse(desired.Problem{Origin: desired.Origin{Path: name, Line: f.line}, Object: r.object, Text: f.text})
	}
	switch {
	case len(doc.objects()) > 0:
		return nil, false
	case len(doc.docs) != 1:
		c.refuse(p.problem(nil, "want one document, got %d", len(doc.docs)))
		return nil, false
	}
	p.lines = doc.docs[0].node
	return c.resourcesOfDocument(p, doc.docs[0].value)
}

func (c *commit) resourcesOfDocument(p place, doc map[string]any) (raws []rawResource, ok bool) {
	ok = true
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		var got []rawResource
		good := true
		switch name {
		case "resources":
			got, good = c.resourceList(p, field(name), doc[name])
		case "static_resources":
			got, good = c.staticResources(p, doc[name])
		case "version_info": // of a file that Envoy watches; our versions are the content's
		default:
			c.refuse(p.problem(field(name), "is part of a proxy's own bootstrap and cannot be published: want resources, "+
				"or static_resources"))
			good = false
		}
		raws, ok = append(raws, got...), ok && good
	}
	if ok && len(raws) == 0 {
		c.refuse(p.problem(nil, "holds no resources"))
		return nil, false
	}
	return raws, ok
}

// staticResources reads lists of messages whose list says their type.
func (c *commit) staticResources(p place, v any) (raws []rawResource, ok bool) {
	types := map[string]string{"listeners": typeListener, "clusters": typeCluster, "secrets": typeSecret}
	lists, ok := v.(map[string]any)
	if !ok {
		c.refuse(p.problem(field("static_resources"), "want an object, got %s", typeName(v)))
		return nil, false
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		at := field("static_resources", name)
		typeURL, known := types[name]
		if !known {
			c.refuse(p.problem(at, "unknown field %q%s", name, didYouMean(name, slices.Collect(maps.Keys(types)))))
			ok = false
			continue
		}
		got, good := c.resourceList(p, at, lists[name])
		for i := range got {
			got[i].typeURL = typeURL
		}
		raws, ok = append(raws, got...), ok && good
	}
	return raws, ok
}

// rawName is a name that a raw resource has taken.
type rawName struct {
	rawResource
	proxies []string
}

// claimName refuses two resources of one type and name that reach the same proxies.
func (c *commit) claimName(raw rawResource, res desired.Resource, proxies []string) {
	key := res.TypeURL + " " + res.Name
	for _, other := range c.rawNames[key] {
		if overlap(proxies, other.proxies) {
			c.refuse(raw.problem(raw.at, "%q is the name of another resource of this type: %s, %s (%s)",
				res.Name, other.object, other.at, other.place.at(other.at)))
			return
		}
	}
	c.rawNames[key] = append(c.rawNames[key], rawName{rawResource: raw, proxies: proxies})
}

// claimAddress notes the address of a raw listener, so that no other is put on it.
func (c *commit) claimAddress(raw rawResource, l *listenerv3.Listener, proxies []string) {
	b := bound{place: raw.place, at: raw.at, name: l.GetName(), proxies: proxies}
	if s := l.GetAddress().GetSocketAddress(); s != nil && s.GetProtocol() == corev3.SocketAddress_TCP {
		b.address = net.JoinHostPort(s.GetAddress(), strconv.FormatUint(uint64(s.GetPortValue()), 10))
	}
	c.rawListeners = append(c.rawListeners, b)
}
