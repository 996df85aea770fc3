package xds

import (
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tidelock/tidelock/internal/desired"
)

// envoysIdle is for how long Envoy lets a request go on in which nothing moves, where nothing else is set.
const envoysIdle = 5 * time.Minute

// builtRoute is one route of a virtual host, with what has to be there for it.
type builtRoute struct {
	message *routev3.Route
	// upstreams that the message names.
	upstreams []namedUpstream
	// note is empty where the route does what it says.
	note string
}

// buildRoute returns r in Envoy's words, as it is for one of its hosts.
func buildRoute(r *desired.Route, host string, w World) builtRoute {
	out := builtRoute{message: &routev3.Route{
		// Never the rule's index: the order of rules in the file means nothing.
		Name:  r.Source.String(),
		Match: routeMatch(r.Match),
	}}
	applyHeaders(out.message, r.Headers)
	switch {
	case r.Redirect != nil:
		out.message.Action = &routev3.Route_Redirect{Redirect: redirectAction(r.Match, *r.Redirect, host)}
	case r.Direct != nil:
		out.message.Action = directResponse(r.Direct.Status, r.Direct.Body)
	default:
		out.forward(r, w)
	}
	return out
}

// forward sends the requests to r's backends, or answers 503 where nobody could answer them: weights that sum to 0 and
// Services that do not exist would make a proxy refuse the whole table, or answer with no hint why.
func (b *builtRoute) forward(r *desired.Route, w World) {
	serving := slices.DeleteFunc(slices.Clone(r.Backends), func(t desired.Backend) bool { return t.Weight == 0 })
	if len(serving) == 0 {
		b.unavailable("every target has weight 0")
		return
	}
	absent := absentServices(serving, w)
	if len(absent) > 0 && !slices.ContainsFunc(serving, func(t desired.Backend) bool { return !isAbsent(t.Upstream, w) }) {
		b.unavailable(strings.Join(absent, ", ") + " is not there yet")
		return
	}
	if len(absent) > 0 {
		b.say("the share of " + strings.Join(absent, ", ") + " is answered 503: it is not there yet")
	}
	if m := r.Mirror; m != nil && isAbsent(m.Upstream, w) {
		b.say("no request is mirrored: Service " + m.Upstream.Service.String() + " is not there yet")
	}
	for u := range r.Upstreams() {
		b.upstreams = append(b.upstreams, namedUpstream{name: clusterName(*u), Upstream: *u})
	}
	b.message.Action = &routev3.Route_Route{Route: routeAction(r, b.upstreams)}
}

// say adds to what the status says.
func (b *builtRoute) say(text string) {
	if b.note != "" {
		b.note += "; "
	}
	b.note += text
}

// unavailable answers 503 and says why, to the client and in the status.
func (b *builtRoute) unavailable(why string) {
	b.message.Action = directResponse(503, "tidelock: "+why+"\n")
	b.note = "answers 503: " + why
}

// isAbsent reports whether u is a Service that is declared elsewhere, if at all, and does not exist.
func isAbsent(u desired.Upstream, w World) bool {
	if !u.Pending {
		return false
	}
	_, found := w.Services[servicePort(u)]
	return !found
}

