package xds

import (
	"context"

	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	listenerservice "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	routeservice "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	runtimeservice "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	secretservice "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	sotwv3 "github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
)

// services are the discovery services. Each answers its state-of-the-world stream; delta streams and unary fetches are
// refused as unimplemented.
type services struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	clusterservice.UnimplementedClusterDiscoveryServiceServer
	endpointservice.UnimplementedEndpointDiscoveryServiceServer
	secretservice.UnimplementedSecretDiscoveryServiceServer
	listenerservice.UnimplementedListenerDiscoveryServiceServer
	routeservice.UnimplementedRouteDiscoveryServiceServer
	runtimeservice.UnimplementedRuntimeDiscoveryServiceServer

	sotw sotwv3.Server
}

// register adds the services of s to srv; their streams end with ctx.
func register(ctx context.Context, srv *grpc.Server, s *Server) {
	lib := library{s}
	sv := services{sotw: sotwv3.NewServer(ctx, lib, lib,
		// One queue a stream: answers leave in the order in which they were given.
		sotwv3.WithOrderedADS(),
		// Naming nothing means everything for clusters and listeners only.
		sotwv3.DeactivateLegacyWildcardForTypes([]string{TypeEndpoint, TypeSecret, TypeRoute, TypeRuntime}),
	)}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(srv, sv)
	clusterservice.RegisterClusterDiscoveryServiceServer(srv, sv)
	endpointservice.RegisterEndpointDiscoveryServiceServer(srv, sv)
	secretservice.RegisterSecretDiscoveryServiceServer(srv, sv)
	listenerservice.RegisterListenerDiscoveryServiceServer(srv, sv)
	routeservice.RegisterRouteDiscoveryServiceServer(srv, sv)
	runtimeservice.RegisterRuntimeDiscoveryServiceServer(srv, sv)
	reflection.Register(srv)
}

// StreamAggregatedResources serves all types on one stream.
func (s services) StreamAggregatedResources(st discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return s.sotw.StreamHandler(st, "")
}

// StreamClusters serves clusters.
func (s services) StreamClusters(st clusterservice.ClusterDiscoveryService_StreamClustersServer) error {
	return s.sotw.StreamHandler(st, TypeCluster)
}

// StreamEndpoints serves endpoints.
func (s services) StreamEndpoints(st endpointservice.EndpointDiscoveryService_StreamEndpointsServer) error {
	return s.sotw.StreamHandler(st, TypeEndpoint)
}

// StreamSecrets serves secrets.
func (s services) StreamSecrets(st secretservice.SecretDiscoveryService_StreamSecretsServer) error {
	return s.sotw.StreamHandler(st, TypeSecret)
}

// StreamListeners serves listeners.
func (s services) StreamListeners(st listenerservice.ListenerDiscoveryService_StreamListenersServer) error {
	return s.sotw.StreamHandler(st, TypeListener)
}

// StreamRoutes serves routes.
func (s services) StreamRoutes(st routeservice.RouteDiscoveryService_StreamRoutesServer) error {
	return s.sotw.StreamHandler(st, TypeRoute)
}

// StreamRuntime serves runtime layers.
func (s services) StreamRuntime(st runtimeservice.RuntimeDiscoveryService_StreamRuntimeServer) error {
	return s.sotw.StreamHandler(st, TypeRuntime)
}
