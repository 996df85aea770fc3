package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	dnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/common/dns/v3"
	dnsclusterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tidelock/tidelock/internal/desired"
)

const (
	defaultConnectTimeout = 5 * time.Second
	// settingsHash is how many bytes of a hash tell apart the settings of one Service or address.
	settingsHash = 5
	// httpOptions is the key under which Envoy looks for the protocol of an upstream.
	httpOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
)

// namedUpstream is an upstream and the name of its cluster.
type namedUpstream struct {
	desired.Upstream
	name string
}

// isService reports whether u is a Service, else it is an address.
func isService(u desired.Upstream) bool { return u.Service.Name != "" }

func servicePort(u desired.Upstream) ServicePort { return ServicePort{Key: u.Service, Port: u.Port} }

// clusterName returns "namespace/name/port" of a Service or "host:port", with a hash of the settings where they are not the
// defaults: another protocol is another cluster, so that a switch between the two drops nothing.
func clusterName(u desired.Upstream) string {
	name := servicePort(u).String()
	if !isService(u) {
		name = net.JoinHostPort(u.Address, strconv.FormatUint(uint64(u.Port), 10))
	}
	settings := clusterSettings(u)
	if settings == "" {
		return name
	}
	sum := sha256.Sum256([]byte(settings))
	return name + "-" + hex.EncodeToString(sum[:settingsHash])
}

// clusterSettings spells what is not a default; only what makes a difference to the cluster counts.
func clusterSettings(u desired.Upstream) string {
	var parts []string
	if u.Balancer != desired.RoundRobin {
		parts = append(parts, string(u.Balancer))
	}
	if speaksHTTP2(u) {
		parts = append(parts, "http2")
	}
	if u.TLS != nil {
		parts = append(parts, "tls", serverName(u), u.TLS.CASecret.String())
	}
	if t := connectTimeout(u); t != defaultConnectTimeout {
		parts = append(parts, "connect", t.String())
	}
	if needsDNS(u) && u.DNS.Logical {
		parts = append(parts, "logical")
	}
	if needsDNS(u) && u.DNS.Family != "" {
		parts = append(parts, "family", u.DNS.Family)
	}
	return strings.Join(parts, " ")
}

func speaksHTTP2(u desired.Upstream) bool {
	return u.Protocol == desired.HTTP2 || u.Protocol == desired.GRPC
}

func connectTimeout(u desired.Upstream) time.Duration {
	if u.ConnectTimeout == 0 {
		return defaultConnectTimeout
	}
	return u.ConnectTimeout
}

// needsDNS reports whether u is a host name.
func needsDNS(u desired.Upstream) bool { return !isService(u) && !isIP(u.Address) }

func isIP(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// buildCluster returns the cluster of u. Endpoints of a Service come by EDS, over the same stream.
func buildCluster(u namedUpstream) (*clusterv3.Cluster, error) {
	out := &clusterv3.Cluster{
		Name:           u.name,
		ConnectTimeout: durationpb.New(connectTimeout(u.Upstream)),
		LbPolicy:       balancerOf(u.Upstream),
	}
	if isService(u.Upstream) {
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
		out.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: adsSource()}
	} else {
		out.LoadAssignment = loadAssignment(u.name, []Endpoint{{Address: u.Address, Port: u.Port}})
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	}
	if needsDNS(u.Upstream) {
		config, err := pack(dnsCluster(u.DNS))
		if err != nil {
			return nil, err
		}
		out.ClusterDiscoveryType = &clusterv3.Cluster_ClusterType{
			ClusterType: &clusterv3.Cluster_CustomClusterType{Name: "envoy.clusters.dns", TypedConfig: config},
		}
	}
	if speaksHTTP2(u.Upstream) {
		config, err := pack(http2Upstream())
		if err != nil {
			return nil, err
		}
		out.TypedExtensionProtocolOptions = map[string]*anypb.Any{httpOptions: config}
	}
	if u.TLS != nil {
		socket, err := upstreamTLS(u.Upstream)
		if err != nil {
			return nil, err
		}
		out.TransportSocket = socket
	}
	return out, nil
}

func balancerOf(u desired.Upstream) clusterv3.Cluster_LbPolicy {
	switch u.Balancer {
	case desired.RingHash:
		return clusterv3.Cluster_RING_HASH
	case desired.Maglev:
		return clusterv3.Cluster_MAGLEV
	case desired.RoundRobin:
	}
	return clusterv3.Cluster_ROUND_ROBIN
}

// dnsCluster resolves a host name. With no family set IPv4 is preferred: a proxy without an IPv6 route cannot use the other.
func dnsCluster(d desired.DNS) *dnsclusterv3.DnsCluster {
	family := dnsv3.DnsLookupFamily_V4_PREFERRED
	switch d.Family {
	case "V4":
		family = dnsv3.DnsLookupFamily_V4_ONLY
	case "V6":
		family = dnsv3.DnsLookupFamily_V6_ONLY
	}
	return &dnsclusterv3.DnsCluster{
		DnsLookupFamily:              family,
		RespectDnsTtl:                true,
		AllAddressesInSingleEndpoint: d.Logical,
	}
}

func http2Upstream() *httpv3.HttpProtocolOptions {
	return &httpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
				},
			},
		},
	}
}

// adsSource is the stream that everything comes over, so that types are ordered.
func adsSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

// loadAssignment lists endpoints in the order given.
func loadAssignment(cluster string, endpoints []Endpoint) *endpointv3.ClusterLoadAssignment {
	out := &endpointv3.ClusterLoadAssignment{ClusterName: cluster}
	if len(endpoints) == 0 {
		return out
	}
	locality := &endpointv3.LocalityLbEndpoints{}
	for _, e := range endpoints {
		locality.LbEndpoints = append(locality.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
				Endpoint: &endpointv3.Endpoint{Address: socketAddress(e.Address, e.Port)},
			},
		})
	}
	out.Endpoints = []*endpointv3.LocalityLbEndpoints{locality}
	return out
}

func socketAddress(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       host,
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}
