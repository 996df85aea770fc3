package xds

import (
	"slices"

	"github.com/tidelock/tidelock/internal/desired"
)

// gate returns the routes in force: the wanted ones, except that a live route stays for each host where its switch would go
// to a backend without a ready endpoint. Only a switch of what is live waits; what is new, forced or not declared here does
// not. A route that has switched is live itself, so it does not switch back when its endpoints vanish.
func gate(live, wanted []desired.Route, w World) ([]desired.Route, []desired.Wait) {
	head, tail := commonEnds(live, wanted)
	changed := wanted[head : len(wanted)-tail]
	was := byKey(live[head : len(live)-tail])

	var (
		held   []desired.Wait
		middle []desired.Route
	)
	for _, r := range changed {
		routes, waits := switchRoute(r, was, w)
		middle = append(middle, routes...)
		held = append(held, waits...)
	}
	if len(held) == 0 {
		return wanted, nil
	}
	return slices.Concat(wanted[:head], middle, wanted[len(wanted)-tail:]), held
}

// commonEnds counts the routes that both lists begin and end with. Both are sorted, so a commit that changes little is
// compared without a table of all keys.
func commonEnds(a, b []desired.Route) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && sameRoute(&a[head], &b[head]) {
		head++
	}
	for tail < n-head && sameRoute(&a[len(a)-1-tail], &b[len(b)-1-tail]) {
		tail++
	}
	return head, tail
}

func byKey(routes []desired.Route) map[string]*desired.Route {
	out := make(map[string]*desired.Route, len(routes))
	for i := range routes {
		for _, host := range routes[i].Hosts {
			out[routes[i].Key(host)] = &routes[i]
		}
	}
	return out
}

// switchRoute returns what is in force of r: r for the hosts that may switch, and the live routes for the others.
func switchRoute(r desired.Route, was map[string]*desired.Route, w World) ([]desired.Route, []desired.Wait) {
	if r.Force || len(r.Resources) > 0 {
		return []desired.Route{r}, nil
	}
	var (
		free  []string
		kept  []desired.Route
		waits []desired.Wait
	)
	for _, host := range r.Hosts {
		old := was[r.Key(host)]
		unready := unreadyServices(old, r, w)
		if len(unready) == 0 {
			free = append(free, host)
			continue
		}
		stay := *old
		// The listener is what the commit says: only where requests go is held back.
		stay.Hosts, stay.Listener = []string{host}, r.Listener
		kept = append(kept, stay)
		for _, name := range unready {
			waits = append(waits, desired.Wait{For: describe(r, host), Until: "endpoints of " + name})
		}
	}
	if len(kept) == 0 {
		return []desired.Route{r}, nil
	}
	if len(free) > 0 {
		r.Hosts = free
		kept = append(kept, r)
	}
	return kept, waits
}

// unreadyServices names the Services that the switch from old to r would begin to use and that have no ready endpoint.
func unreadyServices(old *desired.Route, r desired.Route, w World) []string {
	if old == nil {
		return nil
	}
	var names []string
	for _, b := range r.Backends {
		u := b.Upstream
		if b.Weight == 0 || !isService(u) || u.Idle || isAbsent(u, w) || serves(old, clusterName(u)) {
			continue
		}
		if len(w.Services[servicePort(u)].Ready) == 0 {
			names = append(names, servicePort(u).String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// serves reports whether r sends requests to a cluster.
func serves(r *desired.Route, cluster string) bool {
	return slices.ContainsFunc(r.Backends, func(b desired.Backend) bool {
		return b.Weight > 0 && clusterName(b.Upstream) == cluster
	})
}

// describe names a route as a person would: "route shop.example.com /cart".
func describe(r desired.Route, host string) string {
	match := r.Match.String()
	if plain := (desired.Match{PathType: desired.PathPrefix, Path: r.Match.Path}); match == plain.String() {
		match = r.Match.Path
	}
	if r.Listener.Name != desired.DefaultListener {
		match += " on " + r.Listener.Name
	}
	return "route " + host + " " + match
}
