package xds_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	secretservice "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

func TestARouteToAMissingServiceLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		a, b := routeTo("a.example.test", "stable", pending), routeTo("b.example.test", "ghost", pending)
		services := map[string][]xds.Endpoint{"stable": one("192.0.2.1")}
		snap := func(routes ...desired.Route) xds.Snapshot {
			return mustBuild(t, xds.Input{Desired: routes, World: worldOf(services)})
		}
		p.sync(snap(a))
		c := p.connect(t, testGroup, "edge-1")
		c.subscribe(xds.TypeCluster, "")
		wantNames(t, c.next(xds.TypeCluster), stable)
		c.subscribe(xds.TypeRoute, "", "http")
		c.next(xds.TypeRoute)

		bad := snap(a, b)
		p.sync(bad)
		if got := clustersIn(c.next(xds.TypeRoute)); !slices.Equal(got, []string{stable}) {
			t.Errorf("the routes name %v, want only %s", got, stable)
		}
		c.none()

		services["ghost"] = one("192.0.2.2")
		p.sync(snap(a, b))
		wantNames(t, c.next(xds.TypeCluster), "shop/ghost/8080", stable)
		c.next(xds.TypeRoute)
		routesNameOnlyWhatWasSent(t, c.log)
	})
}

// onPort serves a snapshot on a real port and returns a connection to it.
func onPort(t *testing.T, snap xds.Snapshot) *grpc.ClientConn {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := xds.NewServer(xds.Config{Listener: lis})
	s.Publish(snap)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		running.Wait()
	})
	return conn
}

func TestEachTypeHasAServiceOfItsOwn(t *testing.T) {
	t.Parallel()
	conn := onPort(t, shopSplit(t, "c1", target("stable", 1)))
	stream, err := clusterservice.NewClusterDiscoveryServiceClient(conn).StreamClusters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	node := &corev3.Node{Id: "edge-1", Cluster: "edge"}
	if err := stream.Send(&discoveryv3.DiscoveryRequest{Node: node}); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, resp, stable)
}

func TestReflectionListsTheServices(t *testing.T) {
	t.Parallel()
	stream, err := reflectionv1.NewServerReflectionClient(onPort(t, xds.Snapshot{Group: "edge"})).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	}); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range resp.GetListServicesResponse().GetService() {
		got = append(got, s.GetName())
	}
	for _, want := range []string{
		"envoy.service.discovery.v3.AggregatedDiscoveryService", "envoy.service.cluster.v3.ClusterDiscoveryService",
		"envoy.service.endpoint.v3.EndpointDiscoveryService", "envoy.service.secret.v3.SecretDiscoveryService",
		"envoy.service.listener.v3.ListenerDiscoveryService", "envoy.service.route.v3.RouteDiscoveryService",
		"envoy.service.runtime.v3.RuntimeDiscoveryService",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s among %v", want, got)
		}
	}
}

// withKey is a snapshot with a private key.
func withKey(t *testing.T) xds.Snapshot {
	t.Helper()
	snap := withSecret(t, shopSplit(t, "c1", target("stable", 1)), "shop/ca")
	snap.Resources[xds.TypeSecret] = append(snap.Resources[xds.TypeSecret], resource(t, "shop/tls", &tlsv3.Secret{
		Name: "shop/tls", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{}},
	}))
	return snap
}

func TestPrivateKeysGoOverLoopback(t *testing.T) {
	t.Parallel()
	stream, err := secretservice.NewSecretDiscoveryServiceClient(onPort(t, withKey(t))).StreamSecrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	node := &corev3.Node{Id: "edge-1", Cluster: "edge"}
	if err := stream.Send(&discoveryv3.DiscoveryRequest{Node: node, ResourceNames: []string{"shop/tls", "shop/ca"}}); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, resp, "shop/ca", "shop/tls")
}

func TestPrivateKeysGoOverNothingThatOthersMayRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t) // whose addresses are no loopback ones
		p.sync(withKey(t))
		c := p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeSecret, "", "shop/tls", "shop/ca")
		wantNames(t, c.next(xds.TypeSecret), "shop/ca")
		c.none()
		if s := statusOf(t, p, "edge-1"); s.State != xds.Updating || !strings.Contains(s.Message, "private keys") {
			t.Errorf("the proxy is shown as %+v", s)
		}
	})
}

func TestNamesThatAreTooLongAreRefused(t *testing.T) {
	t.Parallel()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(onPort(t, xds.Snapshot{Group: "edge"})).
		StreamAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	node := &corev3.Node{Id: string(make([]byte, 300)), Cluster: "edge"}
	if err := stream.Send(&discoveryv3.DiscoveryRequest{Node: node, TypeUrl: xds.TypeCluster}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("a node id of 300 bytes is taken")
	}
}

// many is a snapshot of n clusters.
func many(n int) xds.Snapshot {
	list := make([]xds.Resource, n)
	for i := range list {
		name := fmt.Sprintf("shop/s%06d/80", i)
		list[i] = xds.Resource{Name: name, Value: []byte(name), Hash: name}
	}
	return xds.Snapshot{Group: "edge", Resources: map[string][]xds.Resource{xds.TypeCluster: list}}
}

func TestAnEqualSnapshotCostsTheSameWhateverItsSize(t *testing.T) {
	for _, n := range []int{1_000, 10_000} {
		s := xds.NewServer(xds.Config{})
		s.Publish(many(n))
		equal := many(n)
		if got := testing.AllocsPerRun(10, func() { s.Publish(equal) }); got > 0 {
			t.Errorf("%d clusters: %v allocations, want none", n, got)
		}
	}
}
