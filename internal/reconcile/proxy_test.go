package reconcile

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tidelock/tidelock/internal/xds"
)

// proxy is a bare ADS client: it asks for what it is told to, and acknowledges every answer unless it holds its tongue.
type proxy struct {
	t      testing.TB
	node   *corev3.Node
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	in     chan *discoveryv3.DiscoveryResponse
	close  func()

	asked map[string][]string
	acked map[string]string
	last  map[string]*discoveryv3.DiscoveryResponse
	log   []*discoveryv3.DiscoveryResponse
}

func (p *product) connect(group, node string) *proxy {
	p.t.Helper()
	lis := p.lis
	conn, err := grpc.NewClient("passthrough:///tidelock", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	x := &proxy{
		t: p.t, node: &corev3.Node{Id: node, Cluster: group}, stream: stream, in: make(chan *discoveryv3.DiscoveryResponse, 100),
		asked: map[string][]string{}, acked: map[string]string{}, last: map[string]*discoveryv3.DiscoveryResponse{},
	}
	var reading sync.WaitGroup
	reading.Go(x.read)
	x.close = sync.OnceFunc(func() {
		cancel()
		reading.Wait()
		_ = conn.Close()
	})
	p.t.Cleanup(x.close)
	return x
}

func (x *proxy) read() {
	defer close(x.in)
	for {
		resp, err := x.stream.Recv()
		if err != nil {
			if code := status.Code(err); !errors.Is(err, io.EOF) && code != codes.Canceled && code != codes.Unavailable {
				x.t.Errorf("receive: %v", err)
			}
			return
		}
		x.in <- resp
	}
}

func (x *proxy) send(req *discoveryv3.DiscoveryRequest) {
	x.t.Helper()
	req.Node = x.node
	x.asked[req.TypeUrl] = req.ResourceNames
	if err := x.stream.Send(req); err != nil {
		x.t.Fatalf("send: %v", err)
	}
}

// subscribe asks for a type for the first time.
func (x *proxy) subscribe(typeURL string, names ...string) {
	x.t.Helper()
	x.send(&discoveryv3.DiscoveryRequest{TypeUrl: typeURL, ResourceNames: names})
}

// resume asks on a new stream for what the proxy of before held, and says which version of it.
func (x *proxy) resume(before *proxy, typeURL string) {
	x.t.Helper()
	x.acked[typeURL] = before.acked[typeURL]
	x.send(&discoveryv3.DiscoveryRequest{
		TypeUrl: typeURL, ResourceNames: before.asked[typeURL], VersionInfo: before.acked[typeURL],
	})
}

// subscribeAll asks for what Envoy asks for, the endpoints of clusters and the routes of listeners included.
func (x *proxy) subscribeAll() {
	x.t.Helper()
	x.subscribe(xds.TypeCluster)
	x.subscribe(xds.TypeEndpoint, names(x.t, x.next(xds.TypeCluster))...)
	x.next(xds.TypeEndpoint)
	x.subscribe(xds.TypeListener)
	x.subscribe(xds.TypeRoute, names(x.t, x.next(xds.TypeListener))...)
	x.next(xds.TypeRoute)
}

func (x *proxy) ack(resp *discoveryv3.DiscoveryResponse) {
	x.t.Helper()
	x.acked[resp.TypeUrl] = resp.VersionInfo
	asked := x.asked[resp.TypeUrl]
	if resp.TypeUrl == xds.TypeCluster && x.asked[xds.TypeEndpoint] != nil {
		// As Envoy does: endpoints are asked for by the clusters that there are.
		if clusters := names(x.t, resp); !slices.Equal(clusters, x.asked[xds.TypeEndpoint]) {
			defer x.askEndpoints(clusters)
		}
	}
	x.send(&discoveryv3.DiscoveryRequest{
		TypeUrl: resp.TypeUrl, VersionInfo: resp.VersionInfo, ResponseNonce: resp.Nonce, ResourceNames: asked,
	})
}

func (x *proxy) askEndpoints(clusters []string) {
	last := x.last[xds.TypeEndpoint]
	x.send(&discoveryv3.DiscoveryRequest{
		TypeUrl: xds.TypeEndpoint, VersionInfo: last.GetVersionInfo(), ResponseNonce: last.GetNonce(), ResourceNames: clusters,
	})
}

func (x *proxy) nack(resp *discoveryv3.DiscoveryResponse, reason string) {
	x.t.Helper()
	x.send(&discoveryv3.DiscoveryRequest{
		TypeUrl: resp.TypeUrl, VersionInfo: x.acked[resp.TypeUrl], ResponseNonce: resp.Nonce, ResourceNames: x.asked[resp.TypeUrl],
		ErrorDetail: &rpcstatus.Status{Code: int32(codes.InvalidArgument), Message: reason},
	})
}

// await returns the next answer, whatever it is, unacknowledged; nil if none comes in time.
func (x *proxy) await(d time.Duration) *discoveryv3.DiscoveryResponse {
	x.t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case resp, ok := <-x.in:
		if !ok {
			x.t.Fatal("the stream ended")
		}
		x.log, x.last[resp.TypeUrl] = append(x.log, resp), resp
		x.check(resp)
		return resp
	case <-timer.C:
		return nil
	}
}

