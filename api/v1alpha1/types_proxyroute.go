package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProxyRoute sends the requests of a listener's hosts and paths to backends.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=proxyroutes,shortName=proute,categories=tidelock
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Hosts",type=string,JSONPath=`.status.hosts`
// +kubebuilder:printcolumn:name="Listener",type=string,JSONPath=`.spec.listener.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ProxyRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProxyRouteSpec   `json:"spec"`
	Status ProxyRouteStatus `json:"status,omitempty"`
}

// ProxyRouteStatus is what the daemon reports of a ProxyRoute.
type ProxyRouteStatus struct {
	Status `json:",inline"`
	// Hosts in one line, as "shop.example.com and 2 more"; "*" for every host.
	Hosts string `json:"hosts,omitempty"`
}

// ProxyRouteSpec says where requests enter and where they go.
type ProxyRouteSpec struct {
	// Listener that the requests arrive at; "http" on 0.0.0.0:10000 if left out.
	Listener Listener `json:"listener,omitempty"`
	// Hosts that the rules are for: exact, or "*.example.com"; every host if left out.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Hosts []string `json:"hosts,omitempty"`
	// Rules are matched by precedence (exact path, longest prefix, method, headers, query), not by their order.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Rules []Rule `json:"rules"`
	// Proxies are the node clusters that receive the route; all if left out.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	Proxies []string `json:"proxies,omitempty"`
}

// Listener is an address that Envoy accepts connections on. Two declarations of one name must agree.
type Listener struct {
	// Name of the listener; "http" if left out.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// Address is an IP address; 0.0.0.0 if left out.
	// +kubebuilder:validation:MinLength=1
	Address string `json:"address,omitempty"`
	// Port, 1 to 65535; 10000 if left out for the listener "http", required otherwise.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// TLS ends TLS on this listener.
	TLS *ListenerTLS `json:"tls,omitempty"`
	// AccessLog writes one line a request.
	AccessLog *AccessLog `json:"accessLog,omitempty"`
}

// ListenerTLS names the certificate of a listener.
type ListenerTLS struct {
	// SecretName of a kubernetes.io/tls Secret in the route's namespace; the listener waits for it.
	// +kubebuilder:validation:MinLength=1
	SecretName string `json:"secretName"`
}

// AccessLog says where a listener writes its access log.
type AccessLog struct {
	// Path of the file; /dev/stdout if left out.
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path,omitempty"`
	// Format in Envoy's command operators; Envoy's default format if left out.
	// +kubebuilder:validation:MinLength=1
	Format string `json:"format,omitempty"`
}

// Rule sends what it matches to one backend, a redirect or a fixed answer: exactly one of the three.
//
// +kubebuilder:validation:XValidation:rule="[has(self.backend), has(self.redirect), has(self.directResponse)].exists_one(x, x)",message="set one of backend, redirect and directResponse"
type Rule struct {
	// Match selects requests; every request if left out.
	Match Match `json:"match,omitempty"`
	// Backend that answers.
	Backend *Backend `json:"backend,omitempty"`
	// Redirect answers with a redirect.
	Redirect *Redirect `json:"redirect,omitempty"`
	// DirectResponse answers from the proxy itself.
	DirectResponse *DirectResponse `json:"directResponse,omitempty"`
	// Rewrite changes the request before it is sent on.
	Rewrite *Rewrite `json:"rewrite,omitempty"`
	// Timeout of the whole request, a Go duration; 15s (Envoy's default) if left out, 0s for none. Of 0s and of more than 5m
	// it is also for how long a request may be quiet.
	// +kubebuilder:validation:Format=duration
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Retries of failed requests; none if left out.
	Retries *Retries `json:"retries,omitempty"`
	// Headers changes headers of requests and responses.
	Headers *Headers `json:"headers,omitempty"`
}

