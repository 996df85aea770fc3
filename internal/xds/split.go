package xds

import (
	"cmp"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tidelock/tidelock/internal/desired"
)

// weightedClusters divides requests by weight. Where clients are sticky their hash picks the cluster, as it picks the
// endpoint in it: by chance each request would be a new choice.
func weightedClusters(r *desired.Route, upstreams []namedUpstream) *routev3.WeightedCluster {
	out := &routev3.WeightedCluster{}
	for i, t := range r.Backends {
		out.Clusters = append(out.Clusters, &routev3.WeightedCluster_ClusterWeight{
			Name: upstreams[i].name, Weight: wrapperspb.UInt32(t.Weight),
		})
	}
	// The order of targets in the file means nothing.
	slices.SortStableFunc(out.Clusters, func(a, b *routev3.WeightedCluster_ClusterWeight) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Weight.Value, b.Weight.Value))
	})
	if r.Sticky != nil {
		out.RandomValueSpecifier = &routev3.WeightedCluster_UseHashPolicy{UseHashPolicy: wrapperspb.Bool(true)}
	}
	return out
}

// hashPolicy returns what a request is hashed by; nil for nothing.
func hashPolicy(s *desired.Sticky) []*routev3.RouteAction_HashPolicy {
	switch {
	case s == nil:
		return nil
	case s.Header != "":
		return []*routev3.RouteAction_HashPolicy{{PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{
			Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: s.Header},
		}}}
	}
	return []*routev3.RouteAction_HashPolicy{{PolicySpecifier: &routev3.RouteAction_HashPolicy_Cookie_{
		// A TTL of 0 makes a cookie of the session; without one none would be made.
		Cookie: &routev3.RouteAction_HashPolicy_Cookie{Name: s.Cookie, Ttl: durationpb.New(s.TTL), Path: s.Path},
	}}}
}

// mirrorPolicy copies a share of the requests to a cluster.
func mirrorPolicy(cluster string, percent uint32) []*routev3.RouteAction_RequestMirrorPolicy {
	return []*routev3.RouteAction_RequestMirrorPolicy{{
		Cluster: cluster,
		RuntimeFraction: &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{
			Numerator: percent, Denominator: typev3.FractionalPercent_HUNDRED,
		}},
	}}
}
