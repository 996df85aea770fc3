package desired

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The listener that routes use which name none.
const (
	DefaultListener = "http"
	DefaultAddress  = "0.0.0.0"
	DefaultPort     = 10000
)

// AnyHost matches every host.
const AnyHost = "*"

// Route sends requests of one listener, a set of hosts and a match to one action. Exactly one of Backends, Redirect and
// Direct is set, or Resources alone (an EnvoyConfig).
type Route struct {
	// Source is the resource of ours that it was lowered from, and Rule the index of the rule in it.
	Source Source
	Rule   int
	// Origin is where that resource stands.
	Origin Origin
	// Proxies are the groups that receive it; empty means all.
	Proxies []string
	// Force switches it even where the new backend is not ready (the annotation tidelock.dev/switch).
	Force bool

	Listener Listener
	// Hosts in lower case, sorted: exact, "*.suffix", or "*"; never empty for a route that is not Resources.
	Hosts []string
	Match Match

	// Backends share the requests by weight. All weights 0 answers 503.
	Backends []Backend
	// Split is the TrafficSplit whose targets Backends are, with the weights in force; zero where there is none.
	Split Key
	// Sticky keeps a client on one backend and one endpoint of it; nil leaves the choice to chance.
	Sticky *Sticky
	// Mirror gets a copy of requests; its answers are dropped. Nil for none.
	Mirror   *Mirror
	Redirect *Redirect
	Direct   *DirectResponse

	Rewrite Rewrite
	// Timeout of the whole request; nil for Envoy's default of 15 s, 0 for none.
	Timeout *time.Duration
	Retries *Retries
	Headers Headers

	// Resources are raw xDS messages of an EnvoyConfig.
	Resources []Resource
}

// Key is what a route is known by across commits: where its requests enter, not where they go. Two routes of one key are a
// conflict.
func (r Route) Key(host string) string {
	if len(r.Resources) > 0 {
		return r.Source.String()
	}
	return r.Listener.Name + " " + host + " " + r.Match.String()
}

// Upstreams returns everything that the route sends requests to.
func (r Route) Upstreams() iter.Seq[*Upstream] {
	return func(yield func(*Upstream) bool) {
		for i := range r.Backends {
			if !yield(&r.Backends[i].Upstream) {
				return
			}
		}
		if r.Mirror != nil {
			yield(&r.Mirror.Upstream)
		}
	}
}

// Listener is an address that a proxy accepts connections on.
type Listener struct {
	Name    string
	Address string
	Port    uint32
	// TLSSecret of type kubernetes.io/tls; zero for plain text.
	TLSSecret Key
	// AccessLog is the path of the access log; empty for none.
	AccessLog string
	// AccessLogFormat in Envoy's command operators; empty for Envoy's default.
	AccessLogFormat string
}

// PathType says how a path is compared.
type PathType string

// The path types. Prefix compares whole segments.
const (
	PathExact  PathType = "Exact"
	PathPrefix PathType = "Prefix"
	PathRegex  PathType = "Regex"
)

// Match selects requests; all that is set must hold.
type Match struct {
	// Path type and value; Prefix "/" matches all. A Prefix has no slash at its end, except "/" itself.
	PathType PathType
	Path     string
	// Method, or empty for all.
	Method string
	// Headers and Query by name; names of headers in lower case.
	Headers []ValueMatch
	Query   []ValueMatch
}

// String returns a text that is equal for equal matches: "Prefix /v1 GET header x-a=1 query b".
func (m Match) String() string {
	parts := []string{string(m.PathType), m.Path}
	if m.Method != "" {
		parts = append(parts, m.Method)
	}
	for _, h := range m.Headers {
		parts = append(parts, "header "+h.String())
	}
	for _, q := range m.Query {
		parts = append(parts, "query "+q.String())
	}
	return strings.Join(parts, " ")
}

