package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// listPatience is how long a pass waits for the first list of a kind: one that may not be listed must not stop the rest.
const listPatience = 10 * time.Second

// look is what a pass saw of the cluster.
type look struct {
	// World is the view of endpoints, and mocks where the mocks of this process answer.
	xds.World
	mocks string
	asked asked
	// view is the view of objects; err is why there is none, unlisted why it lacks kinds of the newest commit.
	view     apply.View
	err      error
	unlisted error
}

// asked is what routes need to know of the cluster, and the lists of routes that it was read from.
type asked struct {
	routes [][]desired.Route
	mocks  []xds.ServicePort
}

// look returns what there is to know of the cluster. It asks for what the newest commit, the accepted one and the routes
// in force name; the mocks of this process stand in for their Services.
func (l *Loop) look(ctx context.Context, newest commit, was standing) look {
	defer l.watch.enter(stepLook)()
	s := look{asked: asked{routes: routesOf(newest, was)}}
	if sameRoutes(s.asked.routes, was.asked.routes) {
		s.asked = was.asked
	} else {
		services, secrets, mocks := reaches(s.asked.routes, l.Mocks != nil)
		s.asked.mocks = mocks
		l.World.Want(services, secrets)
	}
	s.World = l.World.World()
	if l.Mocks != nil {
		local := l.mockEndpoints(s.asked.mocks)
		s.World, s.mocks = s.With(local), fmt.Sprint(local)
	}
	if s.view, s.err = l.view(ctx, newest); s.err != nil && !newest.is(was.accepted) {
		s.unlisted = s.err
		s.view, s.err = l.view(ctx, was.accepted)
	}
	return s
}

// view returns what the cluster holds of a commit and of what is owned.
func (l *Loop) view(ctx context.Context, c commit) (apply.View, error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	view, err := l.Cluster.View(ctx, c.declared, l.Cluster.Inventory())
	if err != nil {
		return view, fmt.Errorf("look at the cluster: %w", err)
	}
	return view, nil
}

// routesOf are the lists of routes that a pass has to do with, in an order that does not change.
func routesOf(newest commit, was standing) [][]desired.Route {
	lists := [][]desired.Route{newest.state.Routes, was.accepted.state.Routes}
	for _, group := range slices.Sorted(maps.Keys(was.live)) {
		if live := was.live[group]; !slices.ContainsFunc(lists, func(l []desired.Route) bool { return isSame(l, live) }) {
			lists = append(lists, live)
		}
	}
	return lists
}

// sameRoutes reports whether both are the very same lists: routes are shared and never changed.
func sameRoutes(a, b [][]desired.Route) bool { return slices.EqualFunc(a, b, isSame[desired.Route]) }

func isSame[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// reaches lists the Services, Secrets and mocks that routes name; with local mocks those Services are not asked for.
func reaches(routes [][]desired.Route, local bool) (services []xds.ServicePort, secrets []desired.Key, mocks []xds.ServicePort) {
	s, k, m := map[xds.ServicePort]bool{}, map[desired.Key]bool{}, map[xds.ServicePort]bool{}
	for _, list := range routes {
		for i := range list {
			r := &list[i]
			k[r.Listener.TLSSecret] = true
			for u := range r.Upstreams() {
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
