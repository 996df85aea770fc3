package xds_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// envoyConfig returns the route of an EnvoyConfig that holds resources of Envoy's YAML.
func envoyConfig(t *testing.T, name string, resources ...string) desired.Route {
	t.Helper()
	out := desired.Route{
		Source: desired.Source{Kind: "EnvoyConfig", Key: shop(name)},
		Origin: desired.Origin{Path: "envoy/" + name + ".yaml", Line: 1},
	}
	for _, text := range resources {
		encoded, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var head struct {
			Type    string `json:"@type"`
			Name    string `json:"name"`
			Cluster string `json:"cluster_name"`
		}
		if err := yaml.Unmarshal([]byte(text), &head); err != nil {
			t.Fatal(err)
		}
		out.Resources = append(out.Resources, desired.Resource{TypeURL: head.Type, Name: head.Name + head.Cluster, JSON: encoded})
	}
	return out
}

const (
	rawCluster = `
"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: legacy
type: STATIC
connect_timeout: 1s
load_assignment:
  cluster_name: legacy
  endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 192.0.2.7, port_value: 80}}}}]}]
`
	rawTCP = `
"@type": type.googleapis.com/envoy.config.listener.v3.Listener
name: tcp
address: {socket_address: {address: 0.0.0.0, port_value: 15432}}
filter_chains:
- filters:
  - name: envoy.filters.network.tcp_proxy
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
      stat_prefix: tcp
      cluster: CLUSTER
`
	rawRoutes = `
"@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
name: raw
virtual_hosts:
- name: a
  domains: [a.test]
  routes:
  - match: {prefix: /}
    route: {weighted_clusters: {clusters: [{name: legacy, weight: 1}, {name: shop/web/8080, weight: 1}]}}
`
)

