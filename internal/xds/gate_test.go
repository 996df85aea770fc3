package xds_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

func TestOnlyTheSwitchOfALiveRouteWaits(t *testing.T) {
	t.Parallel()
	blue := func(change ...func(*desired.Route)) []desired.Route {
		return []desired.Route{routeTo("a.test", "blue", change...)}
	}
	green := func(change ...func(*desired.Route)) []desired.Route {
		return []desired.Route{routeTo("a.test", "green", change...)}
	}
	toAddress := func(r *desired.Route) {
		r.Backends[0].Upstream = desired.Upstream{Address: "api.example.com", Port: 80}
	}
	idle := func(r *desired.Route) { r.Backends[0].Upstream.Idle = true }
	http2 := func(r *desired.Route) { r.Backends[0].Upstream.Protocol = desired.HTTP2 }
	const wait = "route a.test / waits for endpoints of shop/green/8080"

	for name, tc := range map[string]struct {
		reason     string
		live, want []desired.Route
		ready      []string // services that have an endpoint
		absent     bool     // green does not exist
		held       []string
	}{
		"a switch to a backend without an endpoint": {
			reason: "blue answers until green can",
			live:   blue(), want: green(), ready: []string{"blue"},
			held: []string{wait},
		},
		"a switch to a backend with an endpoint": {
			reason: "green can answer",
			live:   blue(), want: green(), ready: []string{"blue", "green"},
		},
		"a first publication": {
			reason: "nothing is lost that was not there",
			want:   green(),
		},
		"another match of the same host": {
			reason: "it is new, whatever else the host has",
			live:   blue(), want: green(prefix("/green")),
		},
		"a forced switch": {
			reason: "the annotation says that the user knows",
			live:   blue(), want: green(func(r *desired.Route) { r.Force = true }),
		},
		"a backend of 0 replicas by intent": {
			reason: "nothing will ever be ready, and the repository says so",
			live:   blue(), want: green(idle),
		},
		"a Service that is not declared and does not exist": {
			reason: "it is pending: the route says so to its clients",
			live:   blue(), want: green(pending), absent: true,
		},
		"a Service that is not declared and exists without an endpoint": {
			reason: "it is there, so it is like any other: its pods may just be starting",
			live:   blue(), want: green(pending),
			held: []string{wait},
		},
		"a declared Service that is not there yet": {
			reason: "it is applied in this very pass",
			live:   blue(), want: green(), absent: true,
			held: []string{wait},
		},
		"an address": {
			reason: "nobody can know whether it answers",
			live:   blue(), want: green(toAddress),
		},
		"a new target of weight 0": {
			reason: "it gets nothing",
			live:   blue(), want: blue(split(target("blue", 100), target("green", 0))),
		},
		"a target that comes up from weight 0": {
			reason: "its share would be lost",
			live:   blue(split(target("blue", 100), target("green", 0))),
			want:   blue(split(target("blue", 90), target("green", 10))),
			held:   []string{wait},
		},
		"other weights of the same targets": {
			reason: "no backend is new",
			live:   blue(split(target("blue", 90), target("green", 10))),
			want:   blue(split(target("blue", 10), target("green", 90))),
		},
		"a route whose endpoints vanish": {
			reason: "a route that has switched does not switch back",
			live:   green(), want: green(), ready: []string{"blue"},
		},
		"a change of the rule alone": {
			reason: "requests go where they went",
			live:   green(), want: green(func(r *desired.Route) { r.Rewrite.Host = "inner.test" }),
		},
		"another protocol of one Service": {
			reason: "the cluster is new, its endpoints are not",
			live:   green(), want: green(http2), ready: []string{"green"},
		},
		"from a redirect": {
			reason: "the redirect is live too",
			live: []desired.Route{routeTo("a.test", "", func(r *desired.Route) {
				r.Redirect = &desired.Redirect{Host: "b.test"}
			})},
			want: green(),
			held: []string{wait},
		},
		"to a direct response": {
			reason: "the proxy itself is always ready",
			live:   blue(),
			want: []desired.Route{routeTo("a.test", "", func(r *desired.Route) {
				r.Direct = &desired.DirectResponse{Status: 200}
			})},
		},
		"a route that is gone": {
			reason: "its host leaves at once",
			live:   append(blue(), routeTo("b.test", "blue")), want: blue(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services := map[string][]xds.Endpoint{"blue": nil}
			if !tc.absent {
				services["green"] = nil
			}
			for _, name := range tc.ready {
				services[name] = one("192.0.2.1")
			}
			snap := mustBuild(t, xds.Input{Live: tc.live, Desired: tc.want, World: worldOf(services)})
			var held []string
			for _, w := range snap.Held {
				held = append(held, w.String())
			}
			if diff := cmp.Diff(tc.held, held); diff != "" {
				t.Errorf("held (-want +got):\n%s\nbecause %s", diff, tc.reason)
			}
			inForce := tc.want
			if len(tc.held) > 0 {
				inForce = tc.live
			}
			if diff := cmp.Diff(inForce, snap.InForce); diff != "" {
				t.Errorf("in force (-want +got):\n%s\nbecause %s", diff, tc.reason)
			}
		})
	}
}

func TestHostsOfOneRouteSwitchOneByOne(t *testing.T) {
	t.Parallel()
	both := func(r *desired.Route) { r.Hosts = []string{"a.test", "b.test"} }
	world := worldOf(map[string][]xds.Endpoint{"blue": one("192.0.2.1"), "green": nil})
	first := mustBuild(t, xds.Input{Desired: []desired.Route{routeTo("a.test", "blue")}, World: world})
	second := mustBuild(t, xds.Input{
		Live: first.InForce, Desired: []desired.Route{routeTo("a.test", "green", both)}, World: world,
	})
	got := map[string]string{}
	for _, r := range second.InForce {
		for _, h := range r.Hosts {
			got[h] = r.Backends[0].Upstream.Service.Name
		}
	}
	if diff := cmp.Diff(map[string]string{"a.test": "blue", "b.test": "green"}, got); diff != "" {
		t.Errorf("in force (-want +got):\n%s", diff)
	}

	world = worldOf(map[string][]xds.Endpoint{"blue": one("192.0.2.1"), "green": one("192.0.2.2")})
	third := mustBuild(t, xds.Input{
		Live: second.InForce, Desired: []desired.Route{routeTo("a.test", "green", both)}, World: world,
	})
	if len(third.Held) > 0 || len(third.InForce) != 1 {
		t.Errorf("held %v with green ready, in force %d routes; want none and 1", third.Held, len(third.InForce))
	}
}

func TestAHeldRouteFollowsItsListener(t *testing.T) {
	t.Parallel()
	world := worldOf(map[string][]xds.Endpoint{"blue": one("192.0.2.1"), "green": nil})
	secure := func(r *desired.Route) { r.Listener.TLSSecret = shop("cert") }
	snap := mustBuild(t, xds.Input{
		Live:    []desired.Route{routeTo("a.test", "blue"), routeTo("b.test", "blue")},
		Desired: []desired.Route{routeTo("a.test", "green", secure), routeTo("b.test", "blue", secure)},
		World:   world,
	})
	if len(snap.Held) != 1 || len(snap.InForce) != 2 {
		t.Fatalf("held %v, in force %d routes; want 1 and 2", snap.Held, len(snap.InForce))
	}
	for _, r := range snap.InForce {
		if r.Listener.TLSSecret != shop("cert") {
			t.Errorf("%s is on a listener without TLS: two listeners of one name cannot both be", r.Hosts)
		}
	}
}
