package xds

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/desired"
)

// Input is all that a Snapshot is made from.
type Input struct {
	// Group of proxies that it is for.
	Group string
	// Commit that Desired comes from.
	Commit string
	// Live are the routes in force until now: Snapshot.InForce of the last one; empty for a first publication.
	Live []desired.Route
	// Desired are the routes of the commit, for every group.
	Desired []desired.Route
	// World is the view of Services and Secrets.
	World World
}

// Build returns the snapshot of one group. It is a pure function of its input: equal input gives equal bytes, whatever the
// order of Desired; cache, which may be nil, saves work and changes nothing. An error is desired.Problems: the commit says
// what no proxy could take.
func Build(in Input, cache *Cache) (Snapshot, error) {
	old := cache.last(in.Group)
	b := &builder{
		world:     in.World,
		known:     forGroup(in.Desired, in.Group),
		old:       old,
		next:      newMemo(old),
		upstreams: make(map[string]namedUpstream, len(old.clusters)),
		refs:      map[string][]string{},
		resources: map[string][]Resource{
			TypeCluster:  make([]Resource, 0, len(old.clusters)),
			TypeEndpoint: make([]Resource, 0, len(old.endpoints)),
			TypeSecret:   {}, TypeListener: {}, TypeRoute: {}, TypeRuntime: {},
		},
		raw: map[resourceKey]*desired.Route{},
	}
	live := forGroup(in.Live, in.Group)
	routes, held := gate(live, b.known, in.World)
	b.inForce, b.live = routes, addresses(live)
	b.build()
	if err := b.problems.Err(); err != nil {
		return Snapshot{}, err
	}
	cache.keep(in.Group, b.next)
	for _, rs := range b.resources {
		sorted(rs)
	}
	return Snapshot{
		Group:     in.Group,
		Commit:    in.Commit,
		Resources: b.resources,
		Refs:      b.refs,
		InForce:   routes,
		Held:      held,
		Notes:     sortedNotes(b.notes),
	}, nil
}

// builder collects one snapshot.
type builder struct {
	world World
	old   *memo
	next  *memo

	inForce []desired.Route
	// live are the addresses of the listeners that proxies have, by name.
	live map[string]netip.AddrPort
	// known are all routes that the group is to hold: a raw resource may name the cluster of any of them.
	known     []desired.Route
	upstreams map[string]namedUpstream
	resources map[string][]Resource
	refs      map[string][]string
	// raw says which EnvoyConfig a resource comes from.
	raw      map[resourceKey]*desired.Route
	wants    []want
	bound    []binding
	notes    []Note
	problems desired.Problems
}

// resourceKey names one resource of a snapshot.
type resourceKey struct{ typeURL, name string }

// forGroup returns the routes that a group receives.
func forGroup(routes []desired.Route, group string) []desired.Route {
	others := func(r desired.Route) bool { return len(r.Proxies) > 0 && !slices.Contains(r.Proxies, group) }
	if !slices.ContainsFunc(routes, others) {
		return routes
	}
	return slices.DeleteFunc(slices.Clone(routes), others)
}

func (b *builder) build() {
	for i := range b.inForce {
		b.addRaw(&b.inForce[i])
	}
	tables := b.tables(b.inForce)
	for _, name := range names(tables) {
		b.routeConfiguration(tables[name])
		b.listener(tables[name])
	}
	b.adoptWanted()
	for _, name := range names(b.upstreams) {
		b.cluster(b.upstreams[name])
	}
	b.checkWanted()
	b.checkBound()
}

// add puts a resource of our own into the snapshot.
func (b *builder) add(typeURL string, r Resource) {
	if by, taken := b.raw[resourceKey{typeURL, r.Name}]; taken {
		b.problems = append(b.problems, rawProblem(by, typeURL, r.Name, "the name is that of a resource made from a route"))
		return
	}
	b.resources[typeURL] = append(b.resources[typeURL], r)
}

// fail keeps err as a fault of r, unless it is the users' faults already.
func (b *builder) fail(err error, r *desired.Route, field string) {
	var problems desired.Problems
	if !errors.As(err, &problems) {
		problems = desired.Problems{problem(r, field, err.Error())}
	}
	b.problems = append(b.problems, problems...)
}

func sortedNotes(notes []Note) []Note {
	slices.SortFunc(notes, func(a, b Note) int {
		return cmp.Or(strings.Compare(a.Source.Kind, b.Source.Kind), a.Source.Compare(b.Source.Key), strings.Compare(a.Text, b.Text))
	})
	return slices.Compact(notes)
}
