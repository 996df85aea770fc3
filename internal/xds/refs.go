package xds

import (
	"errors"
	"fmt"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidelock/tidelock/internal/desired"
)

// findings is what a raw resource says of others.
type findings struct {
	// clusters that it names, sorted; among them those that a proxy's own bootstrap may hold.
	clusters []string
	// wants must be in the snapshot.
	wants []resourceKey
	// bound are the ports that it opens.
	bound []binding
}

// want is a resource that must be there for another.
type want struct {
	resourceKey
	by    resourceKey
	route *desired.Route
}

// inspect walks m with every typed config in it: it validates them, as the validation of m itself does not, and finds what
// they refer to.
func inspect(m proto.Message) (findings, error) {
	var out findings
	err := protorange.Range(m.ProtoReflect(), func(p protopath.Values) error {
		last := p.Index(-1)
		sub, ok := last.Value.Interface().(protoreflect.Message)
		if !ok {
			return nil
		}
		if inner, ok := sub.Interface().(message); ok && last.Step.Kind() == protopath.AnyExpandStep {
			if err := inner.ValidateAll(); err != nil {
				return err
			}
		}
		return out.look(sub.Interface())
	})
	slices.Sort(out.clusters)
	out.clusters = slices.Compact(out.clusters)
	return out, err
}

// look keeps what one message, by itself, refers to.
func (f *findings) look(m proto.Message) error {
	switch m := m.(type) {
	case *routev3.RouteAction:
		f.wantCluster(m.GetCluster())
	case *routev3.WeightedCluster_ClusterWeight:
		f.wantCluster(m.Name)
	case *routev3.RouteAction_RequestMirrorPolicy:
		f.wantCluster(m.Cluster)
	case *tcpv3.TcpProxy:
		f.wantCluster(m.GetCluster())
	case *tcpv3.TcpProxy_WeightedCluster_ClusterWeight:
		f.wantCluster(m.Name)
	case *corev3.GrpcService_EnvoyGrpc:
		f.clusters = append(f.clusters, m.ClusterName)
	case *corev3.HttpUri:
		f.clusters = append(f.clusters, m.GetCluster())
	case *hcmv3.Rds:
		if m.ConfigSource.GetAds() != nil {
			f.wants = append(f.wants, resourceKey{TypeRoute, m.RouteConfigName})
		}
	case *clusterv3.Cluster:
		if m.GetEdsClusterConfig().GetEdsConfig().GetAds() != nil {
			name := m.EdsClusterConfig.ServiceName
			if name == "" {
				name = m.Name
			}
			f.wants = append(f.wants, resourceKey{TypeEndpoint, name})
		}
	case *listenerv3.Listener:
		if at := m.GetAddress().GetSocketAddress(); at != nil {
			f.bound = append(f.bound, binding{name: m.Name, address: at.Address, port: at.GetPortValue()})
		}
	case *matcherv3.RegexMatcher:
		return checkExpression(m.Regex)
	case *tlsv3.TlsCertificate:
		return checkPair(m)
	case *routev3.WeightedCluster:
		return checkSum(m)
	case *routev3.RouteConfiguration:
		return checkDomains(m)
	}
	return nil
}

func (f *findings) wantCluster(name string) {
	if name == "" {
		return // chosen by a header or a plugin
	}
	f.clusters = append(f.clusters, name)
	f.wants = append(f.wants, resourceKey{TypeCluster, name})
}

// checkPair looks at a certificate that stands in the resource itself.
func checkPair(c *tlsv3.TlsCertificate) error {
	inline := func(d *corev3.DataSource) []byte { return append(d.GetInlineBytes(), d.GetInlineString()...) }
	certificate, key := inline(c.CertificateChain), inline(c.PrivateKey)
	if len(certificate) == 0 || len(key) == 0 || c.Password != nil {
		return nil
	}
	if wrong := wrongPair("certificate_chain", "private_key", certificate, key); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

func checkSum(m *routev3.WeightedCluster) error {
	var sum uint64
	for _, c := range m.Clusters {
		sum += uint64(c.GetWeight().GetValue())
	}
	if sum == 0 && m.GetHeaderName() == "" {
		return fmt.Errorf("the weights of a split add up to 0: a proxy would refuse the whole table")
	}
	return nil
}

func checkDomains(m *routev3.RouteConfiguration) error {
	hosts, domains := map[string]bool{}, map[string]bool{}
	for _, host := range m.VirtualHosts {
		if hosts[host.Name] {
			return fmt.Errorf("two virtual hosts are named %q", host.Name)
		}
		hosts[host.Name] = true
		for _, d := range host.Domains {
			if domains[d] {
				return fmt.Errorf("two virtual hosts claim the domain %q", d)
			}
			domains[d] = true
		}
	}
	return nil
}

// adoptWanted adds the clusters of ours that only a raw resource names.
func (b *builder) adoptWanted() {
	for _, w := range b.wants {
		if w.typeURL != TypeCluster || b.raw[w.resourceKey] != nil {
			continue
		}
		if _, there := b.upstreams[w.name]; there {
			continue
		}
		for _, r := range b.users(w.name) {
			if u, ok := upstreamOf(r, w.name); ok {
				b.upstreams[w.name] = namedUpstream{Upstream: u, name: w.name}
			}
		}
	}
}

// checkWanted refuses a raw resource that names what is not there.
func (b *builder) checkWanted() {
	for _, w := range b.wants {
		has := func(r Resource) bool { return r.Name == w.name }
		if !slices.ContainsFunc(b.resources[w.typeURL], has) {
			b.problems = append(b.problems, rawProblem(w.route, w.by.typeURL, w.by.name,
				fmt.Sprintf("names %s %q, which is neither in an EnvoyConfig nor made from a route", kindOf(w.typeURL), w.name)))
		}
	}
}

// merge returns the union of two sorted lists.
func merge(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
