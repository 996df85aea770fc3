package reconcile

import (
	"reflect"
	"slices"

	"github.com/tidelock/tidelock/internal/desired"
)

// missing are the routes of one list that the other does not have: wherever they stand in the repository, and whichever
// rule of their resource they are.
func missing(routes, from []desired.Route) []*desired.Route {
	if isSame(routes, from) {
		return nil
	}
	have := make(map[desired.Source][]*desired.Route, len(from))
	for i := range from {
		have[from[i].Source] = append(have[from[i].Source], &from[i])
	}
	var out []*desired.Route
	for i := range routes {
		if !contains(have[routes[i].Source], &routes[i]) {
			out = append(out, &routes[i])
		}
	}
	return out
}

func contains(list []*desired.Route, r *desired.Route) bool {
	for _, o := range list {
		if o == r || equalRoutes(*o, *r) {
			return true
		}
	}
	return false
}

func equalRoutes(a, b desired.Route) bool {
	a.Origin, b.Origin, a.Rule, b.Rule = desired.Origin{}, desired.Origin{}, 0, 0
	return reflect.DeepEqual(a, b)
}

// heldUntil is what a route of the commit waits for before it is switched to, for each of its hosts.
func heldUntil(r *desired.Route, held []desired.Wait) []string {
	var out []string
	for _, w := range held {
		if slices.ContainsFunc(r.Hosts, func(host string) bool { return w.For == entrance(r, host) }) {
			out = append(out, w.String())
		}
	}
	return out
}

// entrance is what a route is called in waits: where its requests enter.
func entrance(r *desired.Route, host string) string {
	match := r.Match.String()
	if plain := (desired.Match{PathType: desired.PathPrefix, Path: r.Match.Path}); match == plain.String() {
		match = r.Match.Path
	}
	if r.Listener.Name != desired.DefaultListener {
		match += " on " + r.Listener.Name
	}
	return "route " + host + " " + match
}
