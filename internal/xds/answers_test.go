package xds_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

func kind(typeURL string) string { return typeURL[strings.LastIndexByte(typeURL, '.')+1:] }

func describe(r *discoveryv3.DiscoveryResponse) string {
	return fmt.Sprintf("%s %v at %s", kind(r.TypeUrl), namesIn(r), r.VersionInfo)
}

// namesIn lists the names of an answer's resources.
func namesIn(r *discoveryv3.DiscoveryResponse) []string {
	names := []string{}
	for _, a := range r.Resources {
		m, err := a.UnmarshalNew()
		if err != nil {
			panic(err)
		}
		switch m := m.(type) {
		case interface{ GetClusterName() string }:
			names = append(names, m.GetClusterName())
		case interface{ GetName() string }:
			names = append(names, m.GetName())
		}
	}
	return names
}

// clustersIn lists the clusters that the routes of an answer name.
func clustersIn(r *discoveryv3.DiscoveryResponse) []string {
	var out []string
	for _, a := range r.Resources {
		var rc routev3.RouteConfiguration
		if err := a.UnmarshalTo(&rc); err != nil {
			panic(err)
		}
		for _, vh := range rc.VirtualHosts {
			for _, route := range vh.Routes {
				if name := route.GetRoute().GetCluster(); name != "" {
					out = append(out, name)
				}
				for _, w := range route.GetRoute().GetWeightedClusters().GetClusters() {
					out = append(out, w.Name)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func wantNames(t *testing.T, r *discoveryv3.DiscoveryResponse, want ...string) {
	t.Helper()
	if got := namesIn(r); !slices.Equal(got, want) {
		t.Fatalf("%s holds %v, want %v", kind(r.TypeUrl), got, want)
	}
}

// shopSplit is a snapshot of one host, a.example.test, that is split between services of the namespace shop; each has one
// endpoint of its own.
func shopSplit(t *testing.T, commit string, targets ...desired.Backend) xds.Snapshot {
	t.Helper()
	services := map[string][]xds.Endpoint{}
	for _, tg := range targets {
		services[tg.Name] = one("192.0.2.1")
	}
	return mustBuild(t, xds.Input{
		Group: "edge", Commit: commit, World: worldOf(services),
		Desired: []desired.Route{routeTo("a.example.test", "", split(targets...))},
	})
}

// withSecret adds Secrets of certificates to trust to a snapshot.
func withSecret(t *testing.T, snap xds.Snapshot, names ...string) xds.Snapshot {
	t.Helper()
	snap.Resources = maps.Clone(snap.Resources)
	snap.Resources[xds.TypeSecret] = nil
	for _, name := range names {
		snap.Resources[xds.TypeSecret] = append(snap.Resources[xds.TypeSecret], resource(t, name, &tlsv3.Secret{
			Name: name, Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{}},
		}))
	}
	return snap
}

// resource marshals m; its bytes serve as its hash.
func resource(t *testing.T, name string, m proto.Message) xds.Resource {
	t.Helper()
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return xds.Resource{Name: name, Value: value, Hash: string(value)}
}

const (
	stable = "shop/stable/8080"
	canary = "shop/canary/8080"
	blue   = "shop/blue/8080"
	green  = "shop/green/8080"
)