// Compare orders matches by precedence, the one that wins first, as in Gateway API: Exact before Regex before Prefix,
// then the longer path, then a method, then more headers, then more query parameters; ties by text.
func (m Match) Compare(o Match) int {
	order := func(t PathType) int { return slices.Index([]PathType{PathExact, PathRegex, PathPrefix}, t) }
	noMethod := func(m Match) int {
		if m.Method == "" {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(order(m.PathType), order(o.PathType)),
		cmp.Compare(len(o.Path), len(m.Path)),
		cmp.Compare(noMethod(m), noMethod(o)),
		cmp.Compare(len(o.Headers), len(m.Headers)),
		cmp.Compare(len(o.Query), len(m.Query)),
		strings.Compare(m.String(), o.String()),
	)
}

// ValueType says how a value is compared.
type ValueType string

// The value types.
const (
	ValueExact   ValueType = "Exact"
	ValueRegex   ValueType = "Regex"
	ValuePresent ValueType = "Present"
)

// ValueMatch compares one header or query parameter.
type ValueMatch struct {
	Name  string
	Type  ValueType
	Value string
}

// String returns "name=value", "name~regex" or "name".
func (v ValueMatch) String() string {
	switch v.Type {
	case ValueRegex:
		return v.Name + "~" + strconv.Quote(v.Value)
	case ValuePresent:
		return v.Name
	case ValueExact:
	}
	return v.Name + "=" + strconv.Quote(v.Value)
}

// Backend is one weighted upstream of a route.
type Backend struct {
	// Name of the target in its split; empty for a plain backend.
	Name     string
	Weight   uint32
	Upstream Upstream
}

// Sticky is what tells one client from another: exactly one of Cookie and Header is set.
type Sticky struct {
	// Cookie by name, made by the proxy where a client has none. It lasts for TTL, 0 for the browser's session, on Path.
	Cookie string
	TTL    time.Duration
	Path   string
	// Header by name, in lower case.
	Header string
}

// Mirror is where copies of requests go.
type Mirror struct {
	Upstream Upstream
	// Percent of the requests, 1 to 100.
	Percent uint32
}

// Protocol is what is spoken to an upstream.
type Protocol string

// The protocols.
const (
	HTTP1 Protocol = "http1"
	HTTP2 Protocol = "http2"
	GRPC  Protocol = "grpc"
)

// Balancer is how an endpoint is picked.
type Balancer string

// The balancers. The two that hash send equal requests (Route.Sticky) to one endpoint for as long as it is there.
const (
	RoundRobin Balancer = ""
	RingHash   Balancer = "ring hash"
	Maglev     Balancer = "maglev"
)

// Upstream is what a cluster of the proxy stands for: exactly one of Service and Address is set.
type Upstream struct {
	// Service whose ready endpoints answer, and its port.
	Service Key
	Port    uint32
	// Address is a host name or an IP address outside Kubernetes, with Port.
	Address string
	// Mock is set where Service is the generated Service of an APIMock.
	Mock bool
	// Pending is set where the Service is not declared in the repository: it may come from elsewhere, or later.
	Pending bool
	// Idle is set where the repository itself asks for no pods (replicas 0): nothing waits for endpoints.
	Idle bool

	// Balancer picks the endpoint of a request.
	Balancer       Balancer
	Protocol       Protocol
	TLS            *TLS
	ConnectTimeout time.Duration // 0 for the default of 5 s
	DNS            DNS
}

// TLS to an upstream.
type TLS struct {
	// SNI asked for and verified.
	SNI string
	// CASecret whose ca.crt is trusted; zero for the proxy's system roots.
	CASecret Key
}

// DNS says how the name of an address is resolved.
type DNS struct {
	// Logical uses only the first address of the answer at a time.
	Logical bool
	// Family is "", "V4" or "V6".
	Family string
}

// Rewrite changes a request before it is sent on.
type Rewrite struct {
	Host string
	Path string
	// Prefix replaces the matched prefix; nil leaves it.
	Prefix *string
}

// Retries of failed requests.
type Retries struct {
	Attempts      uint32
	PerTryTimeout time.Duration // 0 for the route's own timeout
	On            []string
}

// Headers changes headers on both ways.
type Headers struct {
	Request  HeaderChange
	Response HeaderChange
}

// HeaderChange changes headers on one way; each list is sorted by name.
type HeaderChange struct {
	Set    []Header
	Add    []Header
	Remove []string
}

// Header is a name and a value.
type Header struct {
	Name  string
	Value string
}

// Redirect answers with a redirect; what is zero stays as it was in the request.
type Redirect struct {
	Scheme string
	Host   string
	Port   uint32
	Path   string
	Prefix *string
	Code   uint32
}

// DirectResponse answers from the proxy itself.
type DirectResponse struct {
	Status uint32
	Body   string
}

// Resource is one raw xDS message.
type Resource struct {
	// TypeURL, "type.googleapis.com/envoy.config.cluster.v3.Cluster".
	TypeURL string
	// Name within its type.
	Name string
	// JSON is the message in proto3 JSON, with its "@type".
	JSON []byte
}
