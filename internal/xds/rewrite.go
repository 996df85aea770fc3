package xds

import (
	"regexp"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/tidelock/tidelock/internal/desired"
)

// applyRewrite puts rw on an action whose route matches the prefix m.Path, if m is one.
func applyRewrite(action *routev3.RouteAction, m desired.Match, rw desired.Rewrite) {
	if rw.Host != "" {
		action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: rw.Host}
	}
	switch {
	case rw.Path != "":
		// Not path_rewrite, which reads % as the start of a command.
		action.RegexRewrite = substitute(`^/.*$`, rw.Path)
	case rw.Prefix != nil:
		action.PrefixRewrite, action.RegexRewrite = prefixRewrite(m.Path, *rw.Prefix)
	}
}

// prefixRewrite returns how a segment-wise prefix is replaced, as a literal or as an expression: neither where nothing
// changes. As in Gateway API a slash at the end of either makes no difference: "/a" by "/" makes "/a/b" "/b", never "//b",
// and "/" by "/x" makes "/b" "/x/b", never "/xb".
func prefixRewrite(prefix, replacement string) (string, *matcherv3.RegexMatchAndSubstitute) {
	replacement = strings.TrimRight(replacement, "/")
	switch {
	case prefix == "/" && replacement == "":
		return "", nil
	case prefix == "/":
		return replacement + "/", nil
	case replacement == "":
		return "", substitute("^"+regexp.QuoteMeta(prefix)+"/?", "/")
	default:
		return replacement, nil
	}
}

// substitute replaces what pattern matches by literal.
func substitute(pattern, literal string) *matcherv3.RegexMatchAndSubstitute {
	return &matcherv3.RegexMatchAndSubstitute{
		Pattern:      &matcherv3.RegexMatcher{Regex: pattern},
		Substitution: strings.ReplaceAll(literal, `\`, `\\`),
	}
}
