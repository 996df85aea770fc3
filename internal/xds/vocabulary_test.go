package xds_test

import (
	"testing"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// The few words in which tests say routes.

func defaultListener() desired.Listener {
	return desired.Listener{Name: desired.DefaultListener, Address: desired.DefaultAddress, Port: desired.DefaultPort}
}

// routeTo returns a route of host and the prefix "/" to a service of the namespace shop, changed by change.
func routeTo(host, service string, change ...func(*desired.Route)) desired.Route {
	r := desired.Route{
		Source:   desired.Source{Kind: "ProxyRoute", Key: desired.Key{Namespace: "shop", Name: host}},
		Origin:   desired.Origin{Path: "apps/" + host + ".yaml", Line: 1},
		Listener: defaultListener(),
		Hosts:    []string{host},
		Match:    desired.Match{PathType: desired.PathPrefix, Path: "/"},
	}
	if service != "" {
		r.Backends = []desired.Backend{target(service, 1)}
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func target(service string, weight uint32) desired.Backend {
	return desired.Backend{Name: service, Weight: weight, Upstream: serviceOf(service)}
}

func serviceOf(name string) desired.Upstream {
	return desired.Upstream{Service: desired.Key{Namespace: "shop", Name: name}, Port: 8080, Protocol: desired.HTTP1}
}

func split(targets ...desired.Backend) func(*desired.Route) {
	return func(r *desired.Route) { r.Backends = targets }
}

func at(pathType desired.PathType, path string) func(*desired.Route) {
	return func(r *desired.Route) { r.Match.PathType, r.Match.Path = pathType, path }
}

func prefix(path string) func(*desired.Route) { return at(desired.PathPrefix, path) }

// onListener moves a route to a listener of its own.
func onListener(name string, port uint32) func(*desired.Route) {
	return func(r *desired.Route) { r.Listener = desired.Listener{Name: name, Address: "127.0.0.1", Port: port} }
}

func exact(path string) func(*desired.Route) { return at(desired.PathExact, path) }

func pending(r *desired.Route) {
	for i := range r.Backends {
		r.Backends[i].Upstream.Pending = true
	}
}

// worldOf returns a world in which the named services of the namespace shop have the endpoints.
func worldOf(services map[string][]xds.Endpoint) xds.World {
	w := xds.World{Services: map[xds.ServicePort]xds.EndpointSet{}, Secrets: map[desired.Key]xds.Secret{}}
	for name, ready := range services {
		w.Services[xds.ServicePort{Key: desired.Key{Namespace: "shop", Name: name}, Port: 8080}] = xds.EndpointSet{Ready: ready}
	}
	return w
}

// one is a ready endpoint.
func one(address string) []xds.Endpoint { return []xds.Endpoint{{Address: address, Port: 8080}} }

func mustBuild(t *testing.T, in xds.Input) xds.Snapshot {
	t.Helper()
	if in.Group == "" {
		in.Group = testGroup
	}
	snap, err := xds.Build(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}
