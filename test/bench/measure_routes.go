package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

// routes measures what one changed route of many costs on the way to a proxy.
func (b *bench) routes(ctx context.Context) error {
	r, err := newRepo(ctx, b.dir+"/routes")
	if err != nil {
		return err
	}
	commit, begin, err := r.push(ctx, routes(b.many, "192.0.2.1"))
	if err != nil {
		return err
	}
	d, err := b.daemon(ctx, "routes", r)
	if err != nil {
		return err
	}
	end, err := d.live(ctx, commit)
	if err != nil {
		return err
	}
	b.add(row{fmt.Sprintf("%d ProxyRoutes, start to Ready", b.many), round(end.Sub(begin)), b.gate.take().String(), ""})
	p, err := connect(ctx, d.xds)
	if err != nil {
		return err
	}
	defer p.close()
	all, err := p.until(ctx, "192.0.2.1")
	if err != nil {
		return err
	}
	if err := b.gate.calm(ctx); err != nil {
		return err
	}
	b.add(row{fmt.Sprintf("%d ProxyRoutes, statuses after that", b.many), "", b.gate.take().String(), ""})
	if _, begin, err = r.push(ctx, routes(perFile, "192.0.2.2")); err != nil {
		return err
	}
	changed, err := p.until(ctx, "192.0.2.2")
	if err != nil {
		return err
	}
	const kib = 1 << 10
	b.add(row{
		fmt.Sprintf("1 of %d routes changed, push to proxy", b.many), round(changed.at.Sub(begin)), b.gate.take().String(),
		fmt.Sprintf("%d KiB sent; all of it is %d KiB", changed.bytes/kib, all.bytes/kib),
	})
	p.close()
	if err := d.stop(); err != nil {
		return err
	}
	return b.destroy(ctx, "routes")
}

// proxy is a client of the xDS server that subscribes to what an Envoy subscribes to, and acknowledges all.
type proxy struct {
	conn   *grpc.ClientConn
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	routes []string
}

// arrival is what came until something was there.
type arrival struct {
	at    time.Time
	bytes int
}

func connect(ctx context.Context, address string) (*proxy, error) {
	const most = 1 << 30
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(most)))
	if err != nil {
		return nil, fmt.Errorf("connect to the xDS server: %w", err)
	}
	p := &proxy{conn: conn}
	if p.stream, err = discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx); err != nil {
		return nil, fmt.Errorf("connect to the xDS server: %w", err)
	}
	for _, kind := range []string{resource.ClusterType, resource.ListenerType} {
		if err := p.ask(kind, nil, nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *proxy) close() { _ = p.conn.Close() }

// ask subscribes; with a response it acknowledges that.
func (p *proxy) ask(kind string, names []string, res *discoveryv3.DiscoveryResponse) error {
	req := &discoveryv3.DiscoveryRequest{
		Node: &corev3.Node{Id: "bench-1", Cluster: "bench"}, TypeUrl: kind, ResourceNames: names,
		VersionInfo: res.GetVersionInfo(), ResponseNonce: res.GetNonce(),
	}
	if err := p.stream.Send(req); err != nil {
		return fmt.Errorf("ask the xDS server: %w", err)
	}
	return nil
}

// until receives until all types are in and a cluster of that address is among them.
func (p *proxy) until(ctx context.Context, address string) (arrival, error) {
	var a arrival
	found, routed := false, false
	for ctx.Err() == nil {
		res, err := p.stream.Recv()
		if err != nil {
			return a, fmt.Errorf("receive from the xDS server: %w", err)
		}
		a.bytes += proto.Size(res)
		names := []string(nil)
		switch res.GetTypeUrl() {
		case resource.ClusterType:
			for _, c := range res.GetResources() {
				found = found || bytes.Contains(c.GetValue(), []byte(address))
			}
		case resource.ListenerType:
			if p.routes, err = routesOf(res); err != nil {
				return a, err
			}
			if err := p.ask(resource.RouteType, p.routes, nil); err != nil {
				return a, err
			}
		case resource.RouteType:
			names, routed = p.routes, true
		}
		if err := p.ask(res.GetTypeUrl(), names, res); err != nil {
			return a, err
		}
		if found && routed {
			a.at = time.Now()
			return a, nil
		}
	}
	return a, ctx.Err()
}

// routesOf are the names of the route configurations that listeners ask for.
func routesOf(res *discoveryv3.DiscoveryResponse) ([]string, error) {
	var names []string
	for _, a := range res.GetResources() {
		var l listenerv3.Listener
		if err := a.UnmarshalTo(&l); err != nil {
			return nil, fmt.Errorf("read a listener: %w", err)
		}
		for _, chain := range l.GetFilterChains() {
			for _, f := range chain.GetFilters() {
				var hcm hcmv3.HttpConnectionManager
				if c := f.GetTypedConfig(); c.MessageIs(&hcm) && c.UnmarshalTo(&hcm) == nil && hcm.GetRds() != nil {
					names = append(names, hcm.GetRds().GetRouteConfigName())
				}
			}
		}
	}
	return names, nil
}
