package xds

import (
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tidelock/tidelock/internal/desired"
)

// virtualHostsField is the number of RouteConfiguration.virtual_hosts.
const virtualHostsField = 2

// table is the routes of one listener by host: one RouteConfiguration.
type table struct {
	listener desired.Listener
	hosts    map[string][]*desired.Route
	// names of the hosts, in the order in which they came until routeConfiguration sorts them.
	names []string
}

// tableMemo is a RouteConfiguration as it was built, and the virtual hosts that it was built from.
type tableMemo struct {
	hosts    []hostMemo
	resource Resource
	refs     []string
}

// tables groups routes by listener and host. Two listeners of one name must be equal.
func (b *builder) tables(routes []desired.Route) map[string]*table {
	out := map[string]*table{}
	for i := range routes {
		r := &routes[i]
		if len(r.Hosts) == 0 {
			continue // an EnvoyConfig
		}
		t := out[r.Listener.Name]
		if t == nil {
			t = &table{listener: r.Listener, hosts: make(map[string][]*desired.Route, len(b.old.tables[r.Listener.Name].hosts))}
			out[r.Listener.Name] = t
		}
		if t.listener != r.Listener {
			b.problems = append(b.problems, desired.Problem{
				Origin: r.Origin, Object: r.Source.String(), Field: "spec.listener",
				Text: "listener " + r.Listener.Name + " is declared otherwise elsewhere: all declarations of one name must agree",
			})
		}
		for _, host := range r.Hosts {
			known := t.hosts[host]
			if known == nil {
				t.names = append(t.names, host)
			}
			t.hosts[host] = append(known, r)
		}
	}
	return out
}

// routeConfiguration adds the table of one listener to the snapshot.
func (b *builder) routeConfiguration(t *table) {
	name := t.listener.Name
	old := b.old.tables[name]
	same := len(old.hosts) == len(t.hosts)
	built := make([]hostMemo, 0, len(t.hosts))
	slices.Sort(t.names) // mostly sorted: State sorts routes by listener and host
	for i, host := range t.names {
		key := hostKey{listener: name, host: host}
		h, err := b.virtualHost(key, t.hosts[host])
		if err != nil {
			b.fail(err, t.hosts[host][0], "match")
			continue
		}
		b.next.hosts[key] = h
		built = append(built, h)
		same = same && samePlace(h.wire, old.hosts[i].wire)
		b.notes = append(b.notes, h.notes...)
		for _, u := range h.upstreams {
			b.upstreams[u.name] = u
		}
	}
	memo := tableMemo{hosts: built, resource: old.resource, refs: old.refs}
	if !same {
		head, err := marshal(&routev3.RouteConfiguration{
			Name: name,
			// As in Gateway API a host is a host on every port, so that a proxy behind another port needs no second name.
			IgnorePortInHostMatching: true,
		})
		if err != nil {
			b.fail(err, t.first(), "match")
			return
		}
		memo.resource, memo.refs = resourceOf(name, appendHosts(head, built)), references(built)
	}
	b.next.tables[name] = memo
	b.add(TypeRoute, memo.resource)
	b.refs[name] = merge(b.refs[name], memo.refs)
}

// samePlace reports whether a and b are the same bytes in memory: what was taken over and not built again.
func samePlace(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// first returns the route that a fault of the whole table is told at.
func (t *table) first() *desired.Route { return t.hosts[t.names[0]][0] }

// appendHosts adds virtual hosts to a marshalled RouteConfiguration that has none. The fields of a message may stand in any
// order on the wire, so a host that did not change need not be encoded again.
func appendHosts(head []byte, hosts []hostMemo) []byte {
	size := len(head)
	for _, h := range hosts {
		size += len(h.wire) + protowire.SizeTag(virtualHostsField) + protowire.SizeVarint(uint64(len(h.wire)))
	}
	out := append(make([]byte, 0, size), head...)
	for _, h := range hosts {
		out = protowire.AppendTag(out, virtualHostsField, protowire.BytesType)
		out = protowire.AppendBytes(out, h.wire)
	}
	return out
}

// references names the clusters of hosts, sorted, each once.
func references(hosts []hostMemo) []string {
	var out []string
	for _, h := range hosts {
		for _, u := range h.upstreams {
			out = append(out, u.name)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return slices.Compact(out)
}
