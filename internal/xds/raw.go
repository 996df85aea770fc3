package xds

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	runtimev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tidelock/tidelock/internal/desired"
)

// rawMemo is a raw resource as it was read.
type rawMemo struct {
	json     []byte
	resource Resource
	found    findings
}

// addRaw adds the resources of an EnvoyConfig.
func (b *builder) addRaw(r *desired.Route) {
	for _, res := range r.Resources {
		memo, err := b.readRaw(res)
		if err != nil {
			b.problems = append(b.problems, rawProblem(r, res.TypeURL, res.Name, err.Error()))
			continue
		}
		key := resourceKey{res.TypeURL, memo.resource.Name}
		if first, taken := b.raw[key]; taken {
			b.problems = append(b.problems, rawProblem(r, res.TypeURL, res.Name,
				fmt.Sprintf("is given by %s too (%s)", first.Source, first.Origin)))
			continue
		}
		b.raw[key] = r
		b.resources[res.TypeURL] = append(b.resources[res.TypeURL], memo.resource)
		b.refer(r, key, memo.found)
	}
}

// refer keeps what a raw resource needs, and the clusters that must not go before it does.
func (b *builder) refer(r *desired.Route, key resourceKey, f findings) {
	if len(f.clusters) > 0 && (key.typeURL == TypeRoute || key.typeURL == TypeListener) {
		b.refs[key.name] = merge(b.refs[key.name], f.clusters)
	}
	for _, w := range f.wants {
		b.wants = append(b.wants, want{resourceKey: w, by: key, route: r})
	}
	for _, at := range f.bound {
		at.route = r
		b.bound = append(b.bound, at)
	}
}

// readRaw decodes and validates one resource, or takes it from the last Build.
func (b *builder) readRaw(res desired.Resource) (rawMemo, error) {
	id := res.TypeURL + " " + res.Name
	if memo, found := b.old.raw[id]; found && bytes.Equal(memo.json, res.JSON) {
		b.next.raw[id] = memo
		return memo, nil
	}
	m, err := decodeRaw(res)
	if err != nil {
		return rawMemo{}, err
	}
	found, err := inspect(m)
	if err != nil {
		return rawMemo{}, err
	}
	value, err := marshal(m)
	if err != nil {
		return rawMemo{}, err
	}
	memo := rawMemo{json: res.JSON, resource: resourceOf(res.Name, value), found: found}
	b.next.raw[id] = memo
	return memo, nil
}

// decodeRaw returns the message of res. No error quotes a value of a Secret.
func decodeRaw(res desired.Resource) (message, error) {
	holder := &anypb.Any{}
	if err := protojson.Unmarshal(res.JSON, holder); err != nil {
		if res.TypeURL == TypeSecret {
			return nil, fmt.Errorf("is no valid %s", res.TypeURL)
		}
		return nil, fmt.Errorf("%s", cleanJSONError(err))
	}
	if holder.TypeUrl != res.TypeURL {
		return nil, fmt.Errorf("is a %s", holder.TypeUrl)
	}
	m, err := holder.UnmarshalNew()
	if err != nil {
		return nil, err
	}
	name, served := "", true
	switch m := m.(type) {
	case *clusterv3.Cluster:
		name = m.Name
	case *endpointv3.ClusterLoadAssignment:
		name = m.ClusterName
	case *listenerv3.Listener:
		name = m.Name
	case *routev3.RouteConfiguration:
		name = m.Name
	case *tlsv3.Secret:
		name = m.Name
	case *runtimev3.Runtime:
		name = m.Name
	default:
		served = false
	}
	valid, ok := m.(message)
	switch {
	case !served || !ok:
		return nil, fmt.Errorf("this type is not served; listeners, routes, clusters, endpoints, secrets and runtime layers are")
	case name == "":
		return nil, fmt.Errorf("needs a name")
	case name != res.Name:
		return nil, fmt.Errorf("is named %q", name)
	}
	return valid, nil
}

// cleanJSONError drops the position: it is one in our JSON, not in the user's YAML.
func cleanJSONError(err error) string {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return regexp.MustCompile(`^proto: (\(line [0-9:]+\): )?`).ReplaceAllString(text, "")
}

// rawProblem is a fault of one resource of an EnvoyConfig.
func rawProblem(r *desired.Route, typeURL, name, text string) desired.Problem {
	return desired.Problem{
		Origin: r.Origin, Object: r.Source.String(), Field: "spec.resources",
		Text: fmt.Sprintf("%s %q: %s", kindOf(typeURL), name, text),
	}
}