// Match selects requests; all that is set must hold.
type Match struct {
	// Path of the request; every path if left out.
	Path *PathMatch `json:"path,omitempty"`
	// Method of the request (GET, POST, …); every method if left out.
	// +kubebuilder:validation:Enum=GET;HEAD;POST;PUT;DELETE;CONNECT;OPTIONS;TRACE;PATCH
	Method string `json:"method,omitempty"`
	// Headers of the request; names are compared without case.
	// +kubebuilder:validation:MaxItems=16
	Headers []ValueMatch `json:"headers,omitempty"`
	// QueryParams of the request.
	// +kubebuilder:validation:MaxItems=16
	QueryParams []ValueMatch `json:"queryParams,omitempty"`
}

// PathType says how a path is compared.
//
// +kubebuilder:validation:Enum=Exact;Prefix;Regex
type PathType string

// The path types, as in Gateway API; Prefix compares whole segments, so /foo does not match /foobar.
const (
	PathExact  PathType = "Exact"
	PathPrefix PathType = "Prefix"
	PathRegex  PathType = "Regex"
)

// PathMatch compares the path of a request, without its query.
type PathMatch struct {
	// Type of the comparison; Prefix if left out.
	Type PathType `json:"type,omitempty"`
	// Value begins with "/"; for Regex an RE2 expression that matches the whole path.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// ValueType says how a header or query parameter is compared.
//
// +kubebuilder:validation:Enum=Exact;Regex;Present
type ValueType string

// The value types.
const (
	ValueExact   ValueType = "Exact"
	ValueRegex   ValueType = "Regex"
	ValuePresent ValueType = "Present"
)

// ValueMatch compares one header or query parameter.
type ValueMatch struct {
	// Name of the header or parameter.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Type of the comparison; Exact if left out.
	Type ValueType `json:"type,omitempty"`
	// Value to compare with; not used with Present.
	Value string `json:"value,omitempty"`
}

// Backend is where requests go: exactly one of service, mock, split and address.
//
// +kubebuilder:validation:XValidation:rule="[has(self.service), has(self.mock), has(self.split), has(self.address)].exists_one(x, x)",message="set one of service, mock, split and address"
type Backend struct {
	// Service names a Kubernetes Service.
	// +kubebuilder:validation:MinLength=1
	Service string `json:"service,omitempty"`
	// Mock names an APIMock.
	// +kubebuilder:validation:MinLength=1
	Mock string `json:"mock,omitempty"`
	// Split names a TrafficSplit.
	// +kubebuilder:validation:MinLength=1
	Split string `json:"split,omitempty"`
	// Address is host:port, a name resolved by DNS or an IP address.
	// +kubebuilder:validation:MinLength=1
	Address string `json:"address,omitempty"`
	// Namespace of the Service, APIMock or TrafficSplit; the route's own if left out.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace,omitempty"`
	// Port of the Service, 1 to 65535; where left out the only port of a Service of the repository, else 80.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// Protocol spoken to the backend; http1 if left out.
	Protocol Protocol `json:"protocol,omitempty"`
	// TLS to the backend.
	TLS *BackendTLS `json:"tls,omitempty"`
	// ConnectTimeout, a Go duration; 5s if left out.
	// +kubebuilder:validation:Format=duration
	ConnectTimeout *metav1.Duration `json:"connectTimeout,omitempty"`
	// DNS says how the name of an address is resolved.
	DNS *DNS `json:"dns,omitempty"`
}

// Protocol is what is spoken to a backend.
//
// +kubebuilder:validation:Enum=http1;http2;grpc
type Protocol string

// The protocols; grpc is HTTP/2 with gRPC's own statuses in retries.
const (
	HTTP1 Protocol = "http1"
	HTTP2 Protocol = "http2"
	GRPC  Protocol = "grpc"
)

// BackendTLS is TLS to a backend.
type BackendTLS struct {
	// SNI is the server name asked for; the host of an address if left out.
	// +kubebuilder:validation:MinLength=1
	SNI string `json:"sni,omitempty"`
	// CASecretName of a Secret in the route's namespace whose ca.crt the backend's certificate must chain to; where left
	// out, the system's roots of the proxy.
	// +kubebuilder:validation:MinLength=1
	CASecretName string `json:"caSecretName,omitempty"`
}

// DNS says how a name is resolved.
type DNS struct {
	// Type: Strict uses every address of the answer, Logical only the first; Strict if left out.
	// +kubebuilder:validation:Enum=Strict;Logical
	Type string `json:"type,omitempty"`
	// Family of addresses: Auto, V4 or V6; Auto if left out.
	// +kubebuilder:validation:Enum=Auto;V4;V6
	Family string `json:"family,omitempty"`
}

// The values of DNS.
const (
	DNSStrict  = "Strict"
	DNSLogical = "Logical"
	DNSAuto    = "Auto"
	DNSV4      = "V4"
	DNSV6      = "V6"
)

// Rewrite changes a request before it is sent on.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.path) && has(self.prefix))",message="set one of path and prefix"
type Rewrite struct {
	// Host replaces the Host header.
	// +kubebuilder:validation:MinLength=1
	Host string `json:"host,omitempty"`
	// Path replaces the whole path.
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path,omitempty"`
	// Prefix replaces the prefix that the rule matched; the rule's path must be of type Prefix.
	Prefix *string `json:"prefix,omitempty"`
}

// Retries of failed requests.
type Retries struct {
	// Attempts beyond the first, 1 to 10; 1 if left out.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Attempts int32 `json:"attempts,omitempty"`
	// PerTryTimeout of one attempt, a Go duration; the rule's timeout if left out.
	// +kubebuilder:validation:Format=duration
	PerTryTimeout *metav1.Duration `json:"perTryTimeout,omitempty"`
	// RetryOn lists Envoy's retry conditions; connect-failure, refused-stream, unavailable, reset if left out. With reset, 5xx
	// and gateway-error a backend may get a request twice that it has acted on: reset-before-request is for those.
	// +kubebuilder:validation:MaxItems=16
	RetryOn []string `json:"retryOn,omitempty"`
}

// Headers changes headers on both ways.
type Headers struct {
	// Request is what is changed before it is sent on.
	Request HeaderChange `json:"request,omitempty"`
	// Response is what is changed before it goes back.
	Response HeaderChange `json:"response,omitempty"`
}

// HeaderChange changes headers on one way. Values are taken as they are written: a "%" has no meaning of its own.
type HeaderChange struct {
	// Set replaces or adds.
	Set map[string]string `json:"set,omitempty"`
	// Add appends a value.
	Add map[string]string `json:"add,omitempty"`
	// Remove takes away.
	Remove []string `json:"remove,omitempty"`
}

// Redirect answers with a redirect; what is left out stays as it was in the request.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.path) && has(self.prefix))",message="set one of path and prefix"
type Redirect struct {
	// Scheme of the new address; without a port the new address has that of the scheme.
	// +kubebuilder:validation:Enum=http;https
	Scheme string `json:"scheme,omitempty"`
	// Host of the new address.
	// +kubebuilder:validation:MinLength=1
	Host string `json:"host,omitempty"`
	// Port of the new address, 1 to 65535.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// Path replaces the whole path.
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path,omitempty"`
	// Prefix replaces the prefix that the rule matched.
	Prefix *string `json:"prefix,omitempty"`
	// Code is the status; 302 if left out.
	// +kubebuilder:validation:Enum=301;302;303;307;308
	Code int32 `json:"code,omitempty"`
}

// DirectResponse answers from the proxy itself.
type DirectResponse struct {
	// Status, 200 to 599.
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	Status int32 `json:"status"`
	// Body of the answer, at most 4096 bytes (Envoy's own limit).
	// +kubebuilder:validation:MaxLength=4096
	Body string `json:"body,omitempty"`
}

// ProxyRouteList is a list of ProxyRoutes.
//
// +kubebuilder:object:root=true
type ProxyRouteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProxyRoute `json:"items"`
}