// next waits for the next answer, which must be of the type, and acknowledges it.
func (x *proxy) next(typeURL string) *discoveryv3.DiscoveryResponse {
	x.t.Helper()
	resp := x.await(soon)
	if resp == nil || resp.TypeUrl != typeURL {
		x.t.Fatalf("got %s, want %s", describe(x.t, resp), kind(typeURL))
	}
	x.ack(resp)
	return resp
}

// none makes sure that nothing comes for a while.
func (x *proxy) none(d time.Duration) {
	x.t.Helper()
	if resp := x.await(d); resp != nil {
		x.t.Fatalf("got %s, want nothing", describe(x.t, resp))
	}
}

// check makes sure of what must hold at every moment: routes name clusters that the proxy was told of before.
func (x *proxy) check(resp *discoveryv3.DiscoveryResponse) {
	x.t.Helper()
	clusters := x.last[xds.TypeCluster]
	if resp.TypeUrl != xds.TypeRoute || clusters == nil {
		return
	}
	known := names(x.t, clusters)
	for _, c := range clustersOf(x.t, resp) {
		if !slices.Contains(known, c) {
			x.t.Errorf("a route names cluster %s, and the proxy was told of %v", c, known)
		}
	}
}

func kind(typeURL string) string { return typeURL[strings.LastIndexByte(typeURL, '.')+1:] }

func describe(tb testing.TB, resp *discoveryv3.DiscoveryResponse) string {
	tb.Helper()
	if resp == nil {
		return "nothing"
	}
	return kind(resp.TypeUrl) + " " + strings.Join(names(tb, resp), ", ")
}

// names are those of the resources in an answer, sorted.
func names(tb testing.TB, resp *discoveryv3.DiscoveryResponse) []string {
	tb.Helper()
	out := []string{}
	for _, r := range resp.GetResources() {
		m, err := r.UnmarshalNew()
		if err != nil {
			tb.Fatal(err)
		}
		switch m := m.(type) {
		case *clusterv3.Cluster:
			out = append(out, m.Name)
		case *endpointv3.ClusterLoadAssignment:
			out = append(out, m.ClusterName)
		case *listenerv3.Listener:
			out = append(out, m.Name)
		case *routev3.RouteConfiguration:
			out = append(out, m.Name)
		default:
			tb.Fatalf("what is %T?", m)
		}
	}
	slices.Sort(out)
	return out
}

func tables(tb testing.TB, resp *discoveryv3.DiscoveryResponse) []*routev3.RouteConfiguration {
	tb.Helper()
	var out []*routev3.RouteConfiguration
	for _, r := range resp.GetResources() {
		m := &routev3.RouteConfiguration{}
		if err := proto.Unmarshal(r.GetValue(), m); err != nil {
			tb.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// hostsOf are the hosts in an answer of routes, sorted.
func hostsOf(tb testing.TB, resp *discoveryv3.DiscoveryResponse) []string {
	tb.Helper()
	set := map[string]bool{}
	for _, table := range tables(tb, resp) {
		for _, h := range table.VirtualHosts {
			for _, d := range h.Domains {
				host, _, _ := strings.Cut(d, ":")
				set[host] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// clustersOf are the clusters that an answer of routes names, sorted.
func clustersOf(tb testing.TB, resp *discoveryv3.DiscoveryResponse) []string {
	tb.Helper()
	set := map[string]bool{}
	for _, table := range tables(tb, resp) {
		for _, h := range table.VirtualHosts {
			for _, r := range h.Routes {
				if c := r.GetRoute().GetCluster(); c != "" {
					set[c] = true
				}
				for _, w := range r.GetRoute().GetWeightedClusters().GetClusters() {
					set[w.Name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}
