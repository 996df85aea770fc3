package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

func TestNothingIsDeletedWhileSomethingMayNeedIt(t *testing.T) {
	t.Parallel()
	at := noon()
	held := desired.Wait{For: "route shop.example.com /", Until: "endpoints of shop/green/80"}
	settled := map[string]xds.Progress{"": {Settled: true}, "edge": {Settled: true}}
	for name, tc := range map[string]struct {
		reason string
		out    outcome
		since  map[desired.Wait]time.Time
		want   []string
	}{
		"all is in": {reason: "nothing needs what left", out: outcome{published: settled}},
		"a write failed": {
			reason: "the replacement may be what failed",
			out:    outcome{published: settled, result: apply.Result{Failed: []apply.Failure{failure("a"), failure("b")}}},
			want:   []string{"prune waits for 2 failed writes to succeed"},
		},
		"a step ended in an error": {
			reason: "an inventory that could not be written says nothing of what is in",
			out:    outcome{published: settled, err: errors.New("write the inventory: no")},
			want:   []string{"prune waits for a pass without an error"},
		},
		"a write waits": {
			reason: "it is not in",
			out: outcome{published: settled, result: apply.Result{Waits: []desired.Wait{
				{For: "Gizmo shop/g", Until: "CustomResourceDefinition gizmos.example.dev Established"},
			}}},
			want: []string{"prune waits for Gizmo shop/g to be in"},
		},
		"somebody fights for an object": {
			reason: "it is in, and may be fought for for ever: that must not stop all others",
			out: outcome{published: settled, result: apply.Result{
				Contested: []desired.ID{id("fought")}, Waits: []desired.Wait{{For: "ConfigMap shop/fought", Until: "the end of a fight"}},
			}},
		},
		"a switch is held back": {
			reason: "the live route still reaches the old backend",
			out:    outcome{published: settled, want: thought{snapshots: []xds.Snapshot{{Group: "edge", Held: []desired.Wait{held}}}}},
			since:  map[desired.Wait]time.Time{held: at.Add(-switchDeadline + time.Second)},
			want:   []string{"prune waits for the switch of route shop.example.com /"},
		},
		"a switch is held back for too long": {
			reason: "only what the route reaches is spared then",
			out:    outcome{published: settled, want: thought{snapshots: []xds.Snapshot{{Group: "edge", Held: []desired.Wait{held}}}}},
			since:  map[desired.Wait]time.Time{held: at.Add(-switchDeadline)},
		},
		"a switch that begins to be held back": {
			reason: "its clock starts with this pass",
			out:    outcome{published: settled, want: thought{snapshots: []xds.Snapshot{{Held: []desired.Wait{held}}, {Held: []desired.Wait{held}}}}},
			want:   []string{"prune waits for the switch of route shop.example.com /"},
		},
		"a proxy has not acknowledged": {
			reason: "it may still route to what would go; so may one that is expected back after a restart",
			out:    outcome{published: map[string]xds.Progress{"": {Settled: true}, "edge": {Waits: []desired.Wait{{For: "x"}}}}},
			want:   []string{"prune waits for proxies edge to take the configuration"},
		},
		"a group went back": {
			reason: "its proxies route by the commit before",
			out:    outcome{published: map[string]xds.Progress{"": {Reverted: true}}},
			want:   []string{"prune waits for proxies (unnamed) to take the configuration"},
		},
		"endpoints are not listed yet": {
			reason: "after a restart nothing has been published: nobody was asked",
			out:    outcome{want: thought{waits: []desired.Wait{{For: "main@a", Until: "the API server to list endpoints"}}}},
			want:   []string{"prune waits for the API server to list endpoints"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, w := range tc.out.holdsPrune(tc.since, at) {
				got = append(got, w.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func to(host, namespace, service string) desired.Route {
	return desired.Route{
		Source: desired.Source{Kind: "ProxyRoute", Key: desired.Key{Namespace: "shop", Name: host}}, Hosts: []string{host},
		Match:    desired.Match{PathType: desired.PathPrefix, Path: "/"},
		Backends: []desired.Backend{{Weight: 1, Upstream: desired.Upstream{Service: desired.Key{Namespace: namespace, Name: service}, Port: 80}}},
	}
}

func TestWhatARouteReachesThatIsHeldBackIsSpared(t *testing.T) {
	t.Parallel()
	stays, held := to("a.example.test", "web", "cart"), to("b.example.test", "old", "blue")
	held.Backends[0].Upstream.TLS = &desired.TLS{CASecret: desired.Key{Namespace: "trust", Name: "ca"}}
	held.Backends[0].Upstream.Mock = true
	wanted := to("b.example.test", "new", "green")
	moved := stays
	moved.Origin, moved.Rule = desired.Origin{Path: "elsewhere.yaml", Line: 9}, 3
	s := spare(thought{
		commit: commitOf("b", moved, wanted),
		snapshots: []xds.Snapshot{
			{Group: "", InForce: []desired.Route{stays, wanted}},
			{Group: "edge", InForce: []desired.Route{stays, held}, Held: []desired.Wait{{For: "route b.example.test /"}}},
		},
	})
	for name, tc := range map[string]struct {
		id   desired.ID
		want string
	}{
		"the backend":              {desired.ID{Kind: "Service", Namespace: "old", Name: "blue"}, "the switch of route b.example.test /"},
		"its pods":                 {desired.ID{Group: "apps", Kind: "Deployment", Namespace: "old", Name: "any"}, "the switch of route b.example.test /"},
		"its namespace":            {desired.ID{Kind: "Namespace", Name: "old"}, "the switch of route b.example.test /"},
		"the authority it trusts":  {desired.ID{Kind: "Secret", Namespace: "trust", Name: "ca"}, "the switch of route b.example.test /"},
		"what another route uses":  {desired.ID{Kind: "Service", Namespace: "web", Name: "old-cart"}, ""},
		"where it is to switch to": {desired.ID{Kind: "Service", Namespace: "new", Name: "old-green"}, ""},
		"what belongs to none":     {desired.ID{Kind: "ClusterRole", Name: "old"}, ""},
	} {
		if got := s.keeps(tc.id); got != tc.want {
			t.Errorf("%s: kept for %q, want %q", name, got, tc.want)
		}
	}
	if !s.mocks[desired.Key{Namespace: "old", Name: "blue"}] || s.mocks[desired.Key{Namespace: "web", Name: "cart"}] {
		t.Errorf("mocks that are reached: %v", s.mocks)
	}
	if none := spare(thought{commit: commitOf("b", wanted), snapshots: []xds.Snapshot{{InForce: []desired.Route{stays}}}}); len(none.namespaces) > 0 {
		t.Errorf("with no switch held back something is spared: %v", none.namespaces)
	}
}

func TestMissingRoutesAreThoseThatDifferInWhatTheyDo(t *testing.T) {
	t.Parallel()
	a, b := to("a", "shop", "x"), to("b", "shop", "y")
	elsewhere := a
	elsewhere.Origin, elsewhere.Rule = desired.Origin{Path: "other.yaml", Line: 7}, 4
	half := a
	half.Hosts = []string{"a", "c"}
	other := a
	other.Backends = b.Backends
	for name, tc := range map[string]struct {
		reason       string
		routes, from []desired.Route
		want         int
	}{
		"the same list":        {"it has itself", []desired.Route{a, b}, []desired.Route{a, b}, 0},
		"moved in the file":    {"a line is no content", []desired.Route{elsewhere}, []desired.Route{b, a}, 0},
		"another backend":      {"requests go elsewhere", []desired.Route{other}, []desired.Route{a}, 1},
		"one host more":        {"one of its hosts is held back", []desired.Route{half}, []desired.Route{a}, 1},
		"nothing to look into": {"all are missing", []desired.Route{a, b}, nil, 2},
	} {
		if got := missing(tc.routes, tc.from); len(got) != tc.want {
			t.Errorf("%s: %d are missing, want %d: %s", name, len(got), tc.want, tc.reason)
		}
	}
}

func TestAGroupReceivesTheRoutesThatNameItOrNone(t *testing.T) {
	t.Parallel()
	all, edge := to("a", "shop", "x"), to("b", "shop", "y")
	edge.Proxies = []string{"edge", "other"}
	routes := []desired.Route{all, edge}
	if got := inGroup(routes, "edge"); !isSame(got, routes) {
		t.Errorf("edge receives %d", len(got))
	}
	if got := inGroup(routes, "inner"); len(got) != 1 || got[0].Hosts[0] != "a" {
		t.Errorf("inner receives %v", got)
	}
	if diff := cmp.Diff([]string{"edge", "other"}, named(routes)); diff != "" {
		t.Errorf("named groups (-want +got):\n%s", diff)
	}
}
