package diff

import (
	"maps"
	"slices"

	"github.com/tidelock/tidelock/internal/desired"
)

// reach is how far changes go.
func reach(changes []Change, t moves) Reach {
	out := Reach{}
	spaces := map[string]bool{}
	for _, c := range changes {
		switch {
		case c.Namespace != "":
			spaces[c.Namespace] = true
		case c.Group == "" && c.Kind == "Namespace":
			spaces[c.Name] = true
		default:
			out.ClusterScoped++
		}
	}
	out.Namespaces = slices.Sorted(maps.Keys(spaces))
	groups := map[string]bool{}
	for _, m := range t.every() {
		for _, g := range m.route().Proxies {
			groups[g] = true
		}
		out.AllProxies = out.AllProxies || len(m.route().Proxies) == 0
	}
	out.Proxies = slices.Sorted(maps.Keys(groups))
	out.Hosts = t.hostReach()
	return out
}

// every is each move, wherever it was found.
func (t *moves) every() []move { return slices.Concat(t.all, t.shadows, t.raw) }

// hostReach is how far the moves go, by host.
func (t *moves) hostReach() []HostReach {
	byHost := map[string]*HostReach{}
	type told struct {
		entry
		route *desired.Route
	}
	seen := map[told]bool{}
	for _, m := range t.every() {
		if m.host == "" {
			continue
		}
		h := byHost[m.host]
		if h == nil {
			h = &HostReach{Host: m.host, All: t.routes(m.host)}
			byHost[m.host] = h
		}
		if at := (told{entry: m.entry, route: m.route()}); !seen[at] {
			seen[at] = true
			h.Routes++
		}
		h.All, h.Moved = max(h.All, h.Routes), max(h.Moved, m.moved)
	}
	var out []HostReach
	for _, name := range slices.Sorted(maps.Keys(byHost)) {
		out = append(out, *byHost[name])
	}
	return out
}

// routes counts those of a host whose routes changed, on either side.
func (t *moves) routes(host string) int {
	n := 0
	for e := range t.hostsChanged {
		if e.host != host {
			continue
		}
		seen := map[string]bool{}
		for _, side := range []hosts{t.base, t.head} {
			for _, r := range side[e] {
				seen[r.Match.String()] = true
			}
		}
		n += len(seen)
	}
	return n
}
