package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// think finds out what a commit would do: everything that can fail without touching the world. A commit that was accepted
// before is not put to the server again.
func (l *Loop) think(ctx context.Context, c commit, w world, was standing) (thought, error) {
	t := thought{commit: c}
	if !c.known() {
		return t, nil
	}
	if !w.Synced {
		t.waits = []desired.Wait{{For: c.rev.String(), Until: "the API server to list endpoints"}}
		return t, nil
	}
	groups := l.groups(c.state.Routes)
	view, err := l.Cluster.View(ctx, c.declared, l.Cluster.Inventory())
	if err != nil {
		return t, fmt.Errorf("look at the cluster: %w", err)
	}
	t.view = view
	t.key = key{
		commit: c.rev.Commit, view: view.Generation, world: w.Generation, mocks: w.mocks, groups: strings.Join(groups, " "),
	}
	if t.key == was.thought.key {
		return was.thought, nil
	}
	for _, group := range groups {
		in := xds.Input{Group: group, Commit: c.rev.Commit, Live: was.live[group], Desired: c.state.Routes, World: w.World}
		snap, err := xds.Build(in, l.built)
		if err != nil {
			return t, err
		}
		t.snapshots = append(t.snapshots, snap)
	}
	t.plan = apply.NewPlan(c.declared, l.Cluster.Inventory(), view)
	t.plan.Commit = c.rev.Commit
	if c.rev.Commit == was.accepted.rev.Commit {
		return t, nil
	}
	if err := t.plan.Check(c.state.Brakes); err != nil {
		return t, err
	}
	t.plan, t.waits, err = l.Cluster.Preflight(ctx, t.plan)
	return t, err
}

// groups returns the proxy groups that need a snapshot: those that are connected, those that a route names, and the
// nameless one, so that a commit is checked also while no proxy is there.
func (l *Loop) groups(routes []desired.Route) []string {
	set := map[string]bool{"": true}
	for _, g := range l.Proxies.Groups() {
		set[g] = true
	}
	for i := range routes {
		for _, g := range routes[i].Proxies {
			set[g] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// world is the view of endpoints, and where the mocks of this process answer.
type world struct {
	xds.World
	mocks string
}

// look returns what routes need to know of the cluster. It asks for what the newest commit, the accepted one and the routes
// in force name; the mocks of this process stand in for their Services.
func (l *Loop) look(newest commit, was standing) world {
	routes := [][]desired.Route{newest.state.Routes, was.accepted.state.Routes}
	for _, live := range was.live {
		routes = append(routes, live)
	}
	services, secrets, mocks := reaches(routes, l.Mocks != nil)
	l.World.Want(services, secrets)
	w := world{World: l.World.World()}
	if l.Mocks != nil {
		local := l.mockEndpoints(mocks)
		w.World, w.mocks = w.With(local), fmt.Sprint(local)
	}
	return w
}

// reaches lists the Services, Secrets and mocks that routes name; with local mocks those Services are not asked for.
func reaches(routes [][]desired.Route, local bool) (services []xds.ServicePort, secrets []desired.Key, mocks []xds.ServicePort) {
	s, k, m := map[xds.ServicePort]bool{}, map[desired.Key]bool{}, map[xds.ServicePort]bool{}
	for _, list := range routes {
		for i := range list {
			r := &list[i]
			k[r.Listener.TLSSecret] = true
			for j := range r.Backends {
				u := &r.Backends[j].Upstream
				if u.TLS != nil {
					k[u.TLS.CASecret] = true
				}
				p := xds.ServicePort{Key: u.Service, Port: u.Port}
				switch {
				case u.Service == desired.Key{}:
				case local && u.Mock:
					m[p] = true
				default:
					s[p] = true
				}
			}
		}
	}
	delete(k, desired.Key{})
	byPort := func(a, b xds.ServicePort) int { return strings.Compare(a.String(), b.String()) }
	return slices.SortedFunc(maps.Keys(s), byPort), slices.SortedFunc(maps.Keys(k), desired.Key.Compare),
		slices.SortedFunc(maps.Keys(m), byPort)
}
