package xds

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/internal/desired"
)

const (
	// xdsCluster is the name by which a proxy knows the daemon.
	xdsCluster = "tidelock_xds"
	// runtimeLayer is the name of the runtime layer that a proxy asks for; it is answered empty unless an EnvoyConfig fills it.
	runtimeLayer = "runtime-0"
	// keepalive finds a daemon that is gone without a word: Envoy keeps what it has and connects anew.
	keepaliveInterval = 30 * time.Second
	keepaliveTimeout  = 5 * time.Second

	defaultXDSPort      = 18000
	defaultAdminAddress = "127.0.0.1"
	defaultAdminPort    = 19000
)

// BootstrapConfig is what a proxy must know to ask the daemon for everything else.
type BootstrapConfig struct {
	// NodeID names the proxy among those of its group; where empty, Envoy must be started with --service-node.
	NodeID string
	// Group is the node.cluster: which snapshot the proxy receives. Required.
	Group string
	// XDSHost is the daemon's host name, IP address, or "unix:" and the path of a socket. Required.
	XDSHost string
	// XDSPort of the daemon; 18000 if 0, unused with a socket.
	XDSPort uint32
	// AdminAddress and AdminPort of Envoy's own administration; 127.0.0.1 and 19000 if zero.
	AdminAddress string
	AdminPort    uint32
	// TLS to the daemon; nil for plain text.
	TLS *BootstrapTLS
}

// BootstrapTLS names PEM files on the proxy's machine.
type BootstrapTLS struct {
	// CAFile that the daemon's certificate must chain to. Required.
	CAFile string
	// CertFile and KeyFile of the proxy; both or neither.
	CertFile, KeyFile string
	// ServerName that the daemon's certificate must be for; XDSHost if empty. Required with a socket, which has no name.
	ServerName string
}

// Bootstrap returns the YAML that an Envoy is started with. Errors are about the settings.
func Bootstrap(c BootstrapConfig) ([]byte, error) {
	if c.Group == "" || c.XDSHost == "" {
		return nil, fmt.Errorf("bootstrap needs a group and the host of the daemon")
	}
	cluster, err := controlCluster(c)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	config := &bootstrapv3.Bootstrap{
		Node: &corev3.Node{Id: c.NodeID, Cluster: c.Group},
		Admin: &bootstrapv3.Admin{
			Address: socketAddress(cmp.Or(c.AdminAddress, defaultAdminAddress), cmp.Or(c.AdminPort, defaultAdminPort)),
		},
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{
			AdsConfig: &corev3.ApiConfigSource{
				ApiType:                   corev3.ApiConfigSource_GRPC,
				TransportApiVersion:       corev3.ApiVersion_V3,
				SetNodeOnFirstMessageOnly: true,
				GrpcServices: []*corev3.GrpcService{{
					TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
						EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: xdsCluster, RetryPolicy: reconnect()},
					},
				}},
			},
			CdsConfig: adsSource(),
			LdsConfig: adsSource(),
		},
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{Clusters: []*clusterv3.Cluster{cluster}},
		LayeredRuntime:  runtimeLayers(),
	}
	if err := config.ValidateAll(); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	encoded, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode the bootstrap: %w", err)
	}
	return yaml.JSONToYAML(encoded)
}

// runtimeLayers are, each over the one before: what every proxy needs, what the daemon says, and what an operator sets by
// hand at the proxy.
func runtimeLayers() *bootstrapv3.LayeredRuntime {
	return &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{
		{
			Name: "base",
			LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: &structpb.Struct{
				Fields: map[string]*structpb.Value{
					// Envoy's own limit of 100 refuses expressions as short as [a-z]{1,30}, and the whole table with them.
					"re2.max_program_size.error_level": structpb.NewNumberValue(maxProgramRE2),
				},
			}},
		},
		{
			Name: runtimeLayer,
			LayerSpecifier: &bootstrapv3.RuntimeLayer_RtdsLayer_{RtdsLayer: &bootstrapv3.RuntimeLayer_RtdsLayer{
				Name: runtimeLayer, RtdsConfig: adsSource(),
			}},
		},
		{
			Name:           "admin",
			LayerSpecifier: &bootstrapv3.RuntimeLayer_AdminLayer_{AdminLayer: &bootstrapv3.RuntimeLayer_AdminLayer{}},
		},
	}}
}

// controlCluster is the daemon as a cluster: gRPC, so HTTP/2, with keepalives.
func controlCluster(c BootstrapConfig) (*clusterv3.Cluster, error) {
	out := &clusterv3.Cluster{
		Name:                 xdsCluster,
		ConnectTimeout:       durationpb.New(defaultConnectTimeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment: loadAssignment(xdsCluster, []Endpoint{{
			Address: c.XDSHost, Port: cmp.Or(c.XDSPort, defaultXDSPort),
		}}),
	}
	if path, found := strings.CutPrefix(c.XDSHost, socketPrefix); found {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("the socket %q is no absolute path", path)
		}
		out.LoadAssignment.Endpoints[0].LbEndpoints[0].GetEndpoint().Address = pipe(path)
	} else if !isIP(c.XDSHost) {
		config, err := pack(dnsCluster(desired.DNS{}))
		if err != nil {
			return nil, err
		}
		out.ClusterDiscoveryType = &clusterv3.Cluster_ClusterType{
			ClusterType: &clusterv3.Cluster_CustomClusterType{Name: "envoy.clusters.dns", TypedConfig: config},
		}
	}
	options := http2Upstream()
	http2 := options.GetExplicitHttpConfig().GetHttp2ProtocolOptions()
	http2.ConnectionKeepalive = &corev3.KeepaliveSettings{
		Interval: durationpb.New(keepaliveInterval), Timeout: durationpb.New(keepaliveTimeout),
	}
	config, err := pack(options)
	if err != nil {
		return nil, err
	}
	out.TypedExtensionProtocolOptions = map[string]*anypb.Any{httpOptions: config}
	if c.TLS != nil {
		out.TransportSocket, err = controlTLS(c)
	}
	return out, err
}

// controlTLS verifies the daemon's certificate and name, and shows the proxy's own.
func controlTLS(c BootstrapConfig) (*corev3.TransportSocket, error) {
	if c.TLS.CAFile == "" || (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		return nil, fmt.Errorf("TLS needs a CA file, and a certificate and its key together")
	}
	if c.TLS.ServerName == "" && strings.HasPrefix(c.XDSHost, socketPrefix) {
		return nil, fmt.Errorf("TLS over a socket needs the server name that the daemon's certificate is for")
	}
	context, validation := clientTLS(cmp.Or(c.TLS.ServerName, c.XDSHost))
	validation.TrustedCa = file(c.TLS.CAFile)
	context.CommonTlsContext.AlpnProtocols = []string{"h2"}
	context.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: validation}
	if c.TLS.CertFile != "" {
		context.CommonTlsContext.TlsCertificates = []*tlsv3.TlsCertificate{{
			CertificateChain: file(c.TLS.CertFile), PrivateKey: file(c.TLS.KeyFile),
		}}
	}
	return transportSocket(context)
}

func pipe(path string) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}
}

// reconnect has Envoy come back soon after the daemon was away; by itself it waits for up to 30 s.
func reconnect() *corev3.RetryPolicy {
	const first, last = 500 * time.Millisecond, 5 * time.Second
	return &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
		BaseInterval: durationpb.New(first), MaxInterval: durationpb.New(last),
	}}
}
