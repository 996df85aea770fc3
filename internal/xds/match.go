package xds

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/tidelock/tidelock/internal/desired"
)

// routeMatch returns m in Envoy's words. A prefix compares whole segments, so "/foo" does not match "/foobar".
func routeMatch(m desired.Match) *routev3.RouteMatch {
	out := &routev3.RouteMatch{}
	switch {
	case m.PathType == desired.PathExact:
		out.PathSpecifier = &routev3.RouteMatch_Path{Path: m.Path}
	case m.PathType == desired.PathRegex:
		out.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: m.Path}}
	case m.Path == "/":
		// A path-separated prefix must not end in a slash.
		out.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/"}
	default:
		out.PathSpecifier = &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: m.Path}
	}
	if m.Method != "" {
		out.Headers = append(out.Headers, headerMatch(desired.ValueMatch{
			Name: ":method", Type: desired.ValueExact, Value: m.Method,
		}))
	}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, headerMatch(h))
	}
	for _, q := range m.Query {
		out.QueryParameters = append(out.QueryParameters, queryMatch(q))
	}
	return out
}

func headerMatch(v desired.ValueMatch) *routev3.HeaderMatcher {
	name := v.Name
	if name == "host" {
		name = ":authority" // where Envoy keeps it
	}
	if v.Type == desired.ValuePresent {
		return &routev3.HeaderMatcher{
			Name:                 name,
			HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true},
		}
	}
	return &routev3.HeaderMatcher{
		Name:                 name,
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: stringMatch(v)},
	}
}

func queryMatch(v desired.ValueMatch) *routev3.QueryParameterMatcher {
	if v.Type == desired.ValuePresent {
		return &routev3.QueryParameterMatcher{
			Name:                         v.Name,
			QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_PresentMatch{PresentMatch: true},
		}
	}
	return &routev3.QueryParameterMatcher{
		Name:                         v.Name,
		QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_StringMatch{StringMatch: stringMatch(v)},
	}
}

// stringMatch compares the whole value.
func stringMatch(v desired.ValueMatch) *matcherv3.StringMatcher {
	if v.Type == desired.ValueRegex {
		return &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: v.Value}},
		}
	}
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: v.Value}}
}