// absentServices names those of targets that do not exist, each once.
func absentServices(targets []desired.Backend, w World) []string {
	var names []string
	for _, t := range targets {
		if isAbsent(t.Upstream, w) {
			names = append(names, "Service "+t.Upstream.Service.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// routeAction sends requests to upstreams: those of r's backends, and after them that of its mirror.
func routeAction(r *desired.Route, upstreams []namedUpstream) *routev3.RouteAction {
	action := &routev3.RouteAction{HashPolicy: hashPolicy(r.Sticky)}
	if len(r.Backends) == 1 {
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: upstreams[0].name}
	} else {
		weighted := weightedClusters(r, upstreams)
		action.ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: weighted}
	}
	if r.Mirror != nil {
		action.RequestMirrorPolicies = mirrorPolicy(upstreams[len(r.Backends)].name, r.Mirror.Percent)
	}
	applyRewrite(action, r.Match, r.Rewrite)
	if r.Timeout != nil {
		action.Timeout = durationpb.New(*r.Timeout)
		// A request that may take longer than Envoy lets a quiet one go on, by default, may be quiet for as long.
		if *r.Timeout == 0 || *r.Timeout > envoysIdle {
			action.IdleTimeout = durationpb.New(*r.Timeout)
		}
	}
	if r.Retries != nil {
		action.RetryPolicy = retryPolicy(*r.Retries, r.Backends)
	}
	return action
}

// retryPolicy returns t with the conditions of the API where it names none. What gRPC adds are statuses with which a server
// says that it did not do the work.
func retryPolicy(t desired.Retries, targets []desired.Backend) *routev3.RetryPolicy {
	on := t.On
	if len(on) == 0 {
		on = []string{"connect-failure", "refused-stream", "unavailable", "reset"}
		if slices.ContainsFunc(targets, func(b desired.Backend) bool { return b.Upstream.Protocol == desired.GRPC }) {
			on = append(on, "cancelled", "resource-exhausted")
		}
	}
	out := &routev3.RetryPolicy{
		RetryOn:    strings.Join(on, ","),
		NumRetries: wrapperspb.UInt32(max(t.Attempts, 1)),
	}
	if t.PerTryTimeout > 0 {
		out.PerTryTimeout = durationpb.New(t.PerTryTimeout)
	}
	return out
}

func directResponse(status uint32, body string) *routev3.Route_DirectResponse {
	out := &routev3.DirectResponseAction{Status: status}
	if body != "" {
		out.Body = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: body}}
	}
	return &routev3.Route_DirectResponse{DirectResponse: out}
}

func redirectAction(m desired.Match, r desired.Redirect, host string) *routev3.RedirectAction {
	out := &routev3.RedirectAction{
		HostRedirect: r.Host,
		PortRedirect: r.Port,
		ResponseCode: redirectCode(r.Code),
	}
	if r.Scheme != "" {
		out.SchemeRewriteSpecifier = &routev3.RedirectAction_SchemeRedirect{SchemeRedirect: r.Scheme}
		// As in Gateway API the port is then that of the scheme: nobody speaks HTTPS on the port of plain HTTP.
		switch exact := !strings.HasPrefix(host, "*"); {
		case r.Port != 0 || r.Host != "":
		case exact:
			out.HostRedirect = host // a Host header may have a port, and Envoy would keep it
		default:
			out.PortRedirect = map[string]uint32{"http": 80, "https": 443}[r.Scheme]
		}
	}
	switch {
	case r.Path != "":
		out.PathRewriteSpecifier = &routev3.RedirectAction_PathRedirect{PathRedirect: r.Path}
	case r.Prefix != nil:
		literal, expression := prefixRewrite(m.Path, *r.Prefix)
		if literal != "" {
			out.PathRewriteSpecifier = &routev3.RedirectAction_PrefixRewrite{PrefixRewrite: literal}
		}
		if expression != nil {
			out.PathRewriteSpecifier = &routev3.RedirectAction_RegexRewrite{RegexRewrite: expression}
		}
	}
	return out
}

// redirectCode returns Envoy's name of a status; 302 where none is set, so that a mistake is not cached for ever.
func redirectCode(status uint32) routev3.RedirectAction_RedirectResponseCode {
	switch status {
	case 301:
		return routev3.RedirectAction_MOVED_PERMANENTLY
	case 303:
		return routev3.RedirectAction_SEE_OTHER
	case 307:
		return routev3.RedirectAction_TEMPORARY_REDIRECT
	case 308:
		return routev3.RedirectAction_PERMANENT_REDIRECT
	default:
		return routev3.RedirectAction_FOUND
	}
}

// applyHeaders puts h on a route, so that redirects and direct responses carry it too.
func applyHeaders(out *routev3.Route, h desired.Headers) {
	out.RequestHeadersToAdd = headerOptions(h.Request)
	out.RequestHeadersToRemove = h.Request.Remove
	out.ResponseHeadersToAdd = headerOptions(h.Response)
	out.ResponseHeadersToRemove = h.Response.Remove
}

func headerOptions(c desired.HeaderChange) []*corev3.HeaderValueOption {
	var out []*corev3.HeaderValueOption
	add := func(headers []desired.Header, action corev3.HeaderValueOption_HeaderAppendAction) {
		for _, h := range headers {
			out = append(out, &corev3.HeaderValueOption{
				// A value is literal: a lone % would make Envoy refuse the whole table.
				Header:         &corev3.HeaderValue{Key: h.Name, Value: strings.ReplaceAll(h.Value, "%", "%%")},
				AppendAction:   action,
				KeepEmptyValue: h.Value == "",
			})
		}
	}
	add(c.Set, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD)
	add(c.Add, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD)
	return out
}