func TestRawResourcesArePublishedAsTheyAre(t *testing.T) {
	t.Parallel()
	web := routeTo("b.test", "web")
	web.Backends = append(web.Backends, target("api", 0))
	snap := mustBuild(t, xds.Input{Desired: []desired.Route{
		envoyConfig(t, "raw", rawCluster, strings.ReplaceAll(rawTCP, "CLUSTER", "legacy"), rawRoutes), web,
	}})
	got := map[string][]string{}
	for typeURL, list := range snap.Resources {
		for _, r := range list {
			got[typeURL] = append(got[typeURL], r.Name)
		}
	}
	want := map[string][]string{
		xds.TypeCluster:  {"legacy", "shop/api/8080", "shop/web/8080"},
		xds.TypeEndpoint: {"shop/api/8080", "shop/web/8080"},
		xds.TypeListener: {"http", "tcp"},
		xds.TypeRoute:    {"http", "raw"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	refs := map[string][]string{
		"http": {"shop/api/8080", "shop/web/8080"}, "raw": {"legacy", "shop/web/8080"}, "tcp": {"legacy"},
	}
	if diff := cmp.Diff(refs, snap.Refs); diff != "" {
		t.Errorf("a cluster must stay while a resource names it (-want +got):\n%s", diff)
	}
}

func TestARawRouteMayNameAClusterThatOnlyAPendingRouteMakes(t *testing.T) {
	t.Parallel()
	snap := mustBuild(t, xds.Input{Desired: []desired.Route{
		envoyConfig(t, "raw", rawCluster, rawRoutes), routeTo("b.test", "web", pending),
	}})
	if !slices.ContainsFunc(snap.Resources[xds.TypeCluster], func(r xds.Resource) bool { return r.Name == "shop/web/8080" }) {
		t.Error("the cluster is not there: a commit would be refused or not by what the cluster holds today")
	}
}

func TestRawResourcesThatNoProxyCouldTakeAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		text   string
		also   []desired.Route
		want   string
	}{
		"an unknown field": {
			reason: "Envoy ignores or refuses it, by its flags",
			text:   rawCluster + "conect_timeout: 1s\n",
			want:   `envoy/raw.yaml:1: EnvoyConfig shop/raw: spec.resources: Cluster "legacy": unknown field "conect_timeout"`,
		},
		"a rule of Envoy's": {
			reason: "Envoy would refuse it",
			text:   strings.Replace(rawCluster, "connect_timeout: 1s", "connect_timeout: 0s", 1),
			want:   `Cluster "legacy": invalid Cluster.ConnectTimeout: value must be greater than 0s`,
		},
		"a rule in a typed config": {
			reason: "the validation of a message does not look into what it holds",
			text:   strings.Replace(rawTCP, "stat_prefix: tcp", "stat_prefix: ''", 1),
			want:   `Listener "tcp": invalid TcpProxy.StatPrefix: value length must be at least 1 runes`,
		},
		"an extension that is none": {
			reason: "Envoy would refuse it",
			text:   strings.Replace(rawTCP, "tcp_proxy.v3.TcpProxy", "tcp_proxy.v9.TcpProxy", 1),
			want:   `Listener "tcp": unable to resolve "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v9.TcpProxy"`,
		},
		"a cluster that is not there": {
			reason: "connections would be dropped with no hint why",
			text:   strings.ReplaceAll(rawTCP, "CLUSTER", "ghost"),
			want:   `Listener "tcp": names Cluster "ghost", which is neither in an EnvoyConfig nor made from a route`,
		},
		"a split of nothing": {
			reason: "Envoy refuses the whole table",
			text:   strings.ReplaceAll(rawRoutes, "weight: 1", "weight: 0"),
			want:   `RouteConfiguration "raw": the weights of a split add up to 0: a proxy would refuse the whole table`,
		},
		"a domain twice": {
			reason: "Envoy refuses the whole table",
			text:   strings.Replace(rawRoutes, "domains: [a.test]", "domains: [a.test]\n- name: b\n  domains: [a.test]", 1),
			want:   `RouteConfiguration "raw": two virtual hosts claim the domain "a.test"`,
		},
		"an expression that is none": {
			reason: "Envoy refuses the whole table",
			text:   strings.Replace(rawRoutes, "prefix: /", "safe_regex: {regex: '/('}", 1),
			want:   `RouteConfiguration "raw": error parsing regexp: missing closing )`,
		},
		"a certificate that is none": {
			reason: "Envoy refuses the Secrets of all others with it",
			text: "\"@type\": " + xds.TypeSecret + "\nname: s\ntls_certificate: {certificate_chain: {inline_string: hunter2}, " +
				"private_key: {inline_string: hunter2}}\n",
			want: `Secret "s": its certificate_chain and private_key are no PEM pair of a certificate and its key`,
		},
		"the name of a resource of ours": {
			reason: "one of the two would be lost",
			text:   strings.Replace(strings.ReplaceAll(rawTCP, "CLUSTER", "shop/web/8080"), "name: tcp\naddress", "name: http\naddress", 1),
			also:   []desired.Route{routeTo("a.test", "web")},
			want:   `Listener "http": the name is that of a resource made from a route`,
		},
		"a port of ours": {
			reason: "the kernel would share connections between the two",
			text:   strings.Replace(strings.ReplaceAll(rawTCP, "CLUSTER", "shop/web/8080"), "15432", "10000", 1),
			also:   []desired.Route{routeTo("a.test", "web")},
			want:   "0.0.0.0:10000 is taken by listener",
		},
		"a type that is not served": {
			reason: "no proxy would ask for it",
			text:   "\"@type\": type.googleapis.com/envoy.config.core.v3.Node\nid: legacy\n",
			want:   "this type is not served; listeners, routes, clusters, endpoints, secrets and runtime layers are",
		},
		"a Secret with a mistake": {
			reason: "the error must not quote what is in it",
			text:   "\"@type\": " + xds.TypeSecret + "\nname: s\ngeneric_secret: {secret: {inline_string: [hunter2]}}\n",
			want:   `Secret "s": is no valid ` + xds.TypeSecret,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			routes := append([]desired.Route{envoyConfig(t, "raw", tc.text)}, tc.also...)
			_, err := xds.Build(xds.Input{Desired: routes}, nil)
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "\u00a0", " "), tc.want) {
				t.Fatalf("got  %v\nwant %s\nbecause %s", err, tc.want, tc.reason)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error quotes a Secret: %v", err)
			}
		})
	}
}
